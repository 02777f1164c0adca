//! fio's JSON, in one set of units: nanoseconds and bytes.
//!
//! The keys state the units, so they decide and not the version. By fio's history (`stat.c`,
//! versions 2.0 to 3.42): `lat` and `clat` are in microseconds up to 2.21, `lat_ns` and `clat_ns`
//! in nanoseconds from 2.99 on; `total_ios` exists since 2.1.14, `job options` since 2.3,
//! `bw_bytes` since 3.2, `sync` since 3.4, `N` since 3.18, `job_start` since 3.36. A key that
//! a version does not have is not zero.

use std::collections::BTreeMap;

use drivelab_core::csv::{ParseError, quote};
use serde::{Deserialize, Deserializer};

use super::bins::Bins;
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
    /// Jobs of one group ran together.
    #[serde(default)]
    pub(super) groupid: i64,
    #[serde(default)]
    pub(super) error: i64,
    /// Milliseconds since 1970 at its start.
    #[serde(rename = "job_start", default)]
    pub(super) began_ms: Option<u64>,
    /// Seconds since the start of the call.
    #[serde(default)]
    pub(super) elapsed: Option<u64>,
    /// Seconds until its end: above zero only in a report of a call that is running.
    #[serde(default)]
    pub(super) eta: u64,
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
    /// Calls of `fsync` and its kind (since 3.4).
    #[serde(default)]
    pub(super) sync: Side,
}

/// The requests of one kind.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Side {
    total_ios: Option<u64>,
    pub(super) iops: f64,
    bw_bytes: Option<f64>,
    /// Milliseconds.
    pub(super) runtime: u64,
    pub(super) lat_ns: Latency,
    pub(super) clat_ns: Latency,
    /// KiB/s.
    bw: f64,
    /// Microseconds.
    lat: Latency,
    clat: Latency,
    /// Requests, as the file states them or as they follow from rate and time.
    #[serde(skip)]
    pub(super) requests: u64,
    #[serde(skip)]
    pub(super) bytes_per_s: f64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Latency {
    pub(super) mean: f64,
    #[serde(rename = "N")]
    stated: Option<f64>,
    /// Number of its requests.
    #[serde(skip)]
    pub(super) count: f64,
    #[serde(deserialize_with = "percentiles")]
    pub(super) percentile: Percentiles,
    /// Latencies, each with its number of requests: only in JSON+.
    #[serde(deserialize_with = "bins")]
    pub(super) bins: Bins,
}

/// The options by name; one that is given twice has the last value.
#[derive(Default, PartialEq)]
pub(super) struct Options {
    by_name: BTreeMap<String, String>,
    /// True if the file has them, even if there are none: versions before 2.3 write none.
    pub(super) are_recorded: bool,
}

