//! The figures of a run.

use serde::{Deserialize, Serialize};

use super::Latency;
use crate::choice_as_text;
use crate::config::Choice;
use crate::histogram::{Histogram, Second, Series};
use crate::units::Span;

/// The figures of one job, or of all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Data requests completed in the measured time: reads, writes and trims, without failed ones
    /// and flushes.
    pub ios: u64,
    /// Number of reads among them.
    pub reads: u64,
    /// Data requests per second.
    pub iops: f64,
    /// Bytes moved per second.
    pub bytes_per_s: f64,
    /// Measured time.
    pub elapsed_ns: u64,
    /// From the time at which a data request was due to its completion: what a user waits.
    pub lat_ns: Latency,
    /// From the time at which it was sent: the time of the device.
    pub service_ns: Latency,
    /// Delay from the time at which a request was due to the time at which it was sent.
    pub late_ns: Latency,
    /// Mean number of requests outstanding, from issue to observed completion; absent in records
    /// that did not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth_mean: Option<f64>,
    /// Requests that failed.
    pub errors: u64,
    /// Requests that the target had not answered when the run ended; their latencies are recorded
    /// as the time that they had waited so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Requests of an open loop that were due and never sent; recorded in the same way.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsent: u64,
    /// The figures at steady state, if that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Plateau>,
    /// Processor time (user and system, whole process) per request; absent in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns_per_io: Option<f64>,
    /// Method of taking time stamps.
    pub stamp: Stamp,
    /// Second by second.
    pub seconds: Vec<Second>,
    /// The distribution behind `lat_ns` over time. Kept only for a whole run, not for each of its
    /// jobs; empty for consecutive acts.
    #[serde(default = "Series::empty", skip_serializing_if = "Series::is_empty")]
    pub lat_series: Series,
    /// The complete distribution behind `lat_ns`.
    pub lat_histogram: Histogram,
    /// Reads alone, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<OpRecord>,
    /// Writes alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<OpRecord>,
    /// Trims alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<OpRecord>,
    /// Flushes, which are in none of the figures above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<OpRecord>,
}

impl JobRecord {
    /// A copy without distributions over time, which are most of its size.
    #[must_use]
    pub fn without_series(self) -> Self {
        Self { lat_series: Series::empty(), ..self }
    }

    /// Gives back memory that its distribution does not need.
    pub fn compact(&mut self) {
        self.lat_histogram.compact();
    }

    /// A copy without any distribution.
    #[must_use]
    pub fn figures_only(self) -> Self {
        Self { lat_histogram: Histogram::empty(), seconds: Vec::new(), ..self.without_series() }
    }

    /// The kinds of request that occurred, each with its name in the plural.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, &OpRecord)> {
        let kinds = [
            ("reads", &self.read),
            ("writes", &self.write),
            ("trims", &self.trim),
            ("flushes", &self.flush),
        ];
        kinds.into_iter().filter_map(|(name, kind)| Some((name, kind.as_ref()?)))
    }
}

/// One kind of request by itself: reads, writes and flushes take times of different magnitude, and
/// a quantile of all of them says nothing about any one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OpRecord {
    /// Requests completed in the measured time, without failed ones.
    pub ios: u64,
    /// Requests per second.
    pub iops: f64,
    /// Bytes moved per second.
    pub bytes_per_s: f64,
    /// From the time at which it was due to its completion. A flush is due at the same time as the
    /// write before it.
    pub lat_ns: Latency,
    /// From the time at which it was sent.
    pub service_ns: Latency,
}

/// The seconds at steady state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Plateau {
    /// First second, counted from the beginning of the measured time.
    pub from_s: u64,
    /// Their number.
    pub seconds: u64,
    /// Requests per second in them.
    pub iops: f64,
    /// Bytes moved per second in them.
    pub bytes_per_s: f64,
    /// Mean latency in them, from the due time.
    pub lat_mean_ns: u64,
}

impl Plateau {
    /// The values of two jobs together, each in its own seconds.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a mean of two times, which is neither negative nor above both"
    )]
    pub fn with(self, other: Self) -> Self {
        let iops = self.iops + other.iops;
        let [mine, theirs] = [self, other].map(|it| it.iops * it.lat_mean_ns as f64);
        let mean = if iops > 0.0 { (mine + theirs) / iops } else { 0.0 };
        Self {
            from_s: self.from_s.max(other.from_s),
            seconds: self.seconds.min(other.seconds),
            iops,
            bytes_per_s: self.bytes_per_s + other.bytes_per_s,
            lat_mean_ns: mean as u64,
        }
    }

    /// The last `window` of `seconds`.
    pub fn of(seconds: &[Second], window: usize) -> Self {
        let from = seconds.len().saturating_sub(window);
        let last = &seconds[from..];
        let ios = sum(last, |second| second.ios);
        let elapsed = Span::from_secs(last.len() as u64);
        Self {
            from_s: from as u64,
            seconds: last.len() as u64,
            iops: per_second(ios, elapsed),
            bytes_per_s: per_second(sum(last, |second| second.bytes), elapsed),
            lat_mean_ns: sum(last, |second| second.lat_sum_ns).checked_div(ios).unwrap_or(0),
        }
    }
}

fn sum(seconds: &[Second], figure: fn(&Second) -> u64) -> u64 {
    seconds.iter().map(figure).fold(0, u64::saturating_add)
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people and statistics")]
pub(super) fn per_second(count: u64, elapsed: Span) -> f64 {
    if elapsed.is_zero() { 0.0 } else { count as f64 * 1e9 / elapsed.ns() as f64 }
}

/// The moments at which time stamps are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamp {
    /// Before each call that submits requests, for at most eight of them, and once for all
    /// completions that are fetched together.
    #[default]
    Io,
    /// As `Io`, and all requests that are submitted together share one: latencies then include the
    /// time to build a large batch.
    Batch,
}

impl Choice for Stamp {
    const WHAT: &'static str = "moment for time stamps";
    const NAMES: &'static [(&'static str, Self)] = &[("io", Self::Io), ("batch", Self::Batch)];
}
choice_as_text!(Stamp);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
