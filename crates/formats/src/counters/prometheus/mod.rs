//! Histograms of times in the text format of Prometheus, such as etcd's
//! `etcd_disk_wal_fsync_duration_seconds`.
//!
//! Quantiles are those of `histogram_quantile`: linear within the bucket that holds them, so they
//! are as exact as the buckets are narrow.

use std::collections::BTreeMap;

use drivelab_core::csv::{ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark};

use crate::found::{Found, detail, figure, phase, slug};
use crate::sign::in_a_line;

/// The names of times of disks contain one of these.
const OF_DISKS: [&str; 6] = ["fsync", "disk", "wal", "backend_commit", "sync_duration", "io_time"];
/// Maximum number of histograms, and of buckets of each.
const HISTOGRAMS_MAX: usize = 10_000;
const BUCKETS_MAX: usize = 1000;
const QUANTILES: [(&str, f64, f64); 3] =
    [("p50", 0.5, 200.0), ("p99", 0.99, 10_000.0), ("p99_9", 0.999, 100_000.0)];
const BUCKET: &str = "_seconds_bucket{";

/// True if a text contains such a histogram.
pub fn is_prometheus(text: &str) -> bool {
    in_a_line(text, BUCKET, |line| {
        sample(line).is_some_and(|sample| is_of_disks(sample.name) && sample.limit.is_some())
    })
}

fn is_of_disks(name: &str) -> bool {
    OF_DISKS.iter().any(|part| name.contains(part))
}

/// A line of a histogram.
struct Sample<'a> {
    /// Without `_seconds` and what follows.
    name: &'a str,
    /// `bucket`, `sum` or `count`.
    of: &'a str,
    /// All labels apart from `le`.
    labels: String,
    /// The upper limit of a bucket in seconds.
    limit: Option<f64>,
    value: f64,
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let (name, rest) = line.trim().split_once("_seconds_")?;
    let end = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
    let (of, rest) = rest.split_at(end);
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
    if !is_name || !["bucket", "sum", "count"].contains(&of) {
        return None;
    }
    let (labels, value) = match rest.strip_prefix('{') {
        Some(inside) => inside.split_once('}')?,
        None => ("", rest),
    };
    let mut limit = None;
    let mut others = Vec::new();
    for label in labels.split(',').map(str::trim).filter(|label| !label.is_empty()) {
        match label.strip_prefix("le=") {
            Some("\"+Inf\"") => limit = Some(f64::INFINITY),
            Some(text) => limit = Some(finite(text.trim_matches('"'))?),
            None => others.push(label),
        }
    }
    let value = finite(value.split_whitespace().next()?)?;
    Some(Sample { name, of, labels: others.join(","), limit, value })
}

/// A number, in any form that Go prints.
fn finite(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| (0.0..1e15).contains(value))
}

#[derive(Debug, Default)]
struct Histogram {
    line: usize,
    /// Upper limits in seconds, and the requests up to them.
    buckets: Vec<(f64, f64)>,
    sum: Option<f64>,
    count: Option<f64>,
}

/// Reads every histogram of times of disks.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("Prometheus");
    let mut histograms: BTreeMap<(String, String), Histogram> = BTreeMap::new();
    for line in lines(text)? {
        let Some(sample) = sample(line.text).filter(|sample| is_of_disks(sample.name)) else {
            continue;
        };
        let key = (sample.name.to_owned(), sample.labels);
        if histograms.len() == HISTOGRAMS_MAX && !histograms.contains_key(&key) {
            found.unread(line.number, "more histograms than are read");
            continue;
        }
        let histogram = histograms.entry(key).or_default();
        histogram.line = if histogram.line == 0 { line.number } else { histogram.line };
        // A bucket without a limit is damaged.
        match (sample.of, sample.limit) {
            ("bucket", Some(limit)) if histogram.buckets.len() < BUCKETS_MAX => {
                histogram.buckets.push((limit, sample.value));
            }
            ("sum", _) => histogram.sum = Some(sample.value),
            ("count", _) => histogram.count = Some(sample.value),
            _ => found.unknown(line.number, line.text),
        }
    }
    for ((name, labels), histogram) in histograms {
        let phases = vec![histogram.phase(&name)];
        found.run(histogram.line, &labels, phases);
    }
    let note = "Counters add up since the process began: they mix every load that it had.";
    found.note(note.to_owned());
    found
        .finish("give the lines of a histogram: `NAME_seconds_bucket{le=...}`, `_sum` and `_count`")
}

impl Histogram {
    fn phase(&self, name: &str) -> Phase {
        let mut buckets = self.buckets.clone();
        // Exporters print buckets in order, people paste them in any.
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        let last = buckets.last().map(|(_, count)| *count);
        let count = self.count.or(last).unwrap_or(0.0);
        let mut figures: Vec<Figure> = Vec::new();
        if let Some(sum) = self.sum.filter(|_| count > 0.0) {
            figures.push(figure("lat_mean_ns", sum / count * 1e9, "", Better::Less));
        }
        for (quantile, share, needed) in QUANTILES {
            let Some(value) = within(&buckets, share * count).filter(|_| count >= needed) else {
                continue;
            };
            let mut read = figure(&format!("lat_{quantile}_ns"), value * 1e9, "", Better::Less);
            let (_, is_last) = bucket(&buckets, share * count).unwrap_or_default();
            if is_last {
                let why = "beyond the last bucket: at least this long";
                read.remarks.push(Remark::new(Label::ToolDefect, why));
            }
            figures.push(read);
        }
        if count > 0.0 {
            figures.push(detail("requests", count, "", Better::Neither));
        }
        phase(&slug(name), Nature::JournalSync, figures)
    }
}

/// The index of the bucket with the request of this rank, and whether it has no upper limit.
fn bucket(buckets: &[(f64, f64)], rank: f64) -> Option<(usize, bool)> {
    debug_assert!(buckets.is_sorted_by(|one, other| one.0 <= other.0), "limits go up");
    let at = buckets.iter().position(|(_, count)| *count >= rank)?;
    Some((at, buckets[at].0.is_infinite()))
}

/// The time of the request of this rank.
fn within(buckets: &[(f64, f64)], rank: f64) -> Option<f64> {
    let (at, is_last) = bucket(buckets, rank)?;
    let (from, before) = at.checked_sub(1).map_or((0.0, 0.0), |at| buckets[at]);
    let (to, count) = buckets[at];
    if is_last || count <= before {
        return (from > 0.0).then_some(from);
    }
    Some(from + (to - from) * ((rank - before) / (count - before)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests;
