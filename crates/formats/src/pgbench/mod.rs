//! pgbench's summary, `PostgreSQL` 9.4 to 18.
//!
//! Versions up to 13 print the rate twice: with and without the time that connections took. With
//! one connection per transaction (`-C`) the latter leaves out most of the work, so the former is
//! the rate; from version 14 on it is the only one. Latencies are printed with `:` up to 9.5, with
//! `=` later.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Better, Figure, Flaw, Label, Nature, Phase, Remark, Work};

use crate::found::{Found, detail, figure, labelled, number, phase, put, seconds, slug};
use crate::sign::in_a_line;

/// The first line of a summary.
const BEGIN: &str = "transaction type:";
/// Lines that describe the settings.
const SETTINGS: [&str; 13] = [
    "scaling factor:",
    "partition method:",
    "number of partitions:",
    "query mode:",
    "number of clients:",
    "number of threads:",
    "maximum number of tries:",
    "duration:",
    "number of transactions per client:",
    "starting vacuum",
    "progress:",
    "number of transactions actually processed:",
    "number of transactions above the",
];

/// Lines that begin the part of a summary that differs from run to run.
const REPEATED: [&str; 3] = [
    "duration:",
    "number of transactions per client:",
    "number of transactions actually processed:",
];

/// The settings that are work, and their names as options.
const WORK: [(&str, &str); 8] = [
    ("scaling factor:", "scale"),
    ("partition method:", "partition_method"),
    ("number of partitions:", "partitions"),
    ("query mode:", "protocol"),
    ("number of clients:", "clients"),
    ("number of threads:", "threads"),
    ("maximum number of tries:", "max_tries"),
    ("number of transactions per client:", "transactions"),
];

/// True if a text contains a summary of pgbench.
pub fn is_pgbench(text: &str) -> bool {
    text.contains(BEGIN)
        && in_a_line(text, "tps = ", |line| line.trim_start().starts_with("tps = "))
}

/// Reads every summary of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("pgbench");
    let mut run = Run::default();
    for line in lines(text)? {
        let text = line.text.trim();
        if run.skips(text) {
            continue;
        }
        // Of further runs, a script may keep the end of the summary alone.
        if run.is_complete() && REPEATED.iter().any(|start| text.starts_with(start)) {
            let next = run.again(line.number);
            std::mem::replace(&mut run, next).finish(&mut found);
        }
        if let Some(kind) = text.strip_prefix(BEGIN) {
            std::mem::take(&mut run).finish(&mut found);
            run = Run::new(line.number, kind.trim());
        } else if let Some(version) = text.strip_prefix("pgbench (") {
            found.version(version.split([' ', ')', ',']).next().unwrap_or(""));
        } else if SETTINGS.iter().any(|start| text.starts_with(start)) {
            run.setting(text);
        } else if let Some(failed) = text.strip_prefix("number of failed transactions:") {
            if !failed.trim_start().starts_with("0 ") {
                found.note(format!("Line {}: transactions failed:{failed}.", line.number));
                run.fail(failed);
            }
        } else if run.line == 0 || !run.take(line)? {
            found.unknown(line.number, text);
        }
    }
    run.finish(&mut found);
    found.finish("give the complete output of a call of pgbench that finished")
}

/// One summary during reading.
#[derive(Debug, Default)]
struct Run {
    line: usize,
    /// `<builtin: TPC-B (sort of)>`, or the file of the script.
    kind: String,
    /// Figures named without their phase.
    figures: Vec<Figure>,
    /// Transactions per second, without and with the time that connections took.
    rates: Rates,
    work: Work,
    /// Transactions that were processed, and those that failed.
    processed: u64,
    failed: u64,
    /// The line that shows that `-R` set the rate.
    paced: bool,
    /// The figures of each script or statement, which follow those of all.
    in_parts: bool,
}

