//! fio's normal text, versions 1.50 to 3.x, as people paste it.
//!
//! Versions before 2.99 write `bw=` and `iops=` and call 1024 bytes a KB; later ones write `BW=`
//! and `IOPS=` and name KiB and kB. Every line of latencies names its unit: nsec since 2.99, usec,
//! msec. Long numbers are rounded to a suffix (`67.4k`), which the JSON output does not do.

mod call;
pub mod terse;

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;

use crate::found::{Found, decimal};
use crate::quantity::{Comma, after, bytes_per_s, count, ns_of, split};
use crate::sign::in_a_line;
use call::{Call, Job, KINDS, LABELS, Latency};

/// Maximum number of words of a command line.
const OPTIONS_MAX: usize = 1000;
/// A report has fewer lines from one direction to the next.
const APART: usize = 60;
/// In the first line of each job's report.
const REPORT: &str = ": (groupid=";

/// True if a text contains a job's report.
pub fn is_fio_text(text: &str) -> bool {
    in_a_line(text, REPORT, |line| report(line).is_some())
        || in_a_line(text, "ps=", |line| is_rates(line.trim()))
        || in_a_line(text, "PS=", |line| is_rates(line.trim()))
        || in_a_line(text, "avg=", |line| is_sync(line.trim()))
}

/// True for the line of a direction, with which a report begins that was pasted without its head.
fn is_rates(line: &str) -> bool {
    let Some((kind, rest)) = line.split_once(':') else { return false };
    let is_new = rest.contains("IOPS=") && rest.contains("BW=");
    KINDS.contains(&kind.trim()) && (is_new || rest.contains("iops=") && rest.contains("runt="))
}

/// True for the line of the waits for `fsync`.
fn is_sync(line: &str) -> bool {
    line.starts_with("sync (") && line.contains("sec): min=") && line.contains("avg=")
}

/// Reads every call of a text, each as a run.
///
/// # Errors
/// The text contains no report of a job, or is no text.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("fio");
    let mut reader = Reader::default();
    for line in lines(text)? {
        reader.take(line, &mut found);
    }
    reader.call.finish(&mut found);
    found.finish("give the complete output of a call of fio that finished")
}

/// The name and the rest of `NAME: (groupid=0, jobs=1): err= 0: pid=1: DATE`.
fn report(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(REPORT)?;
    (rest.contains("jobs=") && rest.contains("err=")).then(|| (name.trim(), rest))
}

/// The version in fio's banner: `fio-3.28`, `fio 2.0.8`.
fn version(line: &str) -> Option<&str> {
    let version = line.strip_prefix("fio-").or_else(|| line.strip_prefix("fio "))?;
    let is_version = version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains(' ');
    is_version.then_some(version)
}

/// The latencies that lines with percentiles belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Target {
    #[default]
    None,
    Clat,
    Lat,
    Sync,
}

#[derive(Debug, Default)]
struct Reader {
    call: Call,
    /// Index of the current direction in [`KINDS`].
    kind: Option<usize>,
    target: Target,
    /// Nanoseconds of a percentile's unit.
    unit_ns: f64,
    /// The lines of the current job that follow all its directions have begun.
    is_past_rates: bool,
    /// The line of the last direction, 0 for none.
    rates_line: usize,
}

impl Reader {
    fn take(&mut self, line: Line, found: &mut Found) {
        let text = line.text.trim();
        if let Some(version) = version(text) {
            // Each call prints its version once, before its reports.
            if !self.call.jobs.is_empty() {
                self.end(found);
            }
            found.version(version);
        } else if text.contains(": (g=") {
            if !self.call.jobs.is_empty() {
                self.end(found);
            }
            self.call.define(text);
        } else if let Some((name, rest)) = report(text) {
            self.report(line.number, name, rest, found);
        } else if text.starts_with("Run status group") {
            // All reports of a call precede the sums of its groups.
            (self.call.is_reported, self.kind) = (true, None);
            self.target = Target::None;
        } else if self.is_new(line.number, text) {
            self.report(line.number, "", &format!("pid=line{}", line.number), found);
            self.figure(text);
        } else if self.call.jobs.is_empty() || self.call.is_reported {
            self.command(text, found);
        } else {
            if is_rates(text) {
                self.rates_line = line.number;
            }
            if !self.figure(text) {
                found.unknown(line.number, text);
            }
        }
    }

    /// True if a line begins a report without its head: the first, or one that repeats a direction
    /// or is too far from the directions above. Notes quote such lines alone.
    fn is_new(&mut self, line: usize, text: &str) -> bool {
        let has_rates = is_rates(text);
        if self.call.jobs.is_empty() || self.call.is_reported {
            return has_rates || is_sync(text);
        }
        let kind = text.split(':').next().unwrap_or_default().trim();
        let at = KINDS.iter().position(|it| *it == kind).filter(|_| has_rates);
        let is_apart = self.rates_line > 0 && line - self.rates_line > APART;
        let is_elsewhere = self.is_past_rates || is_apart;
        let job = self.call.current();
        at.zip(job).is_some_and(|(at, job)| is_elsewhere || job.sides[at].bytes_per_s > 0.0)
    }

