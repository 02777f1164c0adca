//! hyperfine's report on the terminal, versions 1.x: three lines a benchmark, which people paste.
//!
//! It has the mean of all runs of a command; single times are in the JSON only.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Nature, Remark, Work};

use crate::found::{Found, detail, figure, phase, put};
use crate::quantity::time_ns;
use crate::sign::in_a_line;

/// The line with the mean, and the one of a command that ran once.
const MEAN: &str = "Time (mean ± σ):";
const ONCE: &str = "Time (abs ≡):";
const RANGE: &str = "Range (min … max):";

/// The seconds of `101.2 ms`.
fn seconds(text: &str) -> Option<f64> {
    time_ns(text.trim()).map(|ns| ns / 1e9)
}

/// The first time of a line, and the rest of it.
fn time(line: &str) -> Option<(f64, &str)> {
    let rest = line.split_once(MEAN).or_else(|| line.split_once(ONCE))?.1;
    let (mean, after) = rest.split_once('[').unwrap_or((rest, ""));
    Some((seconds(mean.split('±').next()?)?, after))
}

/// True if a text contains such a line.
pub fn is_hyperfine_text(text: &str) -> bool {
    in_a_line(text, "Time (", |line| time(line).is_some())
}

/// Reads every benchmark of a text.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("hyperfine");
    let mut benchmark = Benchmark::default();
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some(command) = command(text) {
            benchmark.end(&mut found);
            benchmark = Benchmark { line: line.number, command: command.to_owned(), ..benchmark };
        } else if let Some((seconds, rest)) = time(text) {
            benchmark.is_once = text.contains(ONCE);
            benchmark.mean(line, seconds, rest)?;
        } else if let Some((_, range)) = text.split_once(RANGE) {
            benchmark.range(line, range)?;
        }
    }
    benchmark.end(&mut found);
    found.finish("give the output of `hyperfine`, or better the file of `--export-json`")
}

/// The command of `Benchmark 1: sync`, and of `Benchmark #1: sync` before 1.12.
fn command(text: &str) -> Option<&str> {
    let (number, command) = text.strip_prefix("Benchmark ")?.split_once(": ")?;
    number.trim_start_matches('#').parse::<u32>().ok().map(|_| command.trim())
}

/// One command during reading.
#[derive(Debug, Default)]
struct Benchmark {
    line: usize,
    command: String,
    figures: Vec<Figure>,
    runs: Option<u64>,
    is_once: bool,
}

impl Benchmark {
    fn mean(&mut self, line: Line<'_>, seconds: f64, rest: &str) -> Result<(), ParseError> {
        // A report whose first line is missing has no command.
        self.line = if self.line == 0 { line.number } else { self.line };
        put(&mut self.figures, figure("wall_time", seconds, "s", Better::Less), line.number)?;
        for (name, printed) in [("wall_time_user", "User:"), ("wall_time_system", "System:")] {
            let part = rest.split_once(printed).map(|(_, it)| it.split([',', ']']).next());
            if let Some(value) = part.flatten().and_then(self::seconds) {
                put(&mut self.figures, detail(name, value, "s", Better::Less), line.number)?;
            }
        }
        Ok(())
    }

    fn range(&mut self, line: Line<'_>, range: &str) -> Result<(), ParseError> {
        let Some((min, rest)) = range.split_once('…') else { return Ok(()) };
        // The number of runs follows the longest time, after several blanks.
        let (max, runs) = rest.trim().split_once("  ").unwrap_or((rest, ""));
        self.runs = runs.split_whitespace().next().and_then(|count| count.parse().ok());
        for (name, text) in [("wall_time_min", min), ("wall_time_max", max)] {
            if let Some(value) = seconds(text) {
                put(&mut self.figures, detail(name, value, "s", Better::Less), line.number)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, found: &mut Found) {
        let read = std::mem::take(self);
        if read.figures.is_empty() {
            return;
        }
        let mut timed = phase("wall_time", Nature::Disk, read.figures);
        let why = match read.runs {
            Some(runs) => format!("the text has the mean of {runs} runs, not their times"),
            None if read.is_once => "the command ran once".to_owned(),
            // Old versions do not print it, and quotations leave it out.
            None => "the text has the mean of the runs, not their number and times".to_owned(),
        };
        timed.remarks.push(Remark::new(Label::SingleRun, why));
        let work = Work::default().with("command", &read.command);
        found.run_of(read.line, &read.command, work, vec![timed]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::record::Phase;

    const RUN: &str = "\
Benchmark 1: sync a
  Time (mean ± σ):     101.2 ms ±   0.4 ms    [User: 0.5 ms, System: 1.5 ms]
  Range (min … max):   100.6 ms … 102.1 ms    28 runs
 
Benchmark #2: sync b
  Time (abs ≡):        1.011 s               [User: 250.0 µs, System: 0.003 s]

Summary
  sync a ran
    9.99 ± 0.04 times faster than sync b
";

    fn values(text: &str) -> Vec<(String, String, f64)> {
        let imported = parse(text).unwrap();
        let metrics = |phases: &[Phase]| phases.iter().flat_map(Phase::metrics).collect::<Vec<_>>();
        let runs = imported.runs.iter().flat_map(|run| {
            metrics(&run.phases).into_iter().map(|it| (run.arm.clone(), it.name, it.value))
        });
        runs.collect()
    }

    #[test]
    fn each_benchmark_has_its_mean_and_range() {
        let expected = [
            ("sync a", "wall_time", 0.1012),
            ("sync a", "wall_time_user", 0.0005),
            ("sync a", "wall_time_system", 0.0015),
            ("sync a", "wall_time_min", 0.1006),
            ("sync a", "wall_time_max", 0.1021),
            ("sync b", "wall_time", 1.011),
            ("sync b", "wall_time_user", 0.00025),
            ("sync b", "wall_time_system", 0.003),
        ];
        let found = values(RUN);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((arm, name, value), expected) in found.iter().zip(expected) {
            assert_eq!((arm.as_str(), name.as_str()), (expected.0, expected.1));
            assert!((value / expected.2 - 1.0).abs() < 1e-12, "{name}: {value}");
        }
        let imported = parse(RUN).unwrap();
        let why = &imported.runs[0].phases[0].remarks[0].why;
        assert_eq!(why, "the text has the mean of 28 runs, not their times");
        let why = &imported.runs[1].phases[0].remarks[0].why;
        assert_eq!(why, "the command ran once");
        let older = parse(&RUN.replace("    28 runs", "")).unwrap();
        let why = &older.runs[0].phases[0].remarks[0].why;
        assert!(why.ends_with("not their number and times"), "{why}");
    }

    #[test]
    fn other_times_are_not_results() {
        for text in ["Time (mean ± σ): fast\n", "Time (s): 5\n", "Benchmark 1: a\n"] {
            assert!(!is_hyperfine_text(text), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String, put in "[0-9.a-z ±…:\\[\n]{0,30}") {
            let _ = parse(&text);
            for part in ["101.2 ms", "28 runs", "… 102.1", "Benchmark 1", "[User"] {
                let _ = parse(&RUN.replace(part, &put));
            }
        }

        #[test]
        fn what_is_written_comes_back(tenths in 1_u32..99_999_999) {
            let text = format!("{}.{} ms", tenths / 10, tenths % 10);
            let value = values(&RUN.replace("101.2 ms", &text))[0].2;
            proptest::prop_assert!((value / (f64::from(tenths) / 1e4) - 1.0).abs() < 1e-12);
        }
    }
}
