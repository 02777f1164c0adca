//! Results of other tools, by name or recognised by their text.

use std::collections::{BTreeMap, BTreeSet};

use drivelab_core::config::nearest;
use drivelab_core::csv::{ParseError, lines, quote};
use drivelab_core::foreign::{Imported, ImportedRun};

use crate::counters::{iostat, prometheus, vmstat};
use crate::diskspd::text as diskspd_text;
use crate::filesystem::{dbench, elbencho, filebench, ior, iozone, mdtest, vdbench};
use crate::fio::histogram_log;
use crate::fio::logs::{self, Kind, Unit};
use crate::fio::{results as fio, text as fio_text, text::terse as fio_terse};
use crate::found::{FIGURES_MAX, quoted_line};
use crate::paste::{compressed, seems};
use crate::shell::{bench_sh, dd, hdparm, ioping, pg_test_fsync, yabs};
use crate::{
    ab, asssd, blogbench, bonnie, crystaldiskmark, diskspd, fsmark, hdtune, hyperfine, kdiskmark,
    pgbench, phoronix, sysbench, tiotest, wrk,
};

/// The name of a tool's output, its recogniser, and its parser.
struct Reader {
    name: &'static str,
    is: fn(&str) -> bool,
    parse: fn(&str) -> Result<Imported, ParseError>,
}

macro_rules! readers {
    ($($name:literal: $is:expr, $parse:expr;)+) => {
        &[$(Reader { name: $name, is: $is, parse: $parse },)+]
    };
}

/// Every tool; the one with the least specific signature is last.
const READERS: &[Reader] = readers! {
    "fio": fio::is_fio, fio::parse;
    "fio-terse": fio_terse::is_terse, fio_terse::parse;
    "fio-text": fio_text::is_fio_text, fio_text::parse;
    "phoronix": phoronix::is_phoronix, phoronix::parse;
    "hyperfine": hyperfine::is_hyperfine, hyperfine::parse;
    "hyperfine-text": hyperfine::text::is_hyperfine_text, hyperfine::text::parse;
    "crystaldiskmark": crystaldiskmark::is_crystaldiskmark, crystaldiskmark::parse;
    "sysbench": sysbench::is_sysbench, sysbench::parse;
    "pgbench": pgbench::is_pgbench, pgbench::parse;
    "ab": ab::is_ab, ab::parse;
    "fs_mark": fsmark::is_fsmark, fsmark::parse;
    "blogbench": blogbench::is_blogbench, blogbench::parse;
    "tiotest": tiotest::is_tiotest, tiotest::parse;
    "hdtune": hdtune::is_hdtune, hdtune::parse;
    "kdiskmark": kdiskmark::is_kdiskmark, kdiskmark::parse;
    "wrk": wrk::is_wrk, wrk::parse;
    "diskspd": diskspd::is_diskspd, diskspd::parse;
    "diskspd-text": diskspd_text::is_diskspd_text, diskspd_text::parse;
    "yabs": yabs::is_yabs, yabs::parse;
    "bench.sh": bench_sh::is_bench_sh, bench_sh::parse;
    "pg_test_fsync": pg_test_fsync::is_pg_test_fsync, pg_test_fsync::parse;
    "ioping": ioping::is_ioping, ioping::parse;
    "hdparm": hdparm::is_hdparm, hdparm::parse;
    "ior": ior::is_ior, ior::parse;
    "mdtest": mdtest::is_mdtest, mdtest::parse;
    "elbencho": elbencho::is_elbencho, elbencho::parse;
    "vdbench": vdbench::is_vdbench, vdbench::parse;
    "iozone": iozone::is_iozone, iozone::parse;
    "dbench": dbench::is_dbench, dbench::parse;
    "filebench": filebench::is_filebench, filebench::parse;
    "iostat": iostat::is_iostat, iostat::parse;
    "vmstat": vmstat::is_vmstat, vmstat::parse;
    "prometheus": prometheus::is_prometheus, prometheus::parse;
    "dd": dd::is_dd, dd::parse;
    "as-ssd": asssd::is_asssd, asssd::parse;
    "bonnie++": bonnie::is_bonnie, bonnie::parse;
};

/// Other names of these tools.
const ALIASES: [(&str, &str); 3] =
    [("bonnie", "bonnie++"), ("fsmark", "fs_mark"), ("tiobench", "tiotest")];

