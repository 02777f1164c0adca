//! Results of other tools, whichever tool wrote them.

use drivelab_core::csv::{ParseError, lines};
use drivelab_core::foreign::Imported;

use crate::fio::results as fio;
use crate::{
    ab, blogbench, bonnie, crystaldiskmark, diskspd, fsmark, hdtune, hyperfine, kdiskmark, pgbench,
    phoronix, sysbench, tiotest, wrk,
};

/// How the output of a tool is recognised and read.
struct Reader {
    /// What users call the tool.
    tool: &'static str,
    is: fn(&str) -> bool,
    parse: fn(&str) -> Result<Imported, ParseError>,
}

const fn reader(
    tool: &'static str,
    is: fn(&str) -> bool,
    parse: fn(&str) -> Result<Imported, ParseError>,
) -> Reader {
    Reader { tool, is, parse }
}

/// Every tool; the one with the least specific sign is last.
const READERS: &[Reader] = &[
    reader("fio", fio::is_fio, fio::parse),
    reader("phoronix", phoronix::is_phoronix, phoronix::parse),
    reader("hyperfine", hyperfine::is_hyperfine, hyperfine::parse),
    reader("crystaldiskmark", crystaldiskmark::is_crystaldiskmark, crystaldiskmark::parse),
    reader("sysbench", sysbench::is_sysbench, sysbench::parse),
    reader("pgbench", pgbench::is_pgbench, pgbench::parse),
    reader("ab", ab::is_ab, ab::parse),
    reader("fs_mark", fsmark::is_fsmark, fsmark::parse),
    reader("blogbench", blogbench::is_blogbench, blogbench::parse),
    reader("tiotest", tiotest::is_tiotest, tiotest::parse),
    reader("hdtune", hdtune::is_hdtune, hdtune::parse),
    reader("kdiskmark", kdiskmark::is_kdiskmark, kdiskmark::parse),
    reader("wrk", wrk::is_wrk, wrk::parse),
    reader("diskspd", diskspd::is_diskspd, diskspd::parse),
    reader("bonnie++", bonnie::is_bonnie, bonnie::parse),
];

/// Reads a result of any known tool.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    if let Some(reader) = READERS.iter().find(|reader| (reader.is)(text)) {
        return (reader.parse)(text);
    }
    // What is empty or binary gets its own message.
    let is_empty = lines(text)?.is_empty();
    let what = if is_empty { "it is empty" } else { "not the output of a known tool" };
    let hint = "give fio's JSON (`--output-format=json`, version 3), bonnie++'s CSV line \
                (versions 1.03, 1.96, 1.97 or 1.98), or the complete output of ab, blogbench, \
                CrystalDiskMark, diskspd (`-Rxml`), fs_mark, HD Tune, hyperfine \
                (`--export-json`), KDiskMark, pgbench, sysbench, tiotest, wrk or the Phoronix \
                Test Suite (`composite.xml`)";
    Err(ParseError::new(0, what, hint))
}

/// The tools whose results are read.
pub fn tools() -> impl Iterator<Item = &'static str> {
    READERS.iter().map(|reader| reader.tool)
}

/// Reads a result of the tool called `tool`, one of [`tools`], whatever else the text looks like.
pub fn parse_as(tool: &str, text: &str) -> Result<Imported, ParseError> {
    let Some(reader) = READERS.iter().find(|reader| reader.tool == tool) else {
        let hint = format!("there are `{}`", tools().collect::<Vec<_>>().join("`, `"));
        return Err(ParseError::new(0, format!("`{tool}` is not the name of a known tool"), hint));
    };
    (reader.parse)(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_is_told_by_the_text() {
        let check = |text: &str, expected: Result<&str, &str>| match (parse(text), expected) {
            (Ok(imported), Ok(tool)) => assert_eq!(imported.tool, tool),
            (Err(error), Err(start)) => assert!(error.to_string().starts_with(start), "{error}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        };
        check("{\"fio version\": \"fio-3.1\", \"jobs\": []}", Err("it contains no results of fio"));
        check("1.98,2.00a,vm,1,1795319432,64M,,8192,5", Err("line 1: there are 9 fields"));
        check("kvm,4G,439,99,52686,15,,,,,,,,,,,,,,,,,,,,,", Ok("bonnie++"));
        check("<PhoronixTestSuite></PhoronixTestSuite>", Err("it contains no results of Phoronix"));
        check("{\"results\": [{\"command\": \"a\", \"mean\": 1}]}", Ok("hyperfine"));
        check(
            "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo",
            Err("it contains no results of C"),
        );
        check("sysbench 1.0.20\n", Err("it contains no results of sysbench"));
        check("transaction type: a\ntps = 5.0\n", Ok("pgbench"));
        check("This is ApacheBench, Version 2.3\n", Err("it contains no results of ab"));
        check(
            "FSUse% Count Size Files/sec App Overhead\n",
            Err("it contains no results of fs_mark"),
        );
        check("Final score for writes:  5\n", Ok("blogbench"));
        check(
            "Tiotest results for 4 concurrent io threads:\n",
            Err("it contains no results of tio"),
        );
        check("HD Tune: a Benchmark\n", Err("it contains no results of HD Tune"));
        check("  KDiskMark (3.1.4): https://a\n", Err("it contains no results of KDiskMark"));
        check("Running 30s test @ http://a\n", Err("it contains no results of wrk"));
        check(
            "<Results><a></Results><TestTimeSeconds>",
            Err("line 1: `</Results>` closes no open"),
        );
        check("block,arm,value\n1,ide,75\n", Err("not the output of a known tool"));
        check("{\"schema\": \"drivelab.run/1\"}", Err("not the output of a known tool"));
    }

    #[test]
    fn what_is_no_result_is_refused() {
        let check = |text, expected: &str| {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check("", "it is empty");
        check("hello", "not the output of a known tool");
        check("\0\0\0", "line 1: this is binary data");
    }
}
