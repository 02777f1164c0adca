//! sysbench's output, versions 0.4.12 to 1.1: file I/O, databases, CPU and memory.
//!
//! Settings and progress begin their line, figures are indented below a heading. The whole may be
//! indented. Up to 0.5, the tests of files and memory print their figures in sentences, in units
//! that are called Mb and are MiB.

mod settings;

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark, Work};

use crate::found::{Found, detail, figure, labelled, number, phase, put, slug};
use crate::sign::in_a_line;

/// Indented lines that describe a run and are not compared.
const DESCRIPTIONS: [&str; 17] = [
    "total time",
    "total number of events",
    "time elapsed",
    "sum",
    "events (avg/stddev)",
    "execution time (avg/stddev)",
    "queries performed",
    "read",
    "write",
    "other",
    "total",
    "ignored errors",
    "reconnects",
    "block size",
    "total size",
    "operation",
    "scope",
];
/// sysbench's operations on its files, and the names of the modes.
const MODES: [(&str, &str); 6] = [
    ("random r/w", "rndrw"),
    ("random read", "rndrd"),
    ("random write", "rndwr"),
    ("sequential read", "seqrd"),
    ("sequential write (creation)", "seqwr"),
    ("sequential rewrite", "seqrewr"),
];

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
const OLD_DESCRIPTIONS: [&str; 7] = [
    "total time taken by event execution",
    "per-request statistics",
    "response time",
    "deadlocks",
    "other operations",
    "read/write requests",
    "Operations performed",
];

/// The version in the banner of a run.
fn version(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('\u{feff}').trim_start();
    let version = line.strip_prefix("sysbench ")?;
    let version = version.split_whitespace().next()?.trim_end_matches(':');
    version.starts_with(|c: char| c.is_ascii_digit()).then_some(version)
}

/// The beginning of what is pasted without its first lines.
const HEADINGS: [&str; 8] = [
    "Running the test with following options:",
    "Operations performed:",
    "File operations:",
    "Throughput:",
    "SQL statistics:",
    "OLTP test statistics:",
    "CPU speed:",
    "General statistics:",
];

/// The last line of a run.
const LAST: &str = "execution time (avg/stddev):";

fn is_heading(line: &str) -> bool {
    HEADINGS.iter().any(|heading| line.trim().starts_with(heading))
}

/// True for lines that only sysbench writes.
fn is_own(line: &str) -> bool {
    let line = line.trim();
    ["events (avg/stddev):", LAST, "written, MiB/s:"].iter().any(|own| line.starts_with(own))
}

/// True if a text contains the output of sysbench, or the end of it.
pub fn is_sysbench(text: &str) -> bool {
    in_a_line(text, "sysbench ", |line| version(line).is_some())
        || in_a_line(text, "(avg/stddev):", is_own)
        || in_a_line(text, "written, MiB/s:", is_own)
}

/// Reads every run of a text.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("sysbench");
    let mut run = Run::default();
    for line in lines(text)? {
        if let Some(version) = version(line.text) {
            found.version(version);
            std::mem::take(&mut run).finish(&mut found);
            run.begin(line);
        } else if (run.line == 0 || run.is_over) && is_heading(line.text) {
            std::mem::take(&mut run).finish(&mut found);
            run.begin(line);
            run.take(line, &mut found)?;
        } else if run.line == 0 {
            found.unknown(line.number, line.text);
        } else {
            run.take(line, &mut found)?;
        }
    }
    run.finish(&mut found);
    found.finish("give the complete output of `sysbench ... run`")
}

/// One run during reading.
#[derive(Debug, Default)]
struct Run {
    line: usize,
    /// Its last line was read.
    is_over: bool,
    /// Bytes of blanks that precede every line.
    indent: usize,
    /// The rate that `--rate` set.
    is_paced: bool,
    /// The heading above, without its colon.
    heading: String,
    /// The operation on files, if files are tested.
    mode: Option<String>,
    /// Requests bypass the page cache.
    is_direct: bool,
    kind: Kind,
    /// Figures named without their phase.
    figures: Vec<Figure>,
    /// Duration and number of events.
    seconds: Option<f64>,
    events: Option<f64>,
    work: Work,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Kind {
    #[default]
    Other,
    File,
    Database,
    Cpu,
    Memory,
}

impl Run {
    fn begin(&mut self, line: Line) {
        self.line = line.number;
        self.indent = line.text.len() - line.text.trim_start().len();
    }

