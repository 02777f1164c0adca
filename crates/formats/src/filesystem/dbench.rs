//! dbench, versions 2 to 4, and tbench. Its MB are 10⁶ bytes.
//!
//! dbench replays the file operations of the clients of a file server; tbench sends the same over
//! the network and writes nothing.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark, Work};

use crate::found::{Found, detail, figure, labelled, put, slug};
use crate::quantity::{Comma, bytes_per_s, time_ns};
use crate::sign::in_a_line;

const THROUGHPUT: &str = "Throughput ";
/// Files were opened with `O_SYNC` (`-s`), directories synced after changes (`-S`).
const SYNC_OPEN: &str = "(sync open)";
const SYNC_DIRS: &str = "(sync dirs)";

/// The rate and the rest of `Throughput 420.743 MB/sec  4 clients  4 procs  max_latency=30.6 ms`.
fn result(line: &str) -> Option<(f64, &str)> {
    let rest = line.split_once(THROUGHPUT)?.1;
    let (rate, rest) = rest.split_once(" MB/sec")?;
    let rate = bytes_per_s(&format!("{rate} MB/sec"), 1000.0, Comma::Decimal)?;
    rest.contains(" procs").then_some((rate, rest))
}

/// True if a text contains a result.
pub fn is_dbench(text: &str) -> bool {
    in_a_line(text, THROUGHPUT, |line| result(line).is_some())
}

/// Reads every result of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("dbench");
    let (mut operations, mut is_table, mut is_tbench) = (Vec::new(), false, false);
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some((rate, rest)) = result(text) {
            let phases = vec![phase(is_tbench, rate, rest, std::mem::take(&mut operations))];
            is_table = false;
            found.run_of(line.number, "", work(rest), phases);
        } else if let Some(program) = program(text) {
            is_tbench = program == "tbench";
            if is_tbench {
                found.tool("tbench");
            }
        } else if let Some(version) = text.split_once("bench version ").map(|(_, rest)| rest) {
            found.version(version.split_whitespace().next().unwrap_or_default());
        } else if text.starts_with("Operation ") && text.contains("AvgLat") {
            (is_table, operations) = (true, Vec::new());
        } else if is_table {
            operation(line, text, &mut operations)?;
        }
    }
    found.finish("give the complete output of a call of `dbench` that finished")
}

/// The program of a command line, or of a banner: both programs print the same results, and some
/// versions of tbench the banner of dbench below their command.
fn program(text: &str) -> Option<&str> {
    if let Some(version) = text.strip_prefix("tbench version ") {
        return (!version.is_empty()).then_some("tbench");
    }
    let mut words = text.trim_start_matches(['$', '#', ' ']).split_whitespace();
    let command = words.find(|word| !["sudo", "time"].contains(word))?;
    let name = command.rsplit('/').next()?;
    let has_arguments =
        words.next().is_some_and(|it| it.starts_with(['-', '/', '.']) || is_count(it));
    ["dbench", "tbench"].contains(&name).then_some(name).filter(|_| has_arguments)
}