impl Options {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(String::as_str)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_name.iter().map(|(name, value)| (name.as_str(), value.as_str()))
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
    let mut options = Options { are_recorded: true, ..Options::default() };
    pairs(input, |name, value: String| {
        let known = &mut options.by_name;
        if known.len() < OPTIONS_MAX || known.contains_key(name) {
            known.insert(name.to_owned(), value);
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

fn bins<'de, D: Deserializer<'de>>(input: D) -> Result<Bins, D::Error> {
    let mut bins = Bins::default();
    pairs(input, |ns, count| {
        if bins.len() == BINS_MAX {
            return Err(format!("a histogram of more than {BINS_MAX} bins").into());
        }
        if let Ok(ns) = ns.parse() {
            bins.push(ns, count);
        }
        Ok(())
    })?;
    bins.shrink_to_fit();
    Ok(bins)
}

/// The summary that a client adds to the jobs of several servers.
const SUMMARY: &str = "All clients";

impl Output {
    /// Its version; converts its units to nanoseconds and bytes.
    pub(super) fn normalise(&mut self, line: usize) -> Result<String, ParseError> {
        let version = self.version.trim_start_matches("fio-").to_owned();
        let major: Option<u32> = version.split('.').next().and_then(|it| it.parse().ok());
        if major.is_some_and(|major| major < 2) {
            let what = format!("version {} of fio's results", quote(&version));
            let hint = "JSON is read from version 2.0 on: run the job with a later fio";
            return Err(ParseError::new(line, what, hint));
        }
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
        for job in jobs.iter_mut() {
            for side in
                [&mut job.read, &mut job.write, &mut job.trim, &mut job.mixed, &mut job.sync]
            {
                side.complete();
            }
            job.count_syncs(&self.global);
        }
        Ok(version)
    }

    /// True if the file states the options of this job.
    pub(super) fn records_options_of(&self, job: &Job) -> bool {
        // A client knows its servers' summary without their options.
        job.options.are_recorded || self.global.are_recorded && job.jobname != SUMMARY
    }

    /// True if `next` is a later report of the same call (`--status-interval`), or a copy.
    pub(super) fn continues_in(&self, next: &Self) -> bool {
        let jobs = self.jobs.kept.iter().zip(&next.jobs.kept);
        !self.jobs.kept.is_empty()
            && self.version == next.version
            && self.jobs.kept.len() == next.jobs.kept.len()
            && self.global == next.global
            && jobs.clone().all(|(job, next)| job.grows_to(next))
            && jobs.clone().all(|(a, b)| self.began_with(a, next, b))
    }

    /// The time at which a job began, in seconds since 1970.
    fn began_s(&self, job: &Job) -> Option<u64> {
        self.timestamp?.checked_sub(job.elapsed?)
    }

    /// True if a job of this report began when the same job of `next` did.
    fn began_with(&self, job: &Job, next: &Self, later: &Job) -> bool {
        if let (Some(begin), Some(other)) = (job.began_ms, later.began_ms) {
            return begin == other;
        }
        let (Some(begin), Some(other)) = (self.began_s(job), next.began_s(later)) else {
            return false;
        };
        // Both times are whole seconds. Another call can begin a second later only after a call of
        // a second or two, which was not running when it reported.
        let tolerance = u64::from(job.eta > 0 || job.elapsed > Some(2));
        begin.abs_diff(other) <= tolerance
    }
}

impl Job {
    /// Derives the number of syncs from that of writes: versions before 3.18 do not state it.
    #[expect(clippy::cast_precision_loss, reason = "requests are fewer than 2^52")]
    fn count_syncs(&mut self, global: &Options) {
        let latency = &mut self.sync.lat_ns;
        if !latency.is_measured() || latency.count > 0.0 {
            return;
        }
        let every = ["fsync", "fdatasync"]
            .into_iter()
            .filter_map(|name| self.options.get(name).or_else(|| global.get(name)))
            .filter_map(|every| every.trim().parse::<u64>().ok())
            .find(|every| *every > 0);
        latency.count = (self.write.requests / every.unwrap_or(1)).max(1) as f64;
    }

    /// Requests and time of each kind.
    fn progress(&self) -> [(u64, u64); 4] {
        [&self.read, &self.write, &self.trim, &self.mixed].map(|it| (it.requests, it.runtime))
    }

    /// True if `next` may be a later state of this job: nothing of it became less.
    fn grows_to(&self, next: &Self) -> bool {
        let mut both = self.progress().into_iter().zip(next.progress());
        self.jobname == next.jobname
            && self.options == next.options
            && both.all(|(side, next)| side.0 <= next.0 && side.1 <= next.1)
    }
}

impl Side {
    /// Derives what the version did not write from what it did.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "requests are fewer than 2^52, and a cast of a float saturates"
    )]
    fn complete(&mut self) {
        // fio computes `iops` from both.
        let from_rate = (self.iops * self.runtime as f64 / 1e3).round() as u64;
        self.requests = self.total_ios.unwrap_or(from_rate);
        self.bytes_per_s = self.bw_bytes.unwrap_or(1024.0 * self.bw);
        for (us, ns) in [(&mut self.lat, &mut self.lat_ns), (&mut self.clat, &mut self.clat_ns)] {
            if !ns.is_measured() && us.is_measured() {
                *ns = std::mem::take(us);
                ns.mean *= 1e3;
                ns.percentile.listed.iter_mut().flatten().for_each(|us| *us *= 1e3);
                // Such a version has no JSON+, so bins of such a file are not trustworthy.
                ns.bins.clear();
            }
            // A number of zero is stated for what was not measured, and of syncs.
            let all = if ns.is_measured() { self.requests as f64 } else { 0.0 };
            ns.count = ns.stated.unwrap_or(all);
        }
    }
}

impl Latency {
    /// True if the file has values of it.
    fn is_measured(&self) -> bool {
        self.mean > 0.0 || self.percentile.is_measured
    }

    /// A percentile of several jobs together, from their histograms, by fio's own rule: the first
    /// bin that reaches it.
    #[expect(clippy::cast_precision_loss, reason = "requests are fewer than 2^52")]
    pub(super) fn combined(all: &[&Self], share: f64) -> Option<f64> {
        let mut bins: Vec<(u64, u64)> = Vec::new();
        for latency in all {
            if latency.bins.is_empty() {
                return None;
            }
            bins.extend(latency.bins.iter());
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