/// Logs, whose content only the name of the file shows.
const LOGS: [(&str, logs::Kind); 11] = [
    ("fio-bw", Kind::Bandwidth),
    ("fio-iops", Kind::Iops),
    ("fio-lat", Kind::Latency("lat", None)),
    ("fio-clat", Kind::Latency("clat", None)),
    ("fio-slat", Kind::Latency("slat", None)),
    ("fio-lat-us", Kind::Latency("lat", Some(Unit::Microseconds))),
    ("fio-clat-us", Kind::Latency("clat", Some(Unit::Microseconds))),
    ("fio-slat-us", Kind::Latency("slat", Some(Unit::Microseconds))),
    ("fio-lat-ns", Kind::Latency("lat", Some(Unit::Nanoseconds))),
    ("fio-clat-ns", Kind::Latency("clat", Some(Unit::Nanoseconds))),
    ("fio-slat-ns", Kind::Latency("slat", Some(Unit::Nanoseconds))),
];

/// The tools whose results can be read.
pub fn tools() -> impl Iterator<Item = &'static str> {
    READERS.iter().map(|reader| reader.name)
}

/// The formats that can be named: tools, and logs whose text does not show what they hold.
pub fn formats() -> impl Iterator<Item = &'static str> {
    tools().chain(LOGS.iter().map(|(name, _)| *name))
}

/// Reads a result in the named format.
///
/// # Errors
/// Names the wrong line, or the known formats.
pub fn parse_as(format: &str, text: &str) -> Result<Imported, ParseError> {
    // Tools spell themselves with capitals: `CrystalDiskMark`, `HDTune`.
    let format = format.to_ascii_lowercase();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == format);
    let format = alias.map_or(format.as_str(), |(_, name)| *name);
    if let Some(reader) = READERS.iter().find(|reader| reader.name == format) {
        return (reader.parse)(text);
    }
    if let Some((_, kind)) = LOGS.iter().find(|(name, _)| *name == format) {
        return logs::parse(text, *kind);
    }
    let known: Vec<&str> = formats().collect();
    let what = format!("{} is not a format that is read", quote(format));
    let others = ALIASES.iter().map(|(alias, _)| *alias);
    let hint = match nearest(format, known.iter().copied().chain(others)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known formats: {}", known.join(", ")),
    };
    Err(ParseError::new(0, what, hint))
}

/// True if a text looks like the output of a known tool.
pub fn is_known(text: &str) -> bool {
    READERS.iter().any(|reader| (reader.is)(text))
}

/// Reads a result of any known tool, from a file of this name.
///
/// # Errors
/// As [`parse`].
pub fn parse_file(name: &str, text: &str) -> Result<Imported, ParseError> {
    // The name alone proves nothing: `notes_bw.log` may be any text.
    match logs::kind_of(name).filter(|_| logs::is_log(text)) {
        Some(kind) => logs::parse(text, kind),
        None => parse(text),
    }
}

/// Reads a result of any known tool.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    if let Some((kind, program)) = compressed(text) {
        let hint = format!("give what is inside: `{program} FILE | drivelab import -`");
        return Err(ParseError::new(0, format!("it is compressed with {kind}"), hint));
    }
    if histogram_log::is_histogram_log(text) {
        return histogram_log::parse(text);
    }
    if let Some(first) = READERS.iter().position(|reader| (reader.is)(text)) {
        return several(text, first);
    }
    // An empty or binary file gets its own message.
    let is_empty = lines(text)?.next().is_none();
    if logs::is_log(text) {
        let hint = "name the file as fio does (`NAME_bw.1.log`), or name the format: `--format \
                    fio-bw`, `fio-iops`, `fio-lat`, `fio-clat` or `fio-slat`";
        return Err(ParseError::new(0, "a log of fio does not say what its values are", hint));
    }
    let what = match seems(text) {
        _ if is_empty => "it is empty".to_owned(),
        Some(kind) => format!("not the output of a known tool: it seems to be {kind}"),
        None => "not the output of a known tool".to_owned(),
    };
    let hint = "give the complete output of fio (text, terse, JSON or logs), dd, hdparm, ioping, \
                iostat, diskspd, CrystalDiskMark, KDiskMark, AS SSD, HD Tune, bonnie++ (CSV or \
                table of 1.03, 1.96, 1.97 or 1.98), iozone, IOR, sysbench, pgbench, wrk, the \
                Phoronix Test Suite (`composite.xml`) or another tool that `drivelab import --help` \
                names";
    Err(ParseError::new(0, what, hint))
}