fn is_count(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// ` WriteX        400886     0.054    14.518`: count, mean and longest time in ms.
fn operation(line: Line, text: &str, operations: &mut Vec<Figure>) -> Result<(), ParseError> {
    let words: Vec<&str> = text.split_whitespace().take(5).collect();
    let [name, _, mean, _] = words[..] else { return Ok(()) };
    if let Some(value) = crate::found::decimal(mean) {
        let name = format!("{}_latency_avg", slug(name));
        put(operations, detail(&name, value, "ms", Better::Less), line.number)?;
    }
    Ok(())
}

fn work(rest: &str) -> Work {
    let mut work = Work::default();
    let words: Vec<&str> = rest.split_whitespace().collect();
    for pair in words.windows(2) {
        if pair[1] == "clients" || pair[1] == "procs" {
            work.set(pair[1], pair[0]);
        }
    }
    work.set_switch("sync", rest.contains(SYNC_OPEN));
    work.set_switch("sync_dirs", rest.contains(SYNC_DIRS));
    work
}

fn phase(is_tbench: bool, rate: f64, rest: &str, operations: Vec<Figure>) -> Phase {
    let mut figures = vec![figure("bytes_per_s", rate, "B/s", Better::More)];
    if let Some((_, max)) = rest.split_once("max_latency=")
        && let Some(ns) = time_ns(max)
    {
        figures.push(detail("lat_max_ns", ns, "ns", Better::Less));
    }
    figures.extend(operations);
    if is_tbench {
        let why = "tbench sends the operations of a file server over the network";
        let mut phase = labelled("tbench", Nature::Network, why, figures);
        phase.remarks.push(Remark::new(Label::NotDisk, "no file is read or written"));
        return phase;
    }
    if rest.contains(SYNC_OPEN) {
        let why = "files are opened with `O_SYNC`: it measures the journal and flushes";
        return labelled("dbench", Nature::JournalSync, why, figures);
    }
    // A flush waits for the journal also where no other operation does.
    for figure in figures.iter_mut().filter(|figure| figure.name.starts_with("flush_")) {
        figure.nature = Some(Nature::JournalSync);
    }
    let why = if rest.contains(SYNC_DIRS) {
        "most operations are answered from memory: only `Flush`, and changes of directories, wait \
         for the disk"
    } else {
        "most operations are answered from memory: only `Flush` waits for the disk"
    };
    labelled("dbench", Nature::PageCache, why, figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "\
dbench version 4.00 - Copyright Andrew Tridgell 1999-2004
   4     17518   448.79 MB/sec  warmup   1 sec  latency 15.391 ms

 Operation      Count    AvgLat    MaxLat
 ----------------------------------------
 WriteX        400886     0.054    14.518
 Flush          56269     1.681    30.567

Throughput 420.743 MB/sec  4 clients  5 procs  max_latency=30.604 ms
";

    fn values(text: &str) -> Vec<(String, f64)> {
        let imported = parse(text).unwrap();
        let phases = imported.runs.iter().flat_map(|run| &run.phases);
        phases.flat_map(Phase::metrics).map(|it| (it.name, it.value)).collect()
    }

    #[test]
    fn the_rate_and_the_operations_are_read() {
        let found = values(RUN);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "dbench.bytes_per_s",
            "dbench.lat_max_ns",
            "dbench.writex_latency_avg",
            "dbench.flush_latency_avg",
        ];
        assert_eq!(names, expected);
        assert!((found[0].1 - 420_743_000.0).abs() < 1e-3);
        assert_eq!(found[3].1.to_bits(), 1.681_f64.to_bits());
        let imported = parse(RUN).unwrap();
        assert_eq!(imported.tool_version, "4.00");
        assert_eq!(imported.runs[0].work.to_string(), "clients=4 sync=0 procs=5 sync_dirs=0");
        assert_eq!(imported.runs[0].phases[0].nature, Nature::PageCache);
        assert_eq!(imported.runs[0].phases[0].figures[3].nature, Some(Nature::JournalSync));
        assert_eq!(parse(&RUN.repeat(2)).unwrap().runs.len(), 2);
    }

    #[test]
    fn tbench_measures_the_network() {
        let imported = parse(&format!("$ tbench 4 127.0.0.1\n{RUN}")).unwrap();
        assert_eq!(imported.tool, "tbench");
        assert_eq!(imported.runs[0].phases[0].nature, Nature::Network);
        let sync = parse(&RUN.replace("MB/sec  4", "MB/sec (sync open)  4")).unwrap();
        assert_eq!(sync.runs[0].phases[0].nature, Nature::JournalSync);
    }

    #[test]
    fn only_its_command_or_banner_makes_it_tbench() {
        for line in ["results of ~/tbench/out", "# tbench is next", "better than tbench 4"] {
            let imported = parse(&format!("{line}\n{RUN}")).unwrap();
            assert_eq!(imported.tool, "dbench", "{line}");
        }
        for line in ["sudo ./tbench 4 127.0.0.1", "tbench -t 60 8", "tbench version 4.00"] {
            assert_eq!(parse(&format!("{line}\n{RUN}")).unwrap().tool, "tbench", "{line}");
        }
        let both = parse(&format!("tbench 4\n{RUN}\n$ dbench 4\n{RUN}")).unwrap();
        let natures: Vec<Nature> = both.runs.iter().map(|run| run.phases[0].nature).collect();
        assert_eq!(natures, [Nature::Network, Nature::PageCache]);
    }

    #[test]
    fn synced_directories_leave_files_in_memory() {
        let dirs = parse(&RUN.replace("MB/sec  4", "MB/sec (sync dirs)  4")).unwrap();
        assert_eq!(dirs.runs[0].phases[0].nature, Nature::PageCache);
        assert_eq!(dirs.runs[0].work.get("sync_dirs"), Some("1"));
    }

    #[test]
    fn other_throughput_is_not_a_result() {
        for text in ["Throughput 5 MB/sec\n", "Throughput x MB/sec 4 procs\n", "Throughput\n"] {
            assert!(!is_dbench(text), "{text}");
        }
    }

    fn is_row(line: &str) -> bool {
        line.contains("0.0") || line.starts_with("Throughput")
    }

    #[test]
    fn a_row_that_is_cut_off_never_has_another_number() {
        let wrong = crate::found::damage::misread(RUN, is_row, parse);
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String, put in "[0-9.a-zMB/ =\n]{0,30}") {
            let _ = parse(&text);
            let _ = parse(&RUN.replace("420.743", &put));
            let _ = parse(&RUN.replace("0.054", &put));
        }

        #[test]
        fn what_is_written_comes_back(mille in 1_u32..99_999_999) {
            let text = format!("{}.{:03}", mille / 1000, mille % 1000);
            let value = values(&RUN.replace("420.743", &text))[0].1;
            proptest::prop_assert!((value / (f64::from(mille) * 1e3) - 1.0).abs() < 1e-12);
        }
    }
}
