//! fio's JSON, in one set of units: nanoseconds and bytes.

use std::collections::BTreeMap;

use drivelab_core::csv::{ParseError, quote};
use serde::{Deserialize, Deserializer};

use crate::json::{First, first, pairs};

/// Maximum number of jobs of a call: fio runs 4096 on a machine, and a client adds up machines.
const JOBS_MAX: usize = 1 << 14;
/// Maximum number of bins of a histogram: fio's has 1856, 29 groups of 64.
const BINS_MAX: usize = 1 << 12;
/// Maximum number of options of a job that are kept; fio has some two hundred that are not reports.
const OPTIONS_MAX: usize = 256;
/// The percentiles that are compared, by fio's key.
const PERCENTILES: [&str; 3] = ["50.000000", "99.000000", "99.900000"];

/// One call of fio.
#[derive(Deserialize)]
pub(super) struct Output {
    #[serde(rename = "fio version")]
    version: String,
    /// Seconds since 1970 at its end.
    #[serde(default)]
    pub(super) timestamp: Option<u64>,
    #[serde(rename = "global options", default, deserialize_with = "options")]
    pub(super) global: Options,
    /// With `--client`, the jobs of all servers and a summary.
    #[serde(alias = "client_stats", deserialize_with = "first::<JOBS_MAX, _, _>")]
    pub(super) jobs: First<Job>,
}

#[derive(Deserialize)]
pub(super) struct Job {
    pub(super) jobname: String,
    #[serde(default)]
    pub(super) error: i64,
    /// Requests that failed, with `continue_on_error`.
    #[serde(default)]
    pub(super) total_err: u64,
    #[serde(rename = "job options", default, deserialize_with = "options")]
    pub(super) options: Options,
    #[serde(default)]
    pub(super) read: Side,
    #[serde(default)]
    pub(super) write: Side,
    #[serde(default)]
    pub(super) trim: Side,
    /// All together, instead of the others (`unified_rw_reporting=mixed`) or in addition to them.
    #[serde(default)]
    pub(super) mixed: Side,
}

/// The requests of one kind.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Side {
    pub(super) total_ios: u64,
    pub(super) iops: f64,
    pub(super) bw_bytes: f64,
    pub(super) lat_ns: Latency,
    pub(super) clat_ns: Latency,
    /// KiB/s.
    bw: f64,
    /// Version 2: microseconds.
    lat: Latency,
    clat: Latency,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Latency {
    pub(super) mean: f64,
    #[serde(rename = "N")]
    pub(super) count: f64,
    #[serde(deserialize_with = "percentiles")]
    pub(super) percentile: Percentiles,
    /// Latencies, each with its number of requests: only in JSON+.
    #[serde(deserialize_with = "bins")]
    pub(super) bins: Vec<(u64, u64)>,
}

/// The options by name; one that is given twice has the last value.
#[derive(Default)]
pub(super) struct Options(BTreeMap<String, String>);

impl Options {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// True if fio wrote none: versions before 3 do not.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// The percentiles of a latency.
#[derive(Default)]
pub(super) struct Percentiles {
    /// True if there are any.
    pub(super) is_measured: bool,
    /// In the order of [`PERCENTILES`].
    pub(super) listed: [Option<f64>; PERCENTILES.len()],
}

fn options<'de, D: Deserializer<'de>>(input: D) -> Result<Options, D::Error> {
    let mut options = Options::default();
    pairs(input, |name, value: String| {
        if options.0.len() < OPTIONS_MAX || options.0.contains_key(name) {
            options.0.insert(name.to_owned(), value);
        }
        Ok(())
    })?;
    Ok(options)
}

fn percentiles<'de, D: Deserializer<'de>>(input: D) -> Result<Percentiles, D::Error> {
    let mut percentiles = Percentiles::default();
    pairs(input, |name, value| {
        percentiles.is_measured = true;
        if let Some(index) = PERCENTILES.iter().position(|key| *key == name) {
            percentiles.listed[index] = Some(value);
        }
        Ok(())
    })?;
    Ok(percentiles)
}

fn bins<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<(u64, u64)>, D::Error> {
    let mut bins = Vec::new();
    pairs(input, |ns, count| {
        if bins.len() == BINS_MAX {
            return Err(format!("a histogram of more than {BINS_MAX} bins"));
        }
        bins.extend(ns.parse().ok().map(|ns: u64| (ns, count)));
        Ok(())
    })?;
    bins.shrink_to_fit();
    Ok(bins)
}

/// The summary that a client adds to the jobs of several servers.
const SUMMARY: &str = "All clients";

impl Output {
    /// Its version; converts its units to those of version 3.
    pub(super) fn normalise(&mut self, line: usize) -> Result<String, ParseError> {
        let version = self.version.trim_start_matches("fio-").to_owned();
        let is_old = match version.split('.').next() {
            Some("3") => false,
            Some("2") => true,
            _ => {
                let what = format!("version {} of fio's results", quote(&version));
                let hint = "only versions 2 and 3 are supported: others use other units";
                return Err(ParseError::new(line, what, hint));
            }
        };
        let jobs = &mut self.jobs.kept;
        if self.jobs.more > 0 {
            let what = format!("a call of fio with more than {JOBS_MAX} jobs");
            let hint = "check whether the file is damaged, or add `group_reporting` to the jobs";
            return Err(ParseError::new(line, what, hint));
        }
        // The summary repeats the jobs of the servers; a client with a single one prints it alone.
        if jobs.iter().any(|job| job.jobname != SUMMARY) {
            jobs.retain(|job| job.jobname != SUMMARY);
        }
        for job in jobs.iter_mut().filter(|_| is_old) {
            for side in [&mut job.read, &mut job.write, &mut job.trim, &mut job.mixed] {
                side.modernise();
            }
        }
        Ok(version)
    }
}

impl Side {
    /// Version 2 has KiB/s and microseconds, and no number of requests of a latency.
    #[expect(clippy::cast_precision_loss, reason = "requests are fewer than 2^52")]
    fn modernise(&mut self) {
        self.bw_bytes = 1024.0 * self.bw;
        for (old, new) in [(&mut self.lat, &mut self.lat_ns), (&mut self.clat, &mut self.clat_ns)] {
            *new = std::mem::take(old);
            new.mean *= 1e3;
            new.count = self.total_ios as f64;
            new.percentile.listed.iter_mut().flatten().for_each(|us| *us *= 1e3);
            // Version 2 has no JSON+, so bins of such a file are not trustworthy.
            new.bins.clear();
        }
    }
}

impl Latency {
    /// A percentile of several jobs together, from their histograms, by fio's own rule: the first
    /// bin that reaches it.
    #[expect(clippy::cast_precision_loss, reason = "requests are fewer than 2^52")]
    pub(super) fn combined(all: &[&Self], share: f64) -> Option<f64> {
        let mut bins: Vec<(u64, u64)> = Vec::new();
        for latency in all {
            if latency.bins.is_empty() {
                return None;
            }
            bins.extend(&latency.bins);
        }
        // By latency: the bins of several jobs interleave.
        bins.sort_unstable();
        let count_all: u64 = bins.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
        let mut below = 0_u64;
        let found = bins.iter().find(|(_, count)| {
            below = below.saturating_add(*count);
            below as f64 >= share * count_all as f64
        });
        found.map(|(ns, _)| *ns as f64)
    }
}