/// Reads a text with every reader that knows it, of which `first` is the first.
fn several(text: &str, first: usize) -> Result<Imported, ParseError> {
    let (mut parts, mut begins, mut failed) = (Vec::new(), BTreeSet::new(), None);
    for (index, reader) in READERS.iter().enumerate().skip(first) {
        // The signature of bonnie++ is any line of many commas, but its tables have a heading.
        let is = if reader.name == "bonnie++" { bonnie::has_table } else { reader.is };
        if index > first && !is(text) {
            continue;
        }
        match (reader.parse)(text) {
            Ok(mut read) => {
                leave_out_same_calls(&parts, &mut read);
                // What one reader took for its own may look like another's in part.
                let is_taken = read.runs.iter().any(|run| begins.contains(&run.line));
                if !read.runs.is_empty() && !is_taken {
                    begins.extend(read.runs.iter().map(|run| run.line));
                    parts.push(read);
                }
            }
            // A weak signature, or a damaged report: the others are still read.
            Err(error) if index == first || error.line > 0 => {
                failed = failed.or(Some((reader.name, error)));
            }
            Err(_) => {}
        }
    }
    match (parts.is_empty(), failed) {
        (true, Some((_, error))) => Err(error),
        (_, failed) => {
            let mut all = joined(parts);
            all.unknown.extend(failed.map(|(name, error)| format!("{name}: {error}")));
            Ok(all)
        }
    }
}

/// Leaves out runs of fio that another form of its output has already
/// (`--output-format=terse,normal`).
fn leave_out_same_calls(parts: &[Imported], read: &mut Imported) {
    let earlier = parts.iter().filter(|it| it.tool == "fio" && read.tool == "fio");
    let mut known: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for run in earlier.flat_map(|it| &it.runs) {
        known.entry(&run.arm).or_default().extend(iops(run));
    }
    let count = read.runs.len();
    for rates in known.values_mut() {
        rates.sort_by(f64::total_cmp);
    }
    read.runs.retain(|run| {
        let Some((rates, rate)) = known.get(run.arm.as_str()).zip(iops(run)) else { return true };
        // Text and terse lines round.
        let near = rates.partition_point(|it| *it < rate - 1.0 - rate / 100.0);
        rates.get(near).is_none_or(|it| (it - rate).abs() > 1.0 + rate / 100.0)
    });
    if read.runs.len() < count {
        let note = "Several forms of output of one call of fio are read once.";
        read.notes.push(note.to_owned());
    }
}

fn iops(run: &ImportedRun) -> Option<f64> {
    let mut figures = run.phases.iter().flat_map(|phase| &phase.figures);
    figures.find(|figure| figure.name.ends_with("iops")).map(|figure| figure.value)
}