    fn take(&mut self, line: Line, found: &mut Found) -> Result<(), ParseError> {
        let text = line.text.trim();
        self.is_over |= text.starts_with(LAST);
        settings::read(&mut self.work, text);
        if text.starts_with("Target transaction rate:") {
            self.is_paced = true;
            return Ok(());
        }
        if self.sentence(line, text)? {
            return Ok(());
        }
        if let Some(flags) = text.strip_prefix("Extra file open flags:") {
            self.is_direct = flags.contains("direct");
            return Ok(());
        }
        if let Some(mode) = text.strip_prefix("Doing ").and_then(|rest| rest.strip_suffix(" test"))
        {
            let name = MODES.iter().find_map(|(long, short)| (*long == mode).then_some(*short));
            self.mode = Some(slug(name.unwrap_or(mode)));
            self.kind = Kind::File;
            return Ok(());
        }
        let is_indented = line.text.len() - line.text.trim_start().len() > self.indent;
        if !is_indented && text.ends_with(':') {
            text.trim_end_matches(':').clone_into(&mut self.heading);
            self.kind = match self.heading.as_str() {
                "File operations" => Kind::File,
                "SQL statistics" | "OLTP test statistics" => Kind::Database,
                "CPU speed" => Kind::Cpu,
                _ => self.kind,
            };
            return Ok(());
        }
        // The memory test prints its figures without a heading.
        let is_figure = self.memory(line, text)?
            || is_indented && !self.heading.is_empty() && self.figure(line, text)?;
        let key = text.split(':').next().unwrap_or("");
        if is_indented
            && !is_figure
            && !DESCRIPTIONS.contains(&key)
            && !OLD_DESCRIPTIONS.contains(&key)
        {
            found.unknown(line.number, text);
        }
        Ok(())
    }

    fn add(&mut self, line: Line, name: &str, text: &str, unit: &str) -> Result<(), ParseError> {
        self.add_value(line, name, number(line, text)?, unit)
    }

    fn add_value(
        &mut self,
        line: Line,
        name: &str,
        value: f64,
        unit: &str,
    ) -> Result<(), ParseError> {
        // A test reports operations that it does not perform as zero.
        if value > 0.0 {
            put(&mut self.figures, figure(name, value, unit, Better::More), line.number)?;
        }
        Ok(())
    }

    /// `Total operations: 5 ( 3.00 per second)`, `5.00 MiB transferred (3.00 MiB/sec)`.
    fn memory(&mut self, line: Line, text: &str) -> Result<bool, ParseError> {
        let total =
            text.strip_prefix("Total operations:").and_then(|_| inside(text, "per second)"));
        let is_transfer = text.contains(" transferred (");
        let moved = is_transfer.then(|| inside(text, "MiB/sec)")).flatten();
        if total.or(moved).is_some() {
            self.kind = Kind::Memory;
        }
        if let Some(rate) = total {
            self.add(line, "operations", rate, "1/s")?;
        } else if let Some(rate) = moved {
            self.add(line, "rate", rate, "MiB/s")?;
        }
        Ok(total.or(moved).is_some())
    }

