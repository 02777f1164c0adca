//! fio's results: the JSON of versions 2.0 to 3.42 (`--output-format=json` and `json+`), also of a
//! client (`--client`).
//!
//! A file contains one document or several, each of one call of fio and therefore one run, except
//! that a call with `--status-interval` writes one after the other, of which the last counts; fio's
//! output between documents (warnings, `note: both iodepth >= 1 ...`) is skipped. fio computes
//! `iops` and `bw_bytes` over the run time of each job, and `lat` from the time at which the
//! request was created to its completion. Percentiles are those of `clat`, from submission on,
//! unless the job has `lat_percentiles=1`. None of them includes the `fsync` that follows a write:
//! that is `sync`.

mod bins;
mod output;
mod section;
mod settings;
mod work;

use drivelab_core::csv::{ParseError, quote};
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Flaw, Work};

use crate::fio::sections::by_section;
use crate::found::Found;
use output::{Job, Output};
use section::Section;
use settings::{Settings, reads};

/// True if a text contains a JSON document of fio.
pub fn is_fio(text: &str) -> bool {
    text.contains("\"fio version\"")
}

/// Reads every document of a text, each as a run.
///
/// # Errors
/// Names the line that is not JSON, or the version or mode of fio that is not supported.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let refused = match documents(text) {
        Err(error) if error.what.starts_with(NOT_FIO) => error,
        other => return other,
    };
    // fio 2 writes a comma behind `slat` where other latencies are switched off.
    let mut imported = documents(&without_trailing_commas(text)).map_err(|_| refused)?;
    imported
        .notes
        .push("Commas before a closing bracket, which fio 2 writes, were skipped.".into());
    Ok(imported)
}

/// The text with a blank for each comma that a closing bracket follows.
fn without_trailing_commas(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len());
    let mut parts = text.split(',');
    repaired.push_str(parts.next().unwrap_or_default());
    for part in parts {
        // Names with such an end would lose a comma: nothing that is read has one.
        let is_trailing = part.trim_start().starts_with(['}', ']']);
        repaired.push(if is_trailing { ' ' } else { ',' });
        repaired.push_str(part);
    }
    // Messages name positions.
    debug_assert_eq!(repaired.len(), text.len(), "positions stay");
    repaired
}

/// Reads every document. With a damaged one all are refused: a comparison of what is left of a file
/// would be one of fewer runs than its owner thinks.
fn documents(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("fio");
    let mut latest: Option<Call> = None;
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
        let version = output.normalise(line)?;
        found.version(&version);
        if !version.starts_with(['2', '3']) {
            let name = quote(&version);
            found.note(format!("Version {name} is unknown: units are those that its keys name."));
        }
        match &mut latest {
            Some(call) if call.output.continues_in(&output) => {
                (call.output, call.reports) = (output, call.reports + 1);
            }
            _ => {
                let call = Call { output, line: last, reports: 1 };
                if let Some(earlier) = latest.replace(call) {
                    earlier.read(&mut found);
                }
            }
        }
        line += text[at..at + length].matches('\n').count();
        at += length;
    }
    if let Some(call) = latest {
        call.read(&mut found);
    }
    found.finish("run fio with `--output-format=json`, and give its complete output")
}

/// One call of fio, by its last report.
struct Call {
    output: Output,
    /// The line of its first report.
    line: usize,
    reports: usize,
}

impl Call {
    fn read(&self, found: &mut Found) {
        if self.reports > 1 {
            let (line, count) = (self.line, self.reports);
            found.note(format!(
                "Line {line}: {count} reports of one call of fio (`--status-interval`, or copies) \
                 are one run: the last one counts."
            ));
        }
        read(&self.output, self.line, found);
    }
}

/// Offset of the next document: at a brace at the beginning of a line, or of the rest of one.
fn start(text: &str) -> Option<usize> {
    let mut rest = text;
    loop {
        // A single mark of a prompt or a quotation may precede the whole document.
        rest = rest.trim_start_matches(['\u{feff}', ' ', '\t', ',', '>']);
        // The end of the line is looked for only then: a line may hold every document.
        if rest.starts_with('{') {
            return Some(text.len() - rest.len());
        }
        rest = rest.split_once('\n')?.1;
    }
}

/// The beginning of the refusal of JSON that cannot be read.
const NOT_FIO: &str = "not a result of fio";

fn broken(line: usize, error: &serde_json::Error) -> ParseError {
    let line = line + error.line().saturating_sub(1);
    let (what, hint) = if error.is_eof() {
        ("the JSON is truncated".to_owned(), "check that fio finished and the file is complete")
    } else {
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        (format!("{NOT_FIO}: {said}"), "give the output of `--output-format=json`")
    };
    ParseError::new(line, what, hint)
}

/// Adds the figures of one call.
fn read(output: &Output, line: usize, found: &mut Found) {
    let jobs = output.jobs.kept.iter();
    let sections = by_section(jobs.map(|job| (&*job.jobname, job.groupid, job)));
    // The first section names the arm; a call has no name.
    let arm = match (output.jobs.kept.first(), sections.len()) {
        (Some(job), 1) => job.jobname.clone(),
        (Some(job), others) => format!("{} and {} more", job.jobname, others - 1),
        (None, _) => return,
    };
    let mut phases = Vec::new();
    for (name, jobs) in &sections {
        let name = if sections.len() > 1 { name.as_str() } else { "" };
        phases.extend(Section::new(name, (jobs, output), (line, found)).phases());
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
    sides.into_iter().fold(0, |sum: u64, side| sum.saturating_add(side.requests))
}

/// Facts about a job that a reader must know.
fn doubts(job: &Job, output: &Output) -> Vec<String> {
    let mut notes = Vec::new();
    let name = quote(&job.jobname);
    if job.error != 0 {
        notes.push(format!("Job {name} ended with system error {}.", job.error));
    }
    let settings = Settings { job, output };
    if !output.records_options_of(job) {
        notes.push(
            "This version of fio does not record its options (2.3 and later do): whether \
             `direct=1` bypassed the page cache is unknown."
                .to_owned(),
        );
    } else if settings.is_buffered() && reads(job) && !settings.is_null() {
        notes.push(format!("Job {name} ran without `direct=1`: the page cache may have answered."));
    }
    notes
}

#[cfg(test)]
mod tests;
