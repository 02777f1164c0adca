//! fio's results: the JSON of versions 2 and 3 (`--output-format=json` and `json+`), also of a
//! client (`--client`).
//!
//! A file contains one document or several, each of one call of fio and therefore one run; fio's
//! output between documents (warnings, `note: both iodepth >= 1 ...`) is skipped. fio computes
//! `iops` and `bw_bytes` over the run time of each job, and `lat` from the time at which the
//! request was created to its completion. Percentiles are those of `clat`, from submission on,
//! unless the job has `lat_percentiles=1`.

mod output;
mod work;

use std::collections::BTreeMap;

use drivelab_core::csv::{ParseError, quote};
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Better, Figure, Flaw, Label, Nature, Phase, Remark, Work};

use crate::found::Found;
use output::{Job, Latency, Output, Side};

/// The percentiles that are compared, with their share and the number of requests that each needs:
/// a hundred beyond it, as for drivelab's runs.
const PERCENTILES: [(&str, f64, f64); 3] =
    [("p50", 0.5, 200.0), ("p99", 0.99, 10_000.0), ("p99_9", 0.999, 100_000.0)];

/// True if a text contains a JSON document of fio.
pub fn is_fio(text: &str) -> bool {
    text.contains("\"fio version\"")
}

/// Reads every document of a text, each as a run.
///
/// # Errors
/// Names the line that is not JSON, or the version or mode of fio that is not supported.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("fio");
    let (mut at, mut line, mut last) = (0, 1, 0);
    while let Some(skipped) = start(&text[at..]) {
        line += text[at..at + skipped].matches('\n').count();
        at += skipped;
        let mut documents = serde_json::Deserializer::from_str(&text[at..]).into_iter();
        let mut output: Output = match documents.next() {
            Some(Ok(output)) => output,
            Some(Err(error)) => return Err(broken(line, &error)),
            None => break,
        };
        let length = documents.byte_offset();
        // Two documents in one line are still two runs.
        last = line.max(last + 1);
        found.version(&output.normalise(line)?);
        read(&output, last, &mut found);
        line += text[at..at + length].matches('\n').count();
        at += length;
    }
    found.finish("run fio with `--output-format=json`, and give its complete output")
}

/// Offset of the next document: at a brace at the beginning of a line, or of the rest of one.
fn start(text: &str) -> Option<usize> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(['\u{feff}', ' ', '\t', ',']);
        // The end of the line is looked for only then: a line may hold every document.
        if rest.starts_with('{') {
            return Some(text.len() - rest.len());
        }
        rest = rest.split_once('\n')?.1;
    }
}

fn broken(line: usize, error: &serde_json::Error) -> ParseError {
    let line = line + error.line().saturating_sub(1);
    let (what, hint) = if error.is_eof() {
        ("the JSON is truncated".to_owned(), "check that fio finished and the file is complete")
    } else {
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        (format!("not a result of fio: {said}"), "give the output of `--output-format=json`")
    };
    ParseError::new(line, what, hint)
}

/// Adds the figures of one call.
fn read(output: &Output, line: usize, found: &mut Found) {
    let mut sections: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
    for job in &output.jobs.kept {
        sections.entry(&job.jobname).or_default().push(job);
    }
    // The first section names the arm; a call has no name.
    let arm = match (output.jobs.kept.first(), sections.len()) {
        (Some(job), 1) => job.jobname.clone(),
        (Some(job), others) => format!("{} and {} more", job.jobname, others - 1),
        (None, _) => return,
    };
    let mut phases = Vec::new();
    for (name, jobs) in &sections {
        let name = if sections.len() > 1 { *name } else { "" };
        let mut section = Section { name, figures: Vec::new(), found, line };
        section.read(jobs);
        let figures = section.figures;
        if !figures.is_empty() {
            let (nature, remarks) = (nature(jobs, output), remarks(jobs, output));
            let (name, points) = (name.to_owned(), Vec::new());
            phases.push(Phase { name, nature, figures, lat_ns: None, points, remarks });
        }
    }
    let mut work = Work::default();
    for (name, jobs) in &sections {
        let prefix = if sections.len() > 1 { format!("{name}.") } else { String::new() };
        // Copies of a job (`numjobs`) have its options.
        work.add(&prefix, &work::of(jobs[0], output));
    }
    let ended_unix_s = output.timestamp;
    let kept = &output.jobs.kept;
    let nothing = kept.iter().all(|job| requests(job) == 0).then_some(Flaw::Nothing);
    let flaws = kept.iter().filter_map(flaw).chain(nothing).collect();
    let run = ImportedRun { line, arm, ended_unix_s, work, phases, ..ImportedRun::default() };
    found.add(ImportedRun { flaws, ..run });
    for job in &output.jobs.kept {
        for note in doubts(job, output) {
            found.note(note);
        }
    }
}