/// The lines that begin with `tps`.
#[derive(Debug, Default)]
struct Rates {
    without: Option<f64>,
    with: Option<f64>,
    /// Every transaction made its own connection (`-C`).
    is_reconnecting: bool,
}

/// Error allowed in the rate that follows from clients and latency: both are rounded, and clients
/// do not all end at once.
const RATE_TOLERANCE: f64 = 0.1;

impl Run {
    fn new(line: usize, kind: &str) -> Self {
        let work = Work::default().with("script", kind);
        Self { line, kind: kind.to_owned(), work, ..Self::default() }
    }

    /// True if its last line was read.
    fn is_complete(&self) -> bool {
        self.rates.without.or(self.rates.with).is_some()
    }

    /// Another run of the same work.
    fn again(&self, line: usize) -> Self {
        Self { line, kind: self.kind.clone(), work: self.work.clone(), ..Self::default() }
    }

    /// True for the lines of each script and of each statement (`-r`), below those of all.
    fn skips(&mut self, text: &str) -> bool {
        let begins = ["SQL script ", "statement latencies in milliseconds"];
        self.in_parts |= begins.iter().any(|start| text.starts_with(start));
        // The next summary, or a tool's other output, follows them.
        let is_part = text.starts_with("SQL script ")
            || text.starts_with("- ")
            || text.starts_with("statement latencies")
            || text.starts_with(|c: char| c.is_ascii_digit());
        self.in_parts &= is_part;
        self.in_parts
    }

    /// `3 (0.012%)`.
    fn fail(&mut self, text: &str) {
        let count = text.split_whitespace().next().and_then(|it| it.parse().ok());
        self.failed = count.unwrap_or(0);
    }

    fn setting(&mut self, text: &str) {
        if let Some(time) = text.strip_prefix("duration:") {
            self.work.set("runtime", seconds(time));
        }
        if let Some(count) = text.strip_prefix("number of transactions actually processed:") {
            // `1000/1000` where the number was given.
            let count = count.trim().split(['/', ' ']).next().unwrap_or_default();
            self.processed = count.parse().unwrap_or(0);
        }
        for (start, key) in WORK {
            if let Some(value) = text.strip_prefix(start) {
                self.work.set(key, value);
            }
        }
    }

    /// Takes a figure; returns whether the line is one.
    fn take(&mut self, line: Line) -> Result<bool, ParseError> {
        let text = line.text.trim();
        if text.starts_with("rate limit schedule lag:") {
            self.paced = true;
            return self.lag(line, text).map(|()| true);
        }
        // 9.4 writes a colon.
        let Some((key, value)) = text.split_once(" = ").or_else(|| text.split_once(": ")) else {
            return Ok(false);
        };
        let figure = match key {
            "tps" => {
                let (value, how) = value.split_once('(').unwrap_or((value, ""));
                let value = number(line, value)?;
                self.rates.is_reconnecting |= how.starts_with("including reconnection");
                let is_with = how.starts_with("including");
                let rate = if is_with { &mut self.rates.with } else { &mut self.rates.without };
                *rate = Some(value);
                return Ok(true);
            }
            "latency average" => milliseconds(line, "latency_avg", value)?,
            "latency stddev" => milliseconds(line, "latency_stddev", value)?,
            "initial connection time" | "average connection time" => {
                self.rates.is_reconnecting |= key.starts_with("average");
                milliseconds(line, "connection_time", value)?
            }
            _ => return Ok(false),
        };
        put(&mut self.figures, figure, line.number)?;
        Ok(true)
    }

    /// `rate limit schedule lag: avg 0.300 (max 9.000) ms`.
    fn lag(&mut self, line: Line, text: &str) -> Result<(), ParseError> {
        for (start, name) in [("avg ", "lag_avg"), ("(max ", "lag_max")] {
            let rest = text.split_once(start).map(|(_, rest)| rest.trim_start());
            if let Some(value) = rest.and_then(|rest| rest.split([' ', ')']).next()) {
                let lag = detail(name, number(line, value)?, "ms", Better::Less);
                put(&mut self.figures, lag, line.number)?;
            }
        }
        Ok(())
    }

