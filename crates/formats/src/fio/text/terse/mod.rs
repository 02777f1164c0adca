//! fio's terse lines (`--output-format=terse`, `--minimal`), versions 3 to 5: one line per job.
//!
//! Rates are in KiB/s, times in microseconds in every version of fio. Version 4 adds trims, version
//! 5 the samples of bandwidth and the spread of the rates.

use std::collections::BTreeSet;

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;

use super::REPORT;
use super::call::{Call, Job, KINDS, LABELS, Latency, Side};
use crate::found::{Found, decimal};
use crate::sign::in_a_line;

/// Version, version of fio, name, group and error.
const HEAD: usize = 5;
/// Number of percentiles of a direction, with those that are not asked for.
const LISTED: usize = 20;

/// Positions of the name and the group in a line.
const NAME: usize = 2;
const GROUP: usize = 3;
/// Fields between the directions and the disks: the processor, and the distributions of depths and
/// of latencies.
const BETWEEN: usize = 5 + 7 + 10 + 12;
const SEPARATE: &str = "Terse lines of one name are taken for calls of their own, unless they name \
                        the same load of the disks: for copies of a job add `group_reporting`.";
/// Positions within a direction: KiB, KiB/s, requests per second, milliseconds; then the times
/// until the submission, until the completion, their percentiles, and all together.
const RATE: usize = 1;
const IOPS: usize = 2;
const RUNTIME: usize = 3;
const CLAT_MEAN: usize = 10;
const PERCENTILE: usize = 12;
const LAT_MEAN: usize = PERCENTILE + LISTED + 2;

/// The number of directions, and of fields of each.
fn layout(version: &str) -> Option<(usize, usize)> {
    match version {
        "3" => Some((2, 41)),
        "4" => Some((3, 41)),
        "5" => Some((3, 47)),
        _ => None,
    }
}

/// True if a text contains such lines, and not more reports of jobs for people.
pub fn is_terse(text: &str) -> bool {
    in_a_line(text, ";fio-", |line| job(line).is_some()) && {
        let count = text.lines().filter(|line| job(line).is_some()).count();
        // A few terse lines within a long page of reports are not what the page is about.
        count >= text.matches(REPORT).count()
    }
}

/// The fields of a line, if it is one.
fn job(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    let (version, rest) = line.split_once(';')?;
    let (directions, each) = layout(version)?;
    if !rest.starts_with("fio-") {
        return None;
    }
    let fields: Vec<&str> = line.split(';').collect();
    (fields.len() >= HEAD + directions * each).then_some(fields)
}

/// The fields of a line about the disks that its call used; empty where it has none.
fn disks_of<'a>(fields: &[&'a str]) -> Vec<&'a str> {
    let Some((directions, each)) = layout(fields[0]) else { return Vec::new() };
    let rest = fields.get(HEAD + directions * each + BETWEEN..).unwrap_or_default();
    // The last of a disk is its utilisation; a description may follow.
    let end = rest.iter().rposition(|field| field.ends_with('%')).map_or(0, |at| at + 1);
    rest[..end].to_vec()
}

/// Reads every line of a text; lines with other groups of one call are one run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("fio");
    let mut call = Call::default();
    let (mut has_text, mut disks, mut names) = (false, Vec::new(), BTreeSet::new());
    for line in lines(text)? {
        let trimmed = line.text.trim();
        if trimmed.contains(": (g=") {
            if !call.jobs.is_empty() {
                std::mem::take(&mut call).finish(&mut found);
            }
            call.define(trimmed);
        } else if let Some(fields) = job(trimmed) {
            // Every job of a call repeats what all of it did to the disks.
            let of_call = disks_of(&fields);
            let is_repeated = !names.insert((fields[NAME], fields[GROUP]));
            if !call.jobs.is_empty() && (of_call != disks || of_call.is_empty() && is_repeated) {
                std::mem::take(&mut call).finish(&mut found);
                names = BTreeSet::from([(fields[NAME], fields[GROUP])]);
                if is_repeated {
                    found.note(SEPARATE.to_owned());
                }
            }
            disks = of_call;
            take(line, &fields, &mut call, &mut found);
        } else {
            has_text |= trimmed.contains(REPORT);
        }
    }
    call.finish(&mut found);
    if has_text {
        let note = "The terse lines are read; fio's text of the same jobs is left out.";
        found.note(note.to_owned());
    }
    found.finish("give the lines that `fio --output-format=terse` prints, version 3, 4 or 5")
}

fn take(line: Line, fields: &[&str], call: &mut Call, found: &mut Found) {
    let [_, version, name, group, error, ..] = fields else { return };
    found.version(version.trim_start_matches("fio-"));
    let mut job = Job {
        name: (*name).to_owned(),
        key: format!("{group} line {}", line.number),
        error: error.parse().ok(),
        ..Job::default()
    };
    let Some((directions, each)) = layout(fields[0]) else { return };
    for (index, kind) in KINDS.iter().enumerate().take(directions) {
        let from = HEAD + index * each;
        assert!(from + each <= fields.len(), "a line has the fields of its layout");
        match side(&fields[from..from + each]) {
            Some(side) => job.sides[index] = side,
            None => found.unread(line.number, &format!("the figures of `{kind}` are not numbers")),
        }
    }
    // Groups of a call count up: a lower one begins another call.
    let last = call.jobs.last().and_then(|job| job.key.split(' ').next()?.parse::<u64>().ok());
    if last.is_some_and(|last| group.parse().is_ok_and(|group: u64| group < last)) {
        std::mem::take(call).finish(found);
    }
    if call.jobs.is_empty() {
        call.line = line.number;
    }
    call.add(job, found);
}

fn value(fields: &[&str], index: usize) -> Option<f64> {
    decimal(fields.get(index)?)
}

/// One direction, or nothing where a number is none.
fn side(fields: &[&str]) -> Option<Side> {
    let (rate, iops) = (value(fields, RATE)?, value(fields, IOPS)?);
    let runtime_ms = value(fields, RUNTIME)?;
    let mut percentiles = [None; 3];
    for field in fields.get(PERCENTILE..PERCENTILE + LISTED)? {
        let (percent, value) = field.split_once('=')?;
        if let Some(at) = LABELS.iter().position(|(_, label)| *label == percent) {
            percentiles[at] = decimal(value).map(|value| value * 1e3).filter(|value| *value > 0.0);
        }
    }
    let clat = Latency { mean_ns: value(fields, CLAT_MEAN)? * 1e3, percentiles, count: 0.0 };
    let lat = Latency { mean_ns: value(fields, LAT_MEAN)? * 1e3, ..Latency::default() };
    // Terse lines have no number of requests: rate and time give it.
    let count = iops * runtime_ms / 1e3;
    Some(Side { iops, bytes_per_s: rate * 1024.0, count, lat, clat, is_rounded: false })
}

#[cfg(test)]
mod tests;
