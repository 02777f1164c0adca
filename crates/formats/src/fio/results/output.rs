//! fio's JSON, in one set of units: nanoseconds and bytes.

use std::collections::BTreeMap;

use drivelab_core::csv::{ParseError, quote};
use serde::Deserialize;

/// One call of fio.
#[derive(Deserialize)]
pub(super) struct Output {
    #[serde(rename = "fio version")]
    version: String,
    /// Seconds since 1970 at its end.
    #[serde(default)]
    pub(super) timestamp: Option<u64>,
    #[serde(rename = "global options", default)]
    pub(super) global: BTreeMap<String, String>,
    /// With `--client`, the jobs of all servers and a summary.
    #[serde(alias = "client_stats")]
    pub(super) jobs: Vec<Job>,
}

#[derive(Deserialize)]
pub(super) struct Job {
    pub(super) jobname: String,
    #[serde(default)]
    pub(super) error: i64,
    #[serde(rename = "job options", default)]
    pub(super) options: BTreeMap<String, String>,
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
    pub(super) percentile: BTreeMap<String, f64>,
    /// Number of requests by latency: only in JSON+.
    pub(super) bins: BTreeMap<String, u64>,
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
        if self.jobs.iter().any(|job| job.jobname != SUMMARY) {
            self.jobs.retain(|job| job.jobname != SUMMARY);
        }
        for job in self.jobs.iter_mut().filter(|_| is_old) {
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
            new.percentile.values_mut().for_each(|us| *us *= 1e3);
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
            let numbers = latency.bins.iter();
            bins.extend(numbers.filter_map(|(ns, count)| Some((ns.parse().ok()?, *count))));
        }
        bins.sort_unstable();
        let count: u64 = bins.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
        let mut below = 0_u64;
        let reaches = |below: u64| below as f64 >= share * count as f64;
        let found = bins.iter().find(|(_, count)| {
            below = below.saturating_add(*count);
            reaches(below)
        });
        found.map(|(ns, _)| *ns as f64)
    }
}
