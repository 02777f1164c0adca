//! filebench, versions 1.4 and 1.5: the line `IO Summary` of each run, and the operations above it.
//!
//! Its mb are 2²⁰ bytes. A summary counts from the last reset of the statistics, so several
//! summaries with the same begin are snapshots of one run, of which the last one counts. Up to
//! 1.5-alpha3 the mean latency is the time of all operations divided by the number of reads and
//! writes alone; later commits, which print three decimals, divide by all.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature, Phase, Work};

use crate::found::{Found, decimal, detail, figure, labelled, put, seconds, slug};
use crate::quantity::MIB;
use crate::sign::in_a_line;

const SUMMARY: &str = "IO Summary:";
const LOADED: &str = " personality successfully loaded";
/// Difference in seconds up to which two summaries have the same begin: rates have three decimals.
const SAME_BEGIN: f64 = 0.5;

/// A line `53.708: IO Summary:   931 ops, 91.295 ops/s, (8/19 r/w),   2.4mb/s,  0us cpu/op,  49.7ms
/// latency`, or since 1.5 `IO Summary: 1996 ops 197.427 ops/s 197/0 rd/wr   1.5mb/s 5.054ms/op`.
#[derive(Debug, Clone, Copy)]
struct Summary<'a> {
    ops: f64,
    ops_per_s: f64,
    /// Reads and writes a second, rounded.
    transfers: f64,
    mib_per_s: f64,
    latency: Option<&'a str>,
    /// Seconds from the start of the program to the last reset of the statistics.
    begin: Option<f64>,
}

impl Summary<'_> {
    /// True if the mean latency is not that of all operations.
    fn has_defect(&self) -> bool {
        // The form tells the versions apart: no release has the number of the mended one.
        let decimals = self.latency.map(|it| it.split_once('.').map_or(0, |(_, it)| it.len()));
        decimals.is_some_and(|it| it < 3) && self.transfers < self.ops_per_s * 0.99
    }
}

fn summary(line: &str) -> Option<Summary<'_>> {
    let (before, rest) = line.split_once(SUMMARY)?;
    let mut words = rest.split([' ', ',', '(', ')', '\t']).filter(|word| !word.is_empty());
    let ops = decimal(words.next()?)?;
    let ops_per_s = words.next().filter(|unit| *unit == "ops").and_then(|_| words.next())?;
    let ops_per_s = decimal(ops_per_s)?;
    let sides = words.next().filter(|unit| *unit == "ops/s").and_then(|_| words.next())?;
    let (reads, writes) = sides.split_once('/')?;
    let transfers = decimal(reads)? + decimal(writes)?;
    let mut words = words.filter(|word| *word != "r/w" && *word != "rd/wr");
    let mib_per_s = decimal(words.next()?.strip_suffix("mb/s")?)?;
    let latency = words.find_map(|word| {
        word.strip_suffix("ms/op").or_else(|| word.strip_suffix("ms")).filter(|it| !it.is_empty())
    });
    // The time of the line stands last before the word, in some versions behind a process id.
    let at = before.trim_end().strip_suffix(':').and_then(|it| it.rsplit([' ', ':']).next());
    let begin = at.and_then(decimal).filter(|_| ops_per_s > 0.0).map(|at| at - ops / ops_per_s);
    Some(Summary { ops, ops_per_s, transfers, mib_per_s, latency, begin })
}

/// True if a text contains such a line.
pub fn is_filebench(text: &str) -> bool {
    in_a_line(text, SUMMARY, |line| summary(line).is_some())
}

/// Reads every run of a text; of the snapshots of a run, the last one.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("filebench");
    let mut call = Call::default();
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some(summary) = summary(text) {
            call.summary(line, &summary, &mut found);
        } else if let Some(version) = version(text) {
            call.end(&mut found);
            call = Call::default();
            found.version(version);
        } else if text.contains("Per-Operation Breakdown") {
            (call.operations, call.is_table) = (Vec::new(), true);
        } else if call.is_table {
            call.is_table = operation(line, text, &mut call.operations)?;
        } else {
            call.setting(text);
        }
    }
    call.end(&mut found);
    found.finish("give the complete output of a call of `filebench` that finished")
}

/// The version of a banner, `Filebench Version 1.5-alpha3`.
fn version(text: &str) -> Option<&str> {
    let (tool, version) = text.split_once(" Version ")?;
    let version = version.split_whitespace().next()?;
    tool.eq_ignore_ascii_case("filebench").then_some(version)
}

/// A run that a later snapshot may replace.
#[derive(Debug)]
struct Pending {
    line: usize,
    begin: Option<f64>,
    has_defect: bool,
    work: Work,
    phase: Phase,
}