/// The reason why the figures of a job are not what they claim to be.
fn flaw(job: &Job) -> Option<Flaw> {
    if job.total_err > 0 {
        let (failed, requests) = (job.total_err, requests(job).max(job.total_err));
        return Some(Flaw::Failed { failed, requests });
    }
    let name = quote(&job.jobname);
    let what = format!("job {name} ended with system error {}", job.error);
    (job.error != 0).then_some(Flaw::Error { what })
}

/// The requests of all kinds.
fn requests(job: &Job) -> u64 {
    let sides = [&job.read, &job.write, &job.trim, &job.mixed];
    sides.into_iter().fold(0, |sum: u64, side| sum.saturating_add(side.total_ios))
}

/// The remarks on every figure of a section.
fn remarks(jobs: &[&Job], output: &Output) -> Vec<Remark> {
    let null = jobs.iter().any(|job| is_null(job, output));
    let not_disk = null.then(|| Remark::new(Label::NotDisk, "`ioengine=null` does no I/O"));
    let cached = jobs.iter().any(|job| is_buffered(job, output) && !syncs(job, output));
    let why = "the job ran without `direct=1`: the page cache may have answered";
    let cached = (cached && !null).then(|| Remark::new(Label::Nature(Nature::PageCache), why));
    not_disk.into_iter().chain(cached).collect()
}

/// The nature of a section's figures.
fn nature(jobs: &[&Job], output: &Output) -> Nature {
    if jobs.iter().any(|job| is_null(job, output)) {
        Nature::Cpu
    } else if jobs.iter().any(|job| is_buffered(job, output)) {
        Nature::PageCache
    } else {
        Nature::Disk
    }
}

fn is_null(job: &Job, output: &Output) -> bool {
    option(job, output, "ioengine") == Some("null")
}

fn is_buffered(job: &Job, output: &Output) -> bool {
    option(job, output, "direct").is_none_or(|value| value == "0")
}

/// True if a job only writes, and waits for the disk at its end or more often.
fn syncs(job: &Job, output: &Output) -> bool {
    let mut syncs = ["fsync", "fdatasync", "end_fsync", "sync"].iter();
    !reads(job) && syncs.any(|name| option(job, output, name).is_some_and(|value| value != "0"))
}

fn reads(job: &Job) -> bool {
    job.read.total_ios.max(job.mixed.total_ios) > 0
}

fn option<'a>(job: &'a Job, output: &'a Output, name: &str) -> Option<&'a str> {
    job.options.get(name).or_else(|| output.global.get(name))
}

/// Facts about a job that a reader must know.
fn doubts(job: &Job, output: &Output) -> Vec<String> {
    let mut notes = Vec::new();
    let name = quote(&job.jobname);
    if job.error != 0 {
        notes.push(format!("Job {name} ended with system error {}.", job.error));
    }
    if is_buffered(job, output) && reads(job) && !is_null(job, output) {
        notes.push(format!("Job {name} ran without `direct=1`: the page cache may have answered."));
    }
    notes
}

/// The figures of one section of one call.
struct Section<'a> {
    /// Empty if the call has no other.
    name: &'a str,
    figures: Vec<Figure>,
    line: usize,
    found: &'a mut Found,
}

