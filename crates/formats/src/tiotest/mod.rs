//! tiobench's `tiotest`, which prints no version: its tables, and the output of `-T`.
//!
//! Its MB are MiB. The files are written first and read afterwards, without being dropped from
//! memory in between.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, ReadBack, Remark, Work};

use crate::found::{Found, detail, figure, labelled, number, put, transfer};
use crate::quantity::MIB;
use crate::sign::in_a_line;

/// A kind of access, as named by the tables and by `-T`, longest first.
const KINDS: [(&str, &str, &str); 4] = [
    ("Random Write", "rwrite", "random_write"),
    ("Random Read", "rread", "random_read"),
    ("Write", "write", "write"),
    ("Read", "read", "read"),
];
const BANNER: &str = "Tiotest results for ";

/// True if a text contains results of `tiotest`.
pub fn is_tiotest(text: &str) -> bool {
    in_a_line(text, BANNER, |line| is_banner(line.trim()))
        || in_a_line(text, ":", |line| terse(line).is_some())
}

fn is_banner(line: &str) -> bool {
    line.starts_with(BANNER)
}

/// Reads every run of a text.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("tiotest");
    let mut run = Run::default();
    for line in lines(text)? {
        let text = line.text.trim();
        let is_frame = text.starts_with(['+', ',', '`'])
            || ["|-", "| Item ", "Tiotest latency results:"].iter().any(|it| text.starts_with(it));
        // Totals only add up the rows above them.
        let is_total = text.starts_with("| Total ") || text.starts_with("total:");
        if is_banner(text) {
            std::mem::take(&mut run).finish(&mut found);
            run.line = line.number;
            let threads = text[BANNER.len()..].split_whitespace().next();
            threads.unwrap_or_default().clone_into(&mut run.threads);
        } else if let Some((name, values)) = terse(text) {
            if run.access(name).is_some() {
                std::mem::take(&mut run).finish(&mut found);
            }
            run.line = if run.line == 0 { line.number } else { run.line };
            run.terse(line, name, values)?;
        } else if !is_frame && !is_total && !run.row(line)? {
            found.unknown(line.number, text);
        }
    }
    run.finish(&mut found);
    found.finish("give the complete output of a call of `tiotest` that finished")
}

/// The name and the values of `write:64.0,1.2,...`.
fn terse(line: &str) -> Option<(&'static str, &str)> {
    let (key, values) = line.split_once(':')?;
    let name = KINDS.iter().find_map(|(_, short, name)| (*short == key).then_some(*name))?;
    (values.matches(',').count() == 7).then_some((name, values))
}

/// One run during reading.
#[derive(Debug, Default)]
struct Run {
    line: usize,
    /// As the banner states it.
    threads: String,
    accesses: Vec<Access>,
}

#[derive(Debug)]
struct Access {
    name: &'static str,
    /// The amount that it reports to have moved.
    mib: f64,
    mib_per_s: f64,
    details: Vec<Figure>,
}

impl Access {
    fn percent(&mut self, what: &str, value: f64) {
        let name = format!("{}_{what}", self.name);
        let nature = matches!(what, "usr" | "sys").then_some(Nature::Cpu);
        self.details.push(Figure { nature, ..detail(&name, value, "%", Better::Less) });
    }

    fn latency(&mut self, what: &str, value: f64) {
        let name = format!("{}_latency_{what}", self.name);
        self.details.push(detail(&name, value, "ms", Better::Less));
    }

    fn latencies(&mut self, values: [f64; 4]) {
        let [avg, max, over_2s, over_10s] = values;
        self.latency("avg", avg);
        self.latency("max", max);
        self.percent("over_2s", over_2s);
        self.percent("over_10s", over_10s);
    }
}

impl Run {
    fn access(&mut self, name: &str) -> Option<&mut Access> {
        self.accesses.iter_mut().find(|access| access.name == name)
    }