    /// A command line above the output states whether requests bypass the page cache.
    fn command(&mut self, text: &str, found: &mut Found) {
        let is_command = text.contains("fio ") && text.contains("--");
        let is_option = text.starts_with("direct=");
        // A command over several lines.
        let is_continued = self.call.is_commanded && text.starts_with("--");
        if !is_command && !is_option && !is_continued {
            return;
        }
        if !self.call.jobs.is_empty() {
            self.end(found);
        }
        for (name, value) in options(text) {
            self.call.is_commanded |= name == "name" && is_command;
            self.call.option(name, value);
        }
    }

    fn end(&mut self, found: &mut Found) {
        std::mem::take(&mut self.call).finish(found);
        (self.kind, self.target) = (None, Target::None);
    }

    fn report(&mut self, line: usize, name: &str, rest: &str, found: &mut Found) {
        // A client of fio marks each server: `<host> NAME`, and sums them up; clocks differ.
        let is_of_server = name.starts_with('<');
        let name = name.split_once("> ").filter(|_| name.starts_with('<')).map_or(name, |it| it.1);
        let group = rest.split(',').next().unwrap_or_default();
        let key = format!("{group} {}", after(rest, "pid=").unwrap_or_default());
        let job = Job {
            name: name.to_owned(),
            group: group.to_owned(),
            key,
            printed: printed(rest).filter(|_| !is_of_server),
            error: after(rest, "err=").and_then(|it| it.trim_end_matches(':').parse().ok()),
            ..Job::default()
        };
        let is_headless = name.is_empty() && !self.call.jobs.is_empty();
        let is_other = self.call.is_reported || !self.call.is_printed_with(&job);
        if is_other && !self.call.knows(&job) || is_headless {
            self.end(found);
        }
        if self.call.jobs.is_empty() {
            self.call.line = line;
        }
        self.call.is_reported = false;
        (self.kind, self.target) = (None, Target::None);
        (self.is_past_rates, self.rates_line) = (false, line);
        self.call.add(job, found);
    }

    /// Takes a line of a job's report; false if it should hold figures and does not.
    fn figure(&mut self, text: &str) -> bool {
        let Some(job) = self.call.current() else { return true };
        if let Some(row) = text.strip_prefix('|') {
            return self.percentiles(row);
        }
        let Some((key, rest)) = text.split_once(':') else { return true };
        // Before version 3 `read` has a blank before its colon.
        let key = key.trim();
        self.is_past_rates |= ["cpu", "IO depths"].contains(&key);
        if let Some(kind) = KINDS.iter().position(|kind| *kind == key) {
            (self.kind, self.target) = (Some(kind), Target::None);
            return job.sides[kind].rates(rest);
        }
        let (name, unit) = key.split_once('(').unwrap_or((key, ""));
        let (name, unit) = (name.trim(), unit.trim_end_matches(')').trim());
        if let Some(of) = name.strip_suffix("percentiles") {
            self.unit_ns = ns_of(unit).unwrap_or(0.0);
            self.target = match of.trim() {
                "clat" => Target::Clat,
                "lat" => Target::Lat,
                "sync" => Target::Sync,
                _ => Target::None,
            };
            return self.unit_ns > 0.0 || self.target == Target::None;
        }
        // The shares of `lat (usec) : 250=0.06%` have no mean.
        match (name, self.kind) {
            ("clat" | "lat", Some(kind)) if rest.contains("avg=") => {
                let side = &mut job.sides[kind];
                let latency = if name == "clat" { &mut side.clat } else { &mut side.lat };
                latency.mean(rest, unit)
            }
            ("sync", _) if rest.contains("avg=") => job.sync.mean(rest, unit),
            ("errors", _) => {
                job.failed = after(rest, "total=").and_then(|it| it.parse().ok()).unwrap_or(0);
                true
            }
            _ if key.starts_with("issued") => {
                job.issued(rest);
                true
            }
            _ => true,
        }
    }

    /// ` 99.00th=[  873], 99.50th=[ 1123],`.
    fn percentiles(&mut self, row: &str) -> bool {
        let Some(job) = self.call.current() else { return true };
        let latency = match (self.target, self.kind) {
            (Target::Clat, Some(kind)) => &mut job.sides[kind].clat,
            (Target::Lat, Some(kind)) => &mut job.sides[kind].lat,
            (Target::Sync, _) => &mut job.sync,
            _ => return true,
        };
        let mut is_read = true;
        for (at, (label, _)) in LABELS.iter().enumerate() {
            let Some(text) = row.split_once(*label).map(|(_, rest)| rest) else { continue };
            let inside = text.split(']').next().unwrap_or_default().trim_start_matches('[');
            let value = count(inside).map(|value| value * self.unit_ns);
            is_read &= value.is_some();
            latency.percentiles[at] = value;
        }
        is_read
    }
}

