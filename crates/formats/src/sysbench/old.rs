//! The lines of sysbench 0.4 and 0.5 that later versions word otherwise.

use drivelab_core::csv::{Line, ParseError};
use drivelab_core::record::Better;

use super::{Kind, Run, inside};
use crate::found::{detail, number, put};

/// Amounts of data, in MiB: their units are called Kb, Mb and Gb and are binary.
const AMOUNTS: [(&str, f64); 5] = [
    ("Kb/sec", 1.0 / 1024.0),
    ("Mb/sec", 1.0),
    ("Gb/sec", 1024.0),
    ("Tb/sec", 1_048_576.0),
    ("b/sec", 1.0 / 1_048_576.0),
];

/// The headings above the statistics of requests.
const SUMMARIES: [&str; 2] = ["Test execution summary", "General statistics"];

/// Lines below them that describe, or repeat.
const DESCRIPTIONS: [&str; 7] = [
    "total time taken by event execution",
    "per-request statistics",
    "response time",
    "deadlocks",
    "other operations",
    "read/write requests",
    "Operations performed",
];

/// True if a line below a heading describes and has no figure.
pub(super) fn describes(key: &str) -> bool {
    DESCRIPTIONS.contains(&key)
}

impl Run {
    /// A figure in a sentence; returns whether the line is one.
    pub(super) fn sentence(&mut self, line: Line, text: &str) -> Result<bool, ParseError> {
        if text.starts_with("Doing CPU performance benchmark") {
            self.kind = Kind::Cpu;
        } else if let Some(rest) = text.strip_prefix("Operations performed:") {
            // Of files it counts reads and writes, of memory it has a rate.
            match inside(rest.trim(), "ops/sec)") {
                Some(rate) => {
                    self.kind = Kind::Memory;
                    self.add(line, "operations", rate.trim(), "1/s")?;
                }
                None => self.kind = Kind::File,
            }
        } else if text.starts_with("Read ") && text.contains("Total transferred") {
            self.kind = Kind::File;
            let Some((_, rate)) = text.rsplit_once('(') else { return Ok(false) };
            self.amount(line, rate.trim_end_matches(')'))?;
        } else if let Some(rate) = text.strip_suffix("Requests/sec executed") {
            self.add(line, "requests", rate.trim(), "1/s")?;
        } else if let Some(rate) = inside(text, "MB/sec)").filter(|_| text.contains("transferred"))
        {
            self.kind = Kind::Memory;
            self.add(line, "rate", rate.trim(), "MiB/s")?;
        } else if let Some(primes) = text.strip_prefix("Maximum prime number checked in CPU test:")
        {
            self.work.set("cpu_max_prime", primes.trim());
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `12.515Mb/sec`.
    fn amount(&mut self, line: Line, text: &str) -> Result<(), ParseError> {
        let split = AMOUNTS.iter().find_map(|(unit, mib)| Some((text.strip_suffix(unit)?, *mib)));
        let (value, mib) = split.unwrap_or((text, 1.0));
        let value = number(line, value)? * mib;
        self.add_value(line, "rate", value, "MiB/s")
    }

    /// A latency below `per-request statistics`; returns whether the line is one.
    pub(super) fn statistic(
        &mut self,
        line: Line,
        (key, value): (&str, &str),
    ) -> Result<bool, ParseError> {
        if !SUMMARIES.contains(&self.heading.as_str()) {
            return Ok(false);
        }
        let value = value.trim();
        match key {
            "total time" => {
                self.seconds = value.trim_end_matches('s').parse().ok();
                return Ok(true);
            }
            "total number of events" => {
                self.events = value.parse().ok();
                return Ok(true);
            }
            _ => {}
        }
        let percent = key.strip_prefix("approx.").and_then(|rest| rest.strip_suffix("percentile"));
        let name = match (key, percent) {
            ("min" | "avg" | "max", _) => key.to_owned(),
            (_, Some(percent)) => format!("p{}", percent.trim()),
            _ => return Ok(false),
        };
        // 0.4.8 and earlier write seconds.
        let (value, ms) = match (value.strip_suffix("ms"), value.strip_suffix('s')) {
            (Some(ms), _) => (ms, 1.0),
            (None, Some(seconds)) => (seconds, 1e3),
            (None, None) => return Ok(false),
        };
        let latency = ms * number(line, value)?;
        let figure = detail(&format!("latency_{name}"), latency, "ms", Better::Less);
        put(&mut self.figures, figure, line.number)?;
        Ok(true)
    }

    /// The rate of the test of primes, which versions before 1.0 do not print.
    pub(super) fn rate_of_events(&self) -> Option<f64> {
        let has_rate = self.figures.iter().any(|figure| figure.name == "events");
        let rate = self.events? / self.seconds?;
        (self.kind == Kind::Cpu && !has_rate && rate.is_finite() && rate > 0.0).then_some(rate)
    }
}

#[cfg(test)]
mod tests {
    use crate::sysbench::parse;
    use drivelab_core::record::Phase;

    /// A number of every kind, in the form of 0.4.12.
    const FILE: &str = "sysbench 0.4.12:  multi-threaded system evaluation benchmark

Doing random r/w test
Operations performed:  6000 Read, 4000 Write, 12800 Other = 22800 Total
Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (12.515Mb/sec)
  800.93 Requests/sec executed

Test execution summary:
    total time:                          12.4854s
    total number of events:              10000
    total time taken by event execution: 6.0000
    per-request statistics:
         min:                                  0.01ms
         avg:                                  0.60ms
         max:                                 97.92ms
         approx.  95 percentile:               5.51ms
";
    const CPU: &str = "sysbench 0.4.12:  multi-threaded system evaluation benchmark
Doing CPU performance benchmark
Maximum prime number checked in CPU test: 20000
Test execution summary:
    total time:                          10.0000s
    total number of events:              10000
    per-request statistics:
         avg:                                  2.57ms
";
    const SQL: &str = "sysbench 0.4.12:  multi-threaded system evaluation benchmark
Doing OLTP test.
OLTP test statistics:
    queries performed:
        read:                            422436
    transactions:                        30174  (251.44 per sec.)
    deadlocks:                           0      (0.00 per sec.)
    read/write requests:                 573306 (4777.30 per sec.)
";

    #[track_caller]
    fn check(text: &str, expected: &[(&str, f64)]) {
        let imported = parse(text).unwrap();
        let phases = imported.runs.iter().flat_map(|run| &run.phases);
        let found: Vec<_> =
            phases.flat_map(Phase::metrics).map(|it| (it.name.clone(), it.value)).collect();
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(found, expected);
        assert_eq!(imported.unknown, [""; 0]);
    }

    #[test]
    fn tests_of_version_0_4_are_read() {
        let file = [
            ("fileio_rndrw_rate", 12.515),
            ("fileio_rndrw_requests", 800.93),
            ("fileio_rndrw_latency_min", 0.01),
            ("fileio_rndrw_latency_avg", 0.6),
            ("fileio_rndrw_latency_max", 97.92),
            ("fileio_rndrw_latency_p95", 5.51),
        ];
        check(FILE, &file);
        check(CPU, &[("cpu_latency_avg", 2.57), ("cpu_events", 1000.0)]);
        check(SQL, &[("sql_transactions", 251.44)]);
        let indented = FILE.lines().map(|line| format!("    {line}\n")).collect::<String>();
        check(&indented, &file);
    }

    #[test]
    fn seconds_and_other_amounts_are_scaled() {
        let text = FILE.replace("0.60ms", "0.0006s").replace("12.515Mb/sec", "1.5Gb/sec");
        let imported = parse(&text).unwrap();
        let figures = &imported.runs[0].phases[0].figures;
        assert!((figures[0].value - 1536.0).abs() < 1e-9, "{figures:?}");
        assert!((figures[3].value - 0.6).abs() < 1e-9, "{figures:?}");
    }
}