/// The results of several readers of one text, and the lines that none of them knows.
fn joined(parts: Vec<Imported>) -> Imported {
    assert!(!parts.is_empty(), "a reader found something");
    // A line belongs to the report that begins last before it.
    let mut owners: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, part) in parts.iter().enumerate() {
        owners.extend(part.runs.iter().map(|run| (run.line, index)));
    }
    let first = owners.values().next();
    let mut parts = parts.into_iter().enumerate().map(|(index, mut part)| {
        // A reason why something is not read is no line that another reader may know.
        part.unknown.retain(|unknown| {
            quoted_line(unknown).is_none_or(|line| {
                let last = owners.range(..=line).next_back().map(|(_, owner)| owner);
                last.or(first) == Some(&index)
            })
        });
        part
    });
    let mut all = parts.next().expect("a reader found something");
    parts.for_each(|part| all.add(part));
    // Each reader has its limit.
    let mut figures = 0;
    let kept = all.runs.iter().take_while(|run| {
        figures += run.phases.iter().map(|phase| phase.figures.len()).sum::<usize>();
        figures <= FIGURES_MAX
    });
    let kept = kept.count();
    let dropped = all.runs.len() - kept;
    if dropped > 0 && kept > 0 {
        all.runs.truncate(kept);
        all.unknown.push(format!("{dropped} more runs: only the first {kept} are read"));
    }
    all
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
    fn tables_of_bonnie_are_read_with_reports_of_other_tools() {
        let text = "1048576 bytes (1.0 MB) copied, 0.5 s, 2.1 MB/s\n\
            Version 1.03b       ------Sequential Output------ --Sequential Input- --Random-\n\
                                -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
            Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n\
            vm             20G           51004  16 16199  12           39591  14 792.9   0\n";
        assert_eq!(parse(text).unwrap().tool, "dd, bonnie++");
    }

    #[test]
    fn reports_of_several_tools_in_one_text_are_read() {
        let tiotest = "| Write        2048 MBs |   30.0 s |  68.267 MB/s |   0.1 %  |   2.5 % |\n";
        let text = format!(
            "HD Tune: a Benchmark\nTransfer Rate Average : 137.6 MB/s\nodd\n\
             Tiotest results for 4 concurrent io threads:\n{tiotest}"
        );
        let imported = parse(&text).unwrap();
        assert_eq!(imported.tool, "tiotest, HD Tune");
        assert_eq!(imported.runs.iter().map(|run| run.line).collect::<Vec<_>>(), [4, 1]);
        assert_eq!(imported.unknown, ["line 3: `odd`"]);
    }

    /// One call in the form of fio 3, and its terse line.
    const TERSE_AND_TEXT: &str = include_str!("fio/text/terse/with_text.txt");

    #[test]
    fn two_forms_of_one_call_are_one_run() {
        let imported = parse(TERSE_AND_TEXT).unwrap();
        assert_eq!(imported.runs.len(), 1, "{imported:?}");
        let other = TERSE_AND_TEXT.replace("IOPS=84", "IOPS=95");
        assert_eq!(parse(&other).unwrap().runs.len(), 2);
    }

    #[test]
    fn damage_and_reasons_of_one_reader_leave_the_others() {
        let wrk = "Running 30s test @ http://a\nRequests/sec: fast\n";
        let dd = "1+0 records out\n1000 bytes (1 kB) copied, 0.5 s, 2 kB/s\n";
        let imported = parse(&format!("{wrk}{dd}")).unwrap();
        assert_eq!((imported.tool.as_str(), imported.runs.len()), ("dd", 1));
        assert!(imported.unknown[0].starts_with("wrk: line 2: `fast`"), "{:?}", imported.unknown);
        let wrk = "Running 30s test @ http://a\nRequests/sec: 5\nodd\n";
        let none = "1+0 records out\n0 bytes (0 B) copied, 0.5 s, 0 kB/s\n";
        let imported = parse(&format!("{wrk}{dd}{none}")).unwrap();
        let expected = ["line 3: `odd`", "line 7: nothing was copied, or in no time"];
        assert_eq!(imported.unknown, expected);
    }

    #[test]
    fn readers_together_have_the_limit_of_one() {
        let dd = "1+0 records out\n1000 bytes (1 kB) copied, 0.5 s, 2 kB/s\n";
        let hdparm = "/dev/sda:\n Timing cached reads: 5 MB in  2.00 seconds = 2.50 MB/sec\n";
        let imported = parse(&(dd.repeat(30_000) + &hdparm.repeat(30_000))).unwrap();
        assert_eq!(imported.runs.len(), 50_000);
        let last = imported.unknown.last().unwrap();
        assert!(last.starts_with("10000 more runs"), "{last}");
    }

    #[test]
    fn what_is_compressed_says_how_to_read_it() {
        for (bytes, program) in [(&b"\x1f\x8b\x08\0"[..], "zcat"), (b"\xfd7zXZ\0", "xzcat")] {
            let text = crate::paste::clean(bytes.to_vec()).text;
            let error = parse(&text).unwrap_err().to_string();
            let hint = format!("{program} FILE | drivelab import -");
            assert!(error.contains(&hint), "{error}");
        }
    }

    #[test]
    fn settings_of_each_tool_are_work_in_one_spelling() {
        let check = |text: &str, expected: &str| {
            let imported = parse(text).unwrap();
            assert_eq!(imported.runs[0].work.to_string(), expected, "{text}");
        };
        check(
            "#  fs_mark  -d  /mnt  -n  200  -s  65536\n\
             #\tVersion 3.3, 4 thread(s) starting at Sun Nov 22 23:15:34 2026\n\
             #\tSync method: INBAND FSYNC: fsync() per file in write loop.\n\
             #\tFiles info: size 65536 bytes, written with an IO size of 16384 bytes per write\n\
             FSUse% Count Size Files/sec App Overhead\n72 200 65536 168.4 3613\n",
            "bs=16k threads=4 sync=INBAND FSYNC size=64k files=200",
        );
        check(
            "Frequency = 10 secs\nSpawning 3 writers...\nSpawning 100 readers...\n\
             Benchmarking for 30 iterations.\nFinal score for writes:  5\n",
            "interval=10s iterations=30 readers=100 writers=3",
        );
        check(
            "KDiskMark (3.1.4): https://a\n[Read]\n\
             Sequential 1 MiB (Q= 8, T= 1): 494.318 MB/s [ 482.7 IOPS] < 16497.09 us>\n\
             Profile: Default\n   Test: 1 GiB (x5) [Interval: 5 sec]\n",
            "size=1G data=random interval=5s loops=5 profile=Default",
        );
        check(
            "sysbench 1.0.20 (using LuaJIT)\nRunning the test with following options:\n\
             Number of threads: 8\nRunning memory speed test with the following options:\n  \
             block size: 1KiB\n  total size: 102400MiB\n  operation: write\n  scope: global\n\
             Total operations: 5 ( 3.00 per second)\n",
            "threads=8 memory_block_size=1k memory_oper=write memory_scope=global \
             memory_total_size=100G",
        );
        check(
            "Tiotest results for 4 concurrent io threads:\n\
             | Write        2048 MBs |   30.0 s |  68.267 MB/s |   0.1 %  |   2.5 % |\n",
            "threads=4 write.size=2G",
        );
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
        let metrics = "http_duration_seconds_bucket{le=\"0.1\"} 5\n";
        check(metrics, "not the output of a known tool: it seems to be metrics of Prometheus, but");
    }
}
