//! The figures of a run.

use serde::{Deserialize, Serialize};

use super::Latency;
use crate::choice_as_text;
use crate::config::Choice;
use crate::histogram::{Histogram, Series};
use crate::units::Span;

/// The figures of one job, or of all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Requests for data completed in the measured time: reads, writes and trims. Failed ones and
    /// flushes are apart.
    pub ios: u64,
    /// Of them reads.
    pub reads: u64,
    /// Requests for data a second.
    pub iops: f64,
    /// Data moved a second.
    pub bytes_per_s: f64,
    /// Measured time.
    pub elapsed_ns: u64,
    /// From the moment a request for data was meant to be sent to its completion: what a user
    /// waits.
    pub lat_ns: Latency,
    /// From the moment it was sent: what the device took.
    pub service_ns: Latency,
    /// How much later than meant requests were sent.
    pub late_ns: Latency,
    /// Requests outstanding in the mean, from when they were issued to when their completion was
    /// seen; absent in records that did not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth_mean: Option<f64>,
    /// Requests that failed.
    pub errors: u64,
    /// Requests that the target had not answered when the run was given up; their latencies are
    /// entered as what they had waited by then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Requests of an open loop that were due and never sent; entered in the same way.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsent: u64,
    /// Where the run ended because its figures held still: what they were then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Plateau>,
    /// Processor time (user and system, whole process) per request; absent in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns_per_io: Option<f64>,
    /// How stamps were taken.
    pub stamp: Stamp,
    /// Second by second.
    pub seconds: Vec<Second>,
    /// The distribution behind `lat_ns` over time. Kept for the whole of a run only, not for each
    /// of its jobs; empty for acts one after the other.
    #[serde(default = "Series::empty", skip_serializing_if = "Series::is_empty")]
    pub lat_series: Series,
    /// The whole distribution behind `lat_ns`.
    pub lat_histogram: Histogram,
    /// Reads alone, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<OpRecord>,
    /// Writes alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<OpRecord>,
    /// Trims alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<OpRecord>,
    /// Flushes, which none of the figures above count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<OpRecord>,
}

impl JobRecord {
    /// The same without distributions over time, which are most of its size.
    #[must_use]
    pub fn without_series(self) -> Self {
        Self { lat_series: Series::empty(), ..self }
    }

    /// The figures alone, without any distribution.
    #[must_use]
    pub fn figures_only(self) -> Self {
        Self { lat_histogram: Histogram::empty(), seconds: Vec::new(), ..self.without_series() }
    }

    /// The kinds of request that there were, each with its name in the plural.
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

/// One kind of request by itself: what is read, written and made durable takes times of different
/// size, and no quantile of them all says anything about one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OpRecord {
    /// How many were completed in the measured time, failed ones apart.
    pub ios: u64,
    /// How many a second.
    pub iops: f64,
    /// Data moved a second.
    pub bytes_per_s: f64,
    /// From the moment it was meant to be sent to its completion. A flush is meant to be sent with
    /// the write before it.
    pub lat_ns: Latency,
    /// From the moment it was sent.
    pub service_ns: Latency,
}

/// What happened in one second of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Second {
    /// Requests completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Sum of latencies.
    pub lat_sum_ns: u64,
    /// Longest latency.
    pub lat_max_ns: u64,
}

/// The seconds that held still.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Plateau {
    /// When they began, counted from the beginning of the measured time.
    pub from_s: u64,
    /// How many they are.
    pub seconds: u64,
    /// Requests a second in them.
    pub iops: f64,
    /// Data moved a second in them.
    pub bytes_per_s: f64,
    /// Mean latency in them, from the intended moment.
    pub lat_mean_ns: u64,
}

impl Plateau {
    /// The last `window` of `seconds`.
    pub fn of(seconds: &[Second], window: usize) -> Self {
        let from = seconds.len().saturating_sub(window);
        let last = &seconds[from..];
        let sum = |of: fn(&Second) -> u64| last.iter().map(of).fold(0_u64, u64::saturating_add);
        let ios = sum(|second| second.ios);
        let elapsed = Span::from_secs(last.len() as u64);
        Self {
            from_s: from as u64,
            seconds: last.len() as u64,
            iops: per_second(ios, elapsed),
            bytes_per_s: per_second(sum(|second| second.bytes), elapsed),
            lat_mean_ns: sum(|second| second.lat_sum_ns).checked_div(ios).unwrap_or(0),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people and statistics")]
pub(super) fn per_second(count: u64, elapsed: Span) -> f64 {
    if elapsed.is_zero() { 0.0 } else { count as f64 * 1e9 / elapsed.ns() as f64 }
}

/// When latency stamps are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamp {
    /// A pair for each request.
    #[default]
    Io,
    /// A pair for each batch that goes to the kernel together: half the cost where requests take
    /// no longer than reading the clock, and latencies long by what the batch took to send.
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
