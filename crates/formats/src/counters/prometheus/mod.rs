//! Histograms of times in the text format of Prometheus, such as etcd's
//! `etcd_disk_wal_fsync_duration_seconds`.
//!
//! Quantiles are those of `histogram_quantile`: linear within the bucket that holds them, so they
//! are as exact as the buckets are narrow.

use std::collections::BTreeMap;

use drivelab_core::csv::{ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{self, Better, Figure, Nature, Phase, Remark};

use crate::found::{Found, detail, figure, phase, slug};
use crate::quantity::PERCENTILES;
use crate::sign::in_a_line;

/// The names of times of disks contain one of these as whole words.
const OF_DISKS: [&str; 6] = ["fsync", "disk", "wal", "backend_commit", "sync_duration", "io_time"];
/// Maximum number of histograms, and of buckets of each.
const HISTOGRAMS_MAX: usize = 10_000;
const BUCKETS_MAX: usize = 1000;
/// Maximum number of labels of a line.
const LABELS_MAX: usize = 100;
const BUCKET: &str = "_seconds_bucket{";

/// True if a text contains such a histogram.
pub fn is_prometheus(text: &str) -> bool {
    in_a_line(text, BUCKET, |line| {
        sample(line).is_some_and(|sample| is_of_disks(sample.name) && sample.limit.is_some())
    })
}

fn is_of_disks(name: &str) -> bool {
    // `firewall` is no `wal`.
    OF_DISKS.iter().any(|part| {
        name.match_indices(part).any(|(at, _)| {
            let (before, behind) = (&name[..at], &name[at + part.len()..]);
            let is_begin = before.is_empty() || before.ends_with(['_', ':']);
            is_begin && (behind.is_empty() || behind.starts_with('_'))
        })
    })
}

/// A label: its name, its value as written, and both together.
struct Label<'a> {
    name: &'a str,
    value: &'a str,
    whole: &'a str,
}

/// The labels behind an opening brace, and the text behind the closing one. A value may contain
/// braces and commas, and an escaped quotation mark.
fn read_labels(inside: &str) -> Option<(Vec<Label<'_>>, &str)> {
    let (mut labels, mut rest) = (Vec::new(), inside);
    while labels.len() < LABELS_MAX {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, value) = rest.split_once("=\"")?;
        let mut is_escaped = false;
        let end = value.find(|c| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        })?;
        let whole = &rest[..=name.len() + 2 + end];
        labels.push(Label { name: name.trim(), value: &value[..end], whole });
        rest = &value[end + 1..];
    }
    None
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
        Some(inside) => read_labels(inside)?,
        None => (Vec::new(), rest),
    };
    let mut limit = None;
    let mut others = Vec::new();
    for label in labels {
        match (label.name, label.value) {
            ("le", "+Inf") => limit = Some(f64::INFINITY),
            ("le", value) => limit = Some(finite(value)?),
            _ => others.push(label.whole),
        }
    }
    let value = finite(value.split_whitespace().next()?)?;
    Some(Sample { name, of, labels: others.join(","), limit, value })
}

/// A number, in any form that Go prints.
fn finite(text: &str) -> Option<f64> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..1e15).contains(value))?;
    // There is a zero with a sign.
    Some(value.abs())
}

#[derive(Debug, Default)]
struct Histogram {
    line: usize,
    /// The requests up to each limit, by the bits of its seconds, which sort as these do.
    buckets: BTreeMap<u64, f64>,
    sum: Option<f64>,
    count: Option<f64>,
}

/// Reads every histogram of times of disks.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("Prometheus");
    let mut histograms: BTreeMap<(String, String), Histogram> = BTreeMap::new();
    let mut earlier = Vec::new();
    for line in lines(text)? {
        let Some(sample) = sample(line.text).filter(|sample| is_of_disks(sample.name)) else {
            continue;
        };
        let key = (sample.name.to_owned(), sample.labels.clone());
        let is_known = histograms.contains_key(&key);
        let is_repeated = histograms.get(&key).is_some_and(|it| it.has(&sample));
        let is_full = histograms.len() + earlier.len() == HISTOGRAMS_MAX;
        if is_full && (is_repeated || !is_known) {
            found.unread(line.number, "more histograms than are read");
            continue;
        }
        let histogram = histograms.entry(key.clone()).or_default();
        if is_repeated {
            // The metrics were fetched again.
            earlier.push((key, std::mem::take(histogram)));
        }
        histogram.line = if histogram.line == 0 { line.number } else { histogram.line };
        // A bucket without a limit is damaged.
        match (sample.of, sample.limit) {
            ("bucket", Some(limit)) if histogram.buckets.len() < BUCKETS_MAX => {
                histogram.buckets.insert(limit.to_bits(), sample.value);
            }
            ("sum", _) => histogram.sum = Some(sample.value),
            ("count", _) => histogram.count = Some(sample.value),
            _ => found.unknown(line.number, line.text),
        }
    }
    earlier.extend(histograms);
    earlier.sort_by_key(|(_, histogram)| histogram.line);
    for ((name, labels), histogram) in earlier {
        if histogram.count().is_none() {
            let why = "a histogram without `_count` or the bucket `+Inf`: it does not say how many \
                       there were";
            found.unread(histogram.line, why);
        } else if histogram.count() == Some(0.0) {
            found.unread(histogram.line, &format!("no request in `{name}`"));
        }
        let phases = vec![histogram.phase(&name)];
        found.run(histogram.line, &labels, phases);
    }
    let note = "Counters add up since the process began: they mix every load that it had.";
    found.note(note.to_owned());
    found
        .finish("give the lines of a histogram: `NAME_seconds_bucket{le=...}`, `_sum` and `_count`")
}

impl Histogram {
    /// True if it has the value of a sample already.
    fn has(&self, sample: &Sample) -> bool {
        match sample.of {
            "sum" => self.sum.is_some(),
            "count" => self.count.is_some(),
            _ => sample.limit.is_some_and(|limit| self.buckets.contains_key(&limit.to_bits())),
        }
    }

    /// The number of all requests, if it is known.
    fn count(&self) -> Option<f64> {
        self.count.or_else(|| self.buckets.get(&f64::INFINITY.to_bits()).copied())
    }

    fn phase(&self, name: &str) -> Phase {
        let buckets = self.buckets.iter().map(|(limit, count)| (f64::from_bits(*limit), *count));
        let buckets: Vec<(f64, f64)> = buckets.collect();
        let observed = self.count().unwrap_or(0.0);
        let mut figures: Vec<Figure> = Vec::new();
        if let Some(sum) = self.sum.filter(|_| observed > 0.0) {
            figures.push(figure("lat_mean_ns", sum / observed * 1e9, "", Better::Less));
        }
        for (quantile, share, needed) in PERCENTILES {
            let is_known = observed > 0.0 && observed >= needed;
            let Some(value) = within(&buckets, share * observed).filter(|_| is_known) else {
                continue;
            };
            let mut read = figure(&format!("lat_{quantile}_ns"), value * 1e9, "", Better::Less);
            let (_, is_last) = bucket(&buckets, share * observed).unwrap_or_default();
            if is_last {
                let why = "beyond the last bucket: at least this long";
                read.remarks.push(Remark::new(record::Label::ToolDefect, why));
            }
            figures.push(read);
        }
        if observed > 0.0 {
            figures.push(detail("requests", observed, "", Better::Neither));
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