    /// The rates: one that counts, and the other as a detail.
    fn rates(&self) -> Vec<Figure> {
        let Rates { without, with, .. } = self.rates;
        let (rate, other) = if without.is_none() || self.reconnects() {
            (with, without.map(|it| ("without_connections", it)))
        } else {
            (without, with.map(|it| ("with_connections", it)))
        };
        let rate = rate.map(|it| figure("", it, "1/s", Better::More));
        let other = other.map(|(name, it)| detail(name, it, "1/s", Better::More));
        rate.into_iter().chain(other).collect()
    }

    /// True if every transaction made its own connection: the latency of a client then fits the
    /// rate with connections, and not the one without them.
    fn reconnects(&self) -> bool {
        let clients: Option<f64> = self.work.get("clients").and_then(|it| it.parse().ok());
        let latency_ms = self.figures.iter().find(|it| it.name == "latency_avg").map(|it| it.value);
        let (Some(with), Some(clients), Some(ms)) = (self.rates.with, clients, latency_ms) else {
            return self.rates.is_reconnecting;
        };
        // Each client has one transaction at a time.
        let expected = clients / (ms / 1e3);
        let [fits, other_fits] = [Some(with), self.rates.without]
            .map(|rate| rate.is_some_and(|it| (it / expected - 1.0).abs() < RATE_TOLERANCE));
        self.rates.is_reconnecting || (fits && !other_fits)
    }

    /// Scripts define different transactions, so the name of the metric states which script it was.
    fn finish(mut self, found: &mut Found) {
        let kind = self.kind.replace("(sort of)", "").replace("builtin:", "");
        let name = format!("tps_{}", slug(&kind));
        let name = name.trim_end_matches('_');
        let mut figures = self.rates();
        if self.paced {
            let why = "`-R` sets the rate: the latency is the result";
            for figure in &mut figures {
                figure.remarks.push(Remark::new(Label::SetRate, why));
            }
            // The latency is what such a run measures.
            let latencies = self.figures.iter_mut().filter(|it| it.name == "latency_avg");
            latencies.for_each(|it| it.is_detail = false);
        }
        if self.reconnects() {
            found.note(
                "Each transaction made its own connection (`-C`): the rate is the one that \
                 includes them."
                    .to_owned(),
            );
        }
        figures.append(&mut self.figures);
        for figure in &mut figures {
            let dash = if figure.name.is_empty() { "" } else { "_" };
            figure.name = format!("{name}{dash}{}", figure.name);
        }
        let phase = self.phase(name, figures);
        let requests = self.processed.saturating_add(self.failed);
        let flaw = Flaw::Failed { failed: self.failed, requests };
        let flaws = (self.failed > 0).then_some(flaw).into_iter().collect();
        let (line, work) = (self.line, self.work);
        found.add(ImportedRun { line, work, phases: vec![phase], flaws, ..ImportedRun::default() });
    }

    /// A table that fits into memory is read from there; writes wait for the log.
    fn phase(&self, name: &str, figures: Vec<Figure>) -> Phase {
        let kind = self.kind.to_lowercase();
        if kind.contains("select only") {
            let why = "a table that fits into memory is read from there";
            labelled(name, Nature::PageCache, why, figures)
        } else if kind.contains("tpc-b") || kind.contains("simple update") {
            let why = "each transaction waits until its log is on the disk";
            labelled(name, Nature::JournalSync, why, figures)
        } else {
            // A script of the user may do anything.
            phase(name, Nature::JournalSync, figures)
        }
    }
}

fn milliseconds(line: Line, name: &str, value: &str) -> Result<Figure, ParseError> {
    let value = number(line, value.trim_end_matches("ms"))?;
    Ok(detail(name, value, "ms", Better::Less))
}

#[cfg(test)]
mod tests;