    /// A figure below its heading; returns whether the line is one.
    fn figure(&mut self, line: Line, text: &str) -> Result<bool, ParseError> {
        let Some((key, value)) = text.split_once(':') else { return Ok(false) };
        if self.statistic(line, (key, value))? {
            return Ok(true);
        }
        match (self.heading.as_str(), key) {
            ("File operations", "reads/s") => self.add(line, "reads", value, "1/s")?,
            ("File operations", "writes/s") => self.add(line, "writes", value, "1/s")?,
            ("File operations", "fsyncs/s") => self.add(line, "fsyncs", value, "1/s")?,
            ("Throughput", "read, MiB/s") => self.add(line, "read_rate", value, "MiB/s")?,
            ("Throughput", "written, MiB/s") => self.add(line, "write_rate", value, "MiB/s")?,
            ("Throughput", "events/s (eps)") | ("CPU speed", "events per second") => {
                self.add(line, "events", value, "1/s")?;
            }
            ("Throughput", "read" | "write" | "fsync") => return self.direction(line, key, value),
            ("SQL statistics" | "OLTP test statistics", "transactions" | "queries") => {
                match inside(value, "per sec.)") {
                    Some(rate) => self.add(line, key, rate, "1/s")?,
                    None => return Ok(false),
                }
            }
            (heading, key) if heading.starts_with("Latency (ms)") => {
                let name = match key {
                    "min" | "avg" | "max" => key.to_owned(),
                    _ => match key.strip_suffix("th percentile") {
                        Some(percent) => format!("p{percent}"),
                        None => return Ok(false),
                    },
                };
                let value = number(line, value)?;
                let name = format!("latency_{name}");
                put(&mut self.figures, detail(&name, value, "ms", Better::Less), line.number)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `read:  IOPS=1234.56 19.29 MiB/s (20.23 MB/s)`, in the format of 1.1.
    fn direction(&mut self, line: Line, key: &str, value: &str) -> Result<bool, ParseError> {
        let mut words = value.split_whitespace();
        let Some(iops) = words.next().and_then(|word| word.strip_prefix("IOPS=")) else {
            return Ok(false);
        };
        self.add(line, &format!("{key}s"), iops, "1/s")?;
        if let (Some(rate), Some("MiB/s")) = (words.next(), words.next()) {
            self.add(line, &format!("{key}_rate"), rate, "MiB/s")?;
        }
        Ok(true)
    }

    fn finish(mut self, found: &mut Found) {
        let name = match (self.kind, &self.mode) {
            (Kind::File, Some(mode)) => format!("fileio_{mode}"),
            (Kind::File, None) => "fileio".into(),
            (Kind::Database, _) => "sql".into(),
            (Kind::Cpu, _) => "cpu".into(),
            (Kind::Memory, _) => "memory".into(),
            (Kind::Other, _) => "sysbench".into(),
        };
        if let Some(rate) = self.rate_of_events() {
            self.figures.push(figure("events", rate, "1/s", Better::More));
        }
        if self.is_paced {
            self.doubt_rates();
        }
        for figure in &mut self.figures {
            figure.name = format!("{name}_{}", figure.name);
        }
        let phases = vec![self.phase(&name)];
        found.run_of(self.line, "", self.work, phases);
    }

    /// Labels rates that are a setting of the run; its latency is then what it measures.
    fn doubt_rates(&mut self) {
        let why = "`--rate` sets the rate: the latency is the result";
        for figure in &mut self.figures {
            if figure.better == Better::More {
                figure.remarks.push(Remark::new(Label::SetRate, why));
            } else if figure.name == "latency_avg" {
                figure.is_detail = false;
            }
        }
    }

    fn phase(&mut self, name: &str) -> Phase {
        let figures = std::mem::take(&mut self.figures);
        match self.kind {
            Kind::Cpu => without_file(name, "it computes prime numbers", figures),
            Kind::Memory => without_file(name, "it reads or writes memory", figures),
            Kind::File if !self.is_direct => {
                let why = "it ran without `--file-extra-flags=direct`: the page cache may have \
                           answered";
                labelled(name, Nature::PageCache, why, figures)
            }
            Kind::File | Kind::Other => phase(name, Nature::Disk, figures),
            Kind::Database => phase(name, Nature::JournalSync, figures),
        }
    }
}

/// The lines of 0.4 and 0.5 that later versions word otherwise.
impl Run {
    /// A figure in a sentence; returns whether the line is one.
    fn sentence(&mut self, line: Line, text: &str) -> Result<bool, ParseError> {
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
    fn statistic(&mut self, line: Line, (key, value): (&str, &str)) -> Result<bool, ParseError> {
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
        // Versions before 0.4.12 write seconds.
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
    fn rate_of_events(&self) -> Option<f64> {
        let has_rate = self.figures.iter().any(|figure| figure.name == "events");
        let rate = self.events? / self.seconds?;
        (self.kind == Kind::Cpu && !has_rate && rate.is_finite() && rate > 0.0).then_some(rate)
    }
}

/// The text in the last parentheses, before `end`.
fn inside<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    text.rsplit_once('(')?.1.strip_suffix(end)
}

fn without_file(name: &str, why: &str, figures: Vec<Figure>) -> Phase {
    let mut phase = labelled(name, Nature::Cpu, why, figures);
    phase.remarks.push(Remark::new(Label::NotDisk, "no file is read or written"));
    phase
}

#[cfg(test)]
mod tests;