impl Section<'_> {
    fn read(&mut self, jobs: &[&Job]) {
        debug_assert!(!jobs.is_empty(), "a section begins with a job");
        let name = &jobs[0].jobname;
        let kinds = [
            ("read_", busy_sides(jobs, |job| &job.read)),
            ("write_", busy_sides(jobs, |job| &job.write)),
            ("trim_", busy_sides(jobs, |job| &job.trim)),
        ];
        let mixed = busy_sides(jobs, |job| &job.mixed);
        let kinds: Vec<_> = kinds.into_iter().filter(|(_, sides)| !sides.is_empty()).collect();
        let apart: Vec<&Side> = kinds.iter().flat_map(|(_, sides)| sides).copied().collect();
        // fio prints the mixture in addition to its parts, or alone (`unified_rw_reporting`).
        let all = if apart.is_empty() { &mixed } else { &apart };
        if all.is_empty() {
            self.unknown(name, "made no requests");
            return;
        }
        self.rates("", all);
        let alone = kinds.len() < 2;
        if alone {
            self.latencies("", all, name);
        }
        for (kind, sides) in kinds.iter().filter(|_| !alone) {
            self.rates(kind, sides);
            self.latencies(kind, sides, name);
        }
    }

    /// Copies of a job run together, as do reads and writes: their rates add up.
    fn rates(&mut self, kind: &str, sides: &[&Side]) {
        let iops = sides.iter().map(|side| side.iops).sum();
        self.figure(&format!("{kind}iops"), iops, Better::More, false);
        let bytes = sides.iter().map(|side| side.bw_bytes).sum();
        self.figure(&format!("{kind}bytes_per_s"), bytes, Better::More, false);
    }

    fn latencies(&mut self, kind: &str, sides: &[&Side], name: &str) {
        self.figure(
            &format!("{kind}lat_mean_ns"),
            mean_latency(sides.iter().map(|side| &side.lat_ns)),
            Better::Less,
            false,
        );
        let clat = mean_latency(sides.iter().map(|side| &side.clat_ns));
        self.figure(&format!("{kind}clat_mean_ns"), clat, Better::Less, true);
        let responses: Vec<&Latency> = sides.iter().map(|side| &side.lat_ns).collect();
        let completions: Vec<&Latency> = sides.iter().map(|side| &side.clat_ns).collect();
        // Percentiles of two kinds cannot be combined: `lat` counts if every job has it.
        let in_all = responses.iter().all(|latency| latency.percentile.is_measured);
        let (which, latencies) = if in_all { ("lat", responses) } else { ("clat", completions) };
        let count: f64 = latencies.iter().map(|latency| latency.count).sum();
        for (index, (quantile, share, needed)) in PERCENTILES.into_iter().enumerate() {
            let value = match latencies[..] {
                [latency] => latency.percentile.listed[index],
                _ => Latency::combined(&latencies, share),
            };
            let Some(value) = value else {
                if latencies.len() > 1 {
                    let why = "percentiles of several jobs cannot be combined: add \
                               `group_reporting`, or use `--output-format=json+`";
                    return self.unknown(name, why);
                }
                continue;
            };
            if count >= needed {
                let metric = format!("{kind}{which}_{quantile}_ns");
                self.figure(&metric, value, Better::Less, false);
            } else {
                let quantile = quantile.replace('_', ".");
                let few = format!("fewer than {needed} requests, too few for {quantile}");
                self.unknown(name, &few);
            }
        }
    }

    fn unknown(&mut self, name: &str, why: &str) {
        self.found.unread(self.line, &format!("job {}: {why}", quote(name)));
    }

    /// Adds a figure; fio writes 0 for values that it did not measure (`gtod_reduce`,
    /// `disable_lat`).
    fn figure(&mut self, metric: &str, value: f64, better: Better, is_detail: bool) {
        // Zero means "not measured" throughout fio's JSON.
        if !(value.is_finite() && value > 0.0) {
            return;
        }
        let dot = if self.name.is_empty() { "" } else { "." };
        let name = format!("{}{dot}{metric}", self.name);
        self.figures.push(Figure { is_detail, ..Figure::new(name, value, better) });
    }
}

/// One side of each job, if it made requests.
fn busy_sides<'a>(jobs: &[&'a Job], side: fn(&Job) -> &Side) -> Vec<&'a Side> {
    jobs.iter().map(|job| side(job)).filter(|side| side.total_ios > 0).collect()
}

/// The mean over all requests, weighted by their numbers.
fn mean_latency<'a>(latencies: impl Iterator<Item = &'a Latency> + Clone) -> f64 {
    let sum: f64 = latencies.clone().map(|latency| latency.mean * latency.count).sum();
    sum / latencies.map(|latency| latency.count).sum::<f64>()
}

#[cfg(test)]
mod tests;