    fn terse(&mut self, line: Line, name: &'static str, text: &str) -> Result<(), ParseError> {
        let values = text.split(',').map(|value| number(line, value));
        let values = values.collect::<Result<Vec<f64>, ParseError>>()?;
        // Amount, time, user and system load, then the latencies, as `-T` prints them.
        let [mib, seconds, usr, sys, latencies @ ..] = &values[..] else { return Ok(()) };
        // A phase too short for its clock has no rate.
        let mib_per_s = if *seconds > 0.0 { mib / seconds } else { 0.0 };
        let mut access = Access { name, mib: *mib, mib_per_s, details: Vec::new() };
        access.percent("usr", *usr);
        access.percent("sys", *sys);
        if let Ok(latencies) = latencies.try_into() {
            access.latencies(latencies);
        }
        put(&mut self.accesses, access, line.number)?;
        Ok(())
    }

    /// Takes a row of a table; returns whether the line is one.
    fn row(&mut self, line: Line) -> Result<bool, ParseError> {
        let inside = line.text.trim().strip_prefix('|').and_then(|rest| rest.strip_suffix('|'));
        let cells: Vec<&str> = inside.unwrap_or("").split('|').map(str::trim).collect();
        let kind = KINDS.iter().find(|(long, ..)| cells[0].starts_with(long));
        let (Some((long, _, name)), 5, true) = (kind, cells.len(), self.line > 0) else {
            return Ok(false);
        };
        let size = cells[0][long.len()..].trim();
        if size.is_empty() {
            let latencies = [
                quantity(line, cells[1], "ms")?,
                quantity(line, cells[2], "ms")?,
                quantity(line, cells[3], "%")?,
                quantity(line, cells[4], "%")?,
            ];
            // Each phase has one row of latencies, after its two loads.
            let known = self.access(name).filter(|access| access.details.len() == 2);
            let Some(known) = known else { return Ok(false) };
            known.latencies(latencies);
            return Ok(true);
        }
        let mib = quantity(line, size, "MBs")?;
        let mib_per_s = quantity(line, cells[2], "MB/s")?;
        let mut access = Access { name, mib, mib_per_s, details: Vec::new() };
        access.percent("usr", quantity(line, cells[3], "%")?);
        access.percent("sys", quantity(line, cells[4], "%")?);
        put(&mut self.accesses, access, line.number)?;
        Ok(true)
    }

    fn finish(self, found: &mut Found) {
        let mut accesses = self.accesses.iter();
        let whole = accesses.find(|access| !access.name.starts_with("random_"));
        let whole_mib = whole.map(|access| access.mib);
        let mut work = Work::default().with("threads", &self.threads);
        for access in &self.accesses {
            work.set_size(&format!("{}.size", access.name), &format!("{}M", access.mib));
        }
        let phases = self
            .accesses
            .into_iter()
            .filter(|access| access.mib_per_s > 0.0 && access.mib_per_s.is_finite());
        let phases = phases.map(|access| access.phase(whole_mib)).collect();
        found.run_of(self.line, "", work, phases);
    }
}

impl Access {
    /// `whole_mib` is the size of all files, if the run states it.
    fn phase(self, whole_mib: Option<f64>) -> Phase {
        let name = self.name;
        let rate = figure(name, self.mib_per_s, "MiB/s", Better::More);
        let figures = [vec![rate], self.details].concat();
        let mut phase = transfer(name, self.mib_per_s * MIB, figures.clone());
        if phase.nature == Nature::Disk && name.ends_with("read") {
            phase = labelled(name, ReadBack::default().nature(), ReadBack::WHY, figures);
        }
        // Exact: both are the same number printed twice.
        if name.starts_with("random_")
            && whole_mib.is_some_and(|whole| whole.to_bits() == self.mib.to_bits())
        {
            let why = "the random phase is credited with the whole file: versions of 2003 to 2023 \
                       do so regardless of what was read, so the rate is too high";
            phase.remarks.push(Remark::new(Label::ToolDefect, why));
        }
        phase
    }
}

/// The number of a cell, without its unit.
fn quantity(line: Line, cell: &str, unit: &str) -> Result<f64, ParseError> {
    number(line, cell.trim_end_matches(unit))
}

#[cfg(test)]
mod tests;
