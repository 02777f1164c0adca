//! The disk tests of bench.sh, its predecessor with one run, and nench.sh.
//!
//! Both write 1 GiB of zeros three times with `dd ... conv=fdatasync`. bench.sh prints the MB/s of
//! dd, which are 10⁶ bytes, nench.sh MiB/s; the lines of ioping are those of nench.sh.

use drivelab_core::csv::{ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature};

use super::ioping;
use crate::found::{Found, figure, phase, transfer};
use crate::quantity::{Comma, bytes_per_s};
use crate::sign::in_a_line;

const SINGLE: &str = "I/O speed";
const TIMES: &str = "min/avg/max/mdev = ";

/// The name of a run, without the mean that the script computes.
fn is_run(name: &str) -> bool {
    ["1st run", "2nd run", "3rd run"].contains(&name)
}

/// The rate in a line of a run: `I/O Speed(1st run) : 34.6 MB/s`, `1st run:    339.51 MiB/s`.
fn run(line: &str) -> Option<&str> {
    let (key, value) = line.trim().split_once(':')?;
    let key = key.trim();
    let name = match key.strip_prefix("I/O").map(str::trim_start) {
        Some(rest) => rest.trim_start_matches("Speed").trim_start_matches("speed").trim(),
        None => key,
    };
    is_run(name.trim_start_matches('(').trim_end_matches(')').trim()).then_some(value.trim())
}

/// The rate of a script with a single run, of which bench.sh was made: `I/O speed : 31.4 MB/s`.
fn single_run(line: &str) -> Option<&str> {
    let (key, value) = line.trim().split_once(':')?;
    (key.trim() == SINGLE).then_some(value.trim())
}

/// True if a text contains such lines.
pub fn is_bench_sh(text: &str) -> bool {
    has_rate(text, "1st run", run) || has_rate(text, SINGLE, single_run)
}

/// True if a line with `word` has a rate.
fn has_rate(text: &str, word: &str, value_of: fn(&str) -> Option<&str>) -> bool {
    in_a_line(text, word, |line| value_of(line).is_some_and(|value| rate(value).is_some()))
}

/// Some versions colour the value; the escapes are cut off.
fn rate(value: &str) -> Option<f64> {
    bytes_per_s(value, 1000.0, Comma::Decimal)
}

/// Reads the runs of a text: each writes as the others do, and they are trials of one another.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("bench.sh");
    let (mut begin, mut of_ioping, mut is_of_nench) = (0, "", false);
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some((_, version)) = text.split_once("nench.sh v") {
            found.tool("nench.sh");
            let version = version.split_whitespace().next().unwrap_or_default();
            found.version(&format!("v{version}"));
            is_of_nench = true;
        } else if let Some(test) = text.strip_prefix("ioping: ") {
            of_ioping = if test.starts_with("seek") { "seek" } else { "sequential_read" };
        } else if let Some(value) = run(text).or_else(|| single_run(text)) {
            // Trials begin in one line: the mean that the script prints is not read.
            let is_first = text.contains("1st run") || single_run(text).is_some();
            begin = if is_first { line.number } else { begin };
            match rate(value).filter(|rate| *rate > 0.0) {
                Some(rate) => {
                    let figures = vec![figure("bytes_per_s", rate, "B/s", Better::More)];
                    found.run(begin, "", vec![transfer("write", rate, figures)]);
                }
                None => found.unknown(line.number, text),
            }
        } else if is_of_nench && !of_ioping.is_empty() {
            let read = match text.strip_prefix(TIMES) {
                Some(times) => ioping::times_of(times),
                None if text.contains(" requests ") => ioping::rates(text, ""),
                None => None,
            };
            if let Some(figures) = read {
                add(line.number, of_ioping, figures, &mut found);
                of_ioping = "";
            }
        }
    }
    let note = "1 GiB of zeros is written through the page cache and flushed at the end: a drive that \
                compresses, or the cache of a host, answers.";
    found.note(note.to_owned());
    found.finish("give the complete output of `bench.sh` or `nench.sh`")
}