/// One call of filebench during reading.
#[derive(Debug, Default)]
struct Call {
    personality: String,
    work: Work,
    threads: u64,
    operations: Vec<Figure>,
    is_table: bool,
    pending: Option<Pending>,
}

impl Call {
    /// The lines between the banner and the results.
    fn setting(&mut self, text: &str) {
        if let Some((name, _)) = text.split_once(LOADED) {
            let name = name.rsplit(": ").next().unwrap_or_default();
            self.personality = slug(name.split(" Version ").next().unwrap_or_default());
        } else if let Some((_, rest)) = text.split_once("Starting ") {
            let words: Vec<&str> = rest.split_whitespace().take(4).collect();
            if let [count, _, "threads"] = words[..] {
                let count = count.parse::<u32>().unwrap_or_default();
                self.threads = self.threads.saturating_add(count.into());
            }
        } else if let Some((_, rest)) = text.split_once("Run took ") {
            let runtime = rest.split_whitespace().next().unwrap_or_default();
            self.work.set("runtime", seconds(runtime));
        }
    }

    fn summary(&mut self, line: Line<'_>, summary: &Summary<'_>, found: &mut Found) {
        self.is_table = false;
        let operations = std::mem::take(&mut self.operations);
        if summary.ops == 0.0 {
            return found.unread(line.number, "a summary of no operations");
        }
        let earlier = self.pending.as_ref().and_then(|pending| pending.begin).zip(summary.begin);
        if earlier.is_some_and(|(one, other)| (one - other).abs() <= SAME_BEGIN) {
            // The later one counts what the earlier one did, and more.
            let note =
                "Summaries with the same begin are snapshots of one run: the last one counts.";
            found.note(note.to_owned());
            self.pending = None;
        }
        self.end(found);
        let mut work = self.work.clone();
        if self.threads > 0 {
            work.set("threads", self.threads.to_string());
        }
        if !self.personality.is_empty() {
            work.set("workload", self.personality.as_str());
        }
        let (begin, has_defect) = (summary.begin, summary.has_defect());
        let phase = phase_of(summary, operations);
        self.pending = Some(Pending { line: line.number, begin, has_defect, work, phase });
    }

    /// Keeps the run that no further snapshot replaces.
    fn end(&mut self, found: &mut Found) {
        if let Some(run) = self.pending.take() {
            if run.has_defect {
                let why = "the mean latency: versions up to 1.5-alpha3 divide the time of all \
                           operations by the number of reads and writes";
                found.unread(run.line, why);
            }
            found.run_of(run.line, &self.personality, run.work, vec![run.phase]);
        }
    }
}

/// A row `readfile1   80ops   8ops/s   0.9mb/s   40.9ms/op   0us/op-cpu [0ms - 238ms]`; false below
/// the table.
fn operation(line: Line, text: &str, operations: &mut Vec<Figure>) -> Result<bool, ParseError> {
    let words: Vec<&str> = text.split_whitespace().take(6).collect();
    let [name, count, per_s, _, latency, ..] = words[..] else { return Ok(false) };
    let count = count.strip_suffix("ops").and_then(decimal);
    let latency = latency.strip_suffix("ms/op").and_then(decimal);
    let Some(((count, latency), true)) = count.zip(latency).zip(Some(per_s.ends_with("ops/s")))
    else {
        return Ok(false);
    };
    // What never happened has no time.
    if count > 0.0 {
        let name = slug(name);
        let nature = is_sync(&name).then_some(Nature::JournalSync);
        let latency = detail(&format!("{name}_latency_avg"), latency, "ms", Better::Less);
        put(operations, Figure { nature, ..latency }, line.number)?;
    }
    Ok(true)
}

/// True for the names that workloads give to `fsync` and `fdatasync`.
fn is_sync(name: &str) -> bool {
    name.contains("sync") && !name.contains("async")
}

fn phase_of(summary: &Summary, operations: Vec<Figure>) -> Phase {
    let mut figures = vec![figure("ops_per_s", summary.ops_per_s, "1/s", Better::More)];
    // A load that transfers nothing has no rate; one below 0.05 mb/s is printed as 0.0.
    if summary.transfers > 0.0 && summary.mib_per_s > 0.0 {
        figures.push(figure("bytes_per_s", summary.mib_per_s * MIB, "B/s", Better::More));
    }
    if let Some(ms) = summary.latency.and_then(decimal).filter(|_| !summary.has_defect()) {
        figures.push(detail("lat_mean_ns", ms * 1e6, "ns", Better::Less));
    }
    figures.extend(operations);
    let why = "files are read and written through the page cache, except by a workload with \
               `directio` or `dsync`, which the output does not show";
    labelled("filebench", Nature::PageCache, why, figures)
}

#[cfg(test)]
mod tests;