/// The options of a command line: `--direct=1`, `--direct 1` and `--direct`, which is the same; and
/// that of a line of a job file.
fn options(text: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> = text.split_whitespace().take(OPTIONS_MAX).collect();
    let mut options = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_first = at == 0 && word.contains('=');
        let name =
            word.trim_start_matches(['\'', '"']).strip_prefix("--").or(is_first.then_some(*word));
        let Some(name) = name else { continue };
        let value = words.get(at + 1).filter(|next| !next.starts_with('-'));
        let (name, value) = name.split_once('=').unwrap_or((name, value.copied().unwrap_or("1")));
        options.push((name, value.trim_matches(['\'', '"'])));
    }
    options
}

impl call::Side {
    /// `IOPS=37, BW=148KiB/s (...)`, or `io=1GB, bw=321739KB/s, iops=314, runt=1msec`.
    fn rates(&mut self, rest: &str) -> bool {
        // Only the new form spells units out: a KB of the old one is a KiB.
        let is_new = rest.contains("IOPS=") || rest.contains("BW=");
        let (iops, bw, kilo) =
            if is_new { ("IOPS=", "BW=", 1000.0) } else { ("iops=", "bw=", 1024.0) };
        let rate = after(rest, bw).and_then(|it| bytes_per_s(it, kilo, Comma::Thousands));
        self.bytes_per_s = rate.unwrap_or(0.0);
        self.iops = after(rest, iops).and_then(count).unwrap_or(0.0);
        self.is_rounded = after(rest, iops).is_some_and(|it| it.ends_with(['k', 'K', 'M', 'm']));
        rate.is_some()
    }
}

impl Latency {
    /// `min=139, max=264035, avg=26974.76, stdev=25722.51`.
    fn mean(&mut self, rest: &str, unit: &str) -> bool {
        let value = after(rest, "avg=").and_then(count);
        let mean = value.zip(ns_of(unit)).map(|(value, unit_ns)| value * unit_ns);
        self.mean_ns = mean.unwrap_or(0.0);
        mean.is_some()
    }
}

impl Job {
    /// `total=1542,0,0,0 short=`, `total=r=1131207/w=1131578/d=0, short=`, `total=23441/0, short=`.
    fn issued(&mut self, rest: &str) {
        let total = after(rest, "total=").unwrap_or_default();
        let counts = total.split([',', '/']).map(|it| decimal(it.trim_start_matches(is_letter)));
        let counts: Vec<f64> = counts.map(Option::unwrap_or_default).take(4).collect();
        for (side, count) in self.sides.iter_mut().zip(&counts).take(3) {
            side.count = *count;
        }
        // Requests of all kinds are counted together as `mixed`.
        self.sides[3].count = counts.iter().take(3).sum();
        self.sync.count = counts.get(3).copied().unwrap_or(0.0);
    }
}

/// The day and the second of it in `err= 0: pid=1559: Mon Jan  5 20:39:06 2026`.
fn printed(rest: &str) -> Option<(String, u32)> {
    let (_, date) = rest.split_once("pid=")?.1.split_once(": ")?;
    let time = date.split_whitespace().find(|word| word.matches(':').count() == 2)?;
    let mut second = 0;
    for part in time.split(':') {
        second = second * 60 + part.parse::<u32>().ok().filter(|it| *it <= 60)?;
    }
    Some((date.replace(time, ""), second))
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '='
}

impl Call {
    /// `NAME: (g=0): rw=randread, bs=(R) 4096B-4096B, ..., ioengine=libaio, iodepth=1`.
    fn define(&mut self, text: &str) {
        let Some((name, rest)) = text.split_once(": (g=") else { return };
        let mut work = drivelab_core::record::Work::default();
        let rw = after(rest, "rw=").unwrap_or_default();
        work.set("rw", rw);
        for key in ["ioengine", "iodepth"] {
            work.set(key, after(rest, &format!("{key}=")).unwrap_or_default());
        }
        if let Some(bs) = block_size(rest, rw) {
            work.set_size("bs", &bs);
        }
        let group = rest.split(')').next().unwrap_or_default();
        self.define_job(name.trim(), group, work);
    }
}

/// The one size of all requests of the kind that the job sends first.
fn block_size(rest: &str, rw: &str) -> Option<String> {
    let all = rest.split_once("bs=")?.1.split(", ioengine").next()?;
    let parts: Vec<&str> = all.split(['/', ',']).map(str::trim).collect();
    assert!(!parts.is_empty(), "a split text has a part");
    let kind = usize::from(rw.contains("write")).min(parts.len() - 1);
    let range = parts[kind].split(' ').next_back()?;
    let (least, most) = range.split_once('-').unwrap_or((range, range));
    let (value, unit) = split(least, Comma::Thousands)?;
    // `4096B`, `4K`, `4KiB`: all are powers of two here.
    let unit = unit.trim_end_matches('B').trim_end_matches('i');
    (least == most).then(|| format!("{value}{unit}"))
}

#[cfg(test)]
mod tests;