fn add(line: usize, name: &str, figures: Vec<Figure>, found: &mut Found) {
    found.run(line, "", vec![phase(name, Nature::Disk, figures)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const BENCH: &str = "\
 I/O Speed(1st run) : 34.6 MB/s
 I/O Speed(2nd run) : 1.2 GB/s
 I/O Speed(3rd run) : 33.2 MB/s
 I/O Speed(average) : 33.3 MB/s
";
    const NENCH: &str = "\
 nench.sh v2018.04.14 -- https://git.io/nench.sh
ioping: seek rate
    min/avg/max/mdev = 54 us / 240 us / 49.3 ms / 745 us
ioping: sequential read speed
    generated 5.88 k requests in 5.00 s, 1.44 GiB, 1.18 k iops, 293.9 MiB/s

dd: sequential write speed
    1st run:    339.51 MiB/s
    2nd run:    345.23 MiB/s
    3rd run:    342.37 MiB/s
    average:    342.37 MiB/s
";

    fn values(text: &str) -> Vec<(String, f64)> {
        let imported = parse(text).unwrap();
        let phases = imported.runs.iter().flat_map(|run| &run.phases);
        let metrics = phases.flat_map(drivelab_core::record::Phase::metrics);
        metrics.filter(|it| !it.is_detail).map(|it| (it.name, it.value)).collect()
    }

    #[test]
    fn the_single_run_of_older_scripts_is_read() {
        let text = "CPU model :  Intel\nI/O speed :  31.4 MB/s\nI/O speed :  639 MB/s\n";
        assert!(is_bench_sh(text) && !is_bench_sh("I/O speed : fast\n"));
        let imported = parse(text).unwrap();
        let lines: Vec<usize> = imported.runs.iter().map(|run| run.line).collect();
        assert_eq!(lines, [2, 3]);
        let name = "write.bytes_per_s".to_owned();
        assert_eq!(values(text), [(name.clone(), 31.4e6), (name, 639e6)]);
    }

    #[test]
    fn the_runs_are_trials_and_the_mean_is_left_out() {
        let found = values(BENCH);
        let of = |value| ("write.bytes_per_s".to_owned(), value);
        assert_eq!(found, [of(34.6e6), of(1.2e9), of(33.2 * 1e6)]);
        let imported = parse(BENCH).unwrap();
        assert_eq!(imported.runs.iter().map(|run| run.line).collect::<Vec<_>>(), [1, 1, 1]);
        let old = BENCH.replace("Speed(", "speed(").replace(") :", ")   :");
        assert_eq!(values(&old).len(), 3);
    }

    #[test]
    fn nench_also_has_lines_of_ioping() {
        let found = values(NENCH);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let write = "write.bytes_per_s";
        let expected = [
            "seek.lat_mean_ns",
            "sequential_read.iops",
            "sequential_read.bytes_per_s",
            write,
            write,
            write,
        ];
        assert_eq!(names, expected);
        assert_eq!(found[0].1.to_bits(), 240e3_f64.to_bits());
        assert!((found[3].1 - 339.51 * 1_048_576.0).abs() < 1e-3);
        let imported = parse(NENCH).unwrap();
        assert_eq!(
            (imported.tool.as_str(), imported.tool_version.as_str()),
            ("nench.sh", "v2018.04.14")
        );
    }

    #[test]
    fn other_runs_are_not_those_of_the_scripts() {
        for text in ["1st run: good\n", "the 1st run: 3 MB/s\n", "run 1: 3 MB/s\n"] {
            assert!(!is_bench_sh(text), "{text}");
        }
        let imported = parse(&BENCH.replace("1.2 GB/s", "failed")).unwrap();
        assert_eq!(imported.unknown, ["line 2: `I/O Speed(2nd run) : failed`"]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String, put in "[0-9.:/()MiB a-z\n]{0,30}") {
            let _ = parse(&text);
            let _ = parse(&NENCH.replace("339.51 MiB/s", &put));
            let _ = parse(&NENCH.replace("240 us", &put));
        }

        #[test]
        fn what_is_written_comes_back(tenths in 1_u32..99_999) {
            let text = BENCH.replace("34.6", &format!("{}.{}", tenths / 10, tenths % 10));
            let value = values(&text)[0].1;
            proptest::prop_assert!((value - f64::from(tenths) * 1e5).abs() < 1.0);
        }
    }
}
