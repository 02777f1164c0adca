//! What a run leaves behind: its configuration, its figures, and what they may be taken for.
//!
//! These types *are* the JSON of `drivelab run` (schema `drivelab.run/1`): their field names are a
//! contract with whoever scripts against them.

mod attached;
mod host;
mod latency;
mod mark;
mod stamp;
mod verification;

pub use attached::{Attached, AttachedDevice, Fact, FoundFault};
pub use host::Host;
pub use latency::Latency;
pub use mark::{Mark, MarkId};
pub use stamp::Stamp;
pub use verification::{Fault, FaultExample, Verification};

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::units::Span;
use crate::workload::Workload;

/// The schema that this version writes.
pub const RUN_SCHEMA: &str = "drivelab.run/1";

/// One run: one configuration, one workload, once. The unit of statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Always [`RUN_SCHEMA`].
    pub schema: String,
    /// What was measured, as it can be given again: a path, or `drive:NAME,...`.
    pub target: String,
    /// The user's name for the run, where given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Everything needed to repeat it.
    pub config: RunConfig,
    /// One entry a job.
    pub jobs: Vec<JobRecord>,
    /// All jobs together.
    pub total: JobRecord,
    /// What the figures are, and what casts doubt on them.
    pub marks: Vec<Mark>,
    /// The machine; absent where nothing of it can matter, in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// How the target was attached just before; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<Attached>,
    /// What reading everything back found, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
}

/// How a run was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// The version that made it.
    pub drivelab: String,
    /// What moves the data: `io_uring`, `psync` or `virtual`.
    pub ioengine: String,
    /// What was polled for, under fio's names: `hipri`, `sqthread_poll`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub polling: Vec<String>,
    /// Whether the page cache was passed by (`O_DIRECT`).
    pub direct: bool,
    /// Jobs that ran together.
    pub numjobs: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// What each job did.
    pub workload: Workload,
}

/// The figures of one job, or of all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Requests completed in the measured time, failed ones apart.
    pub ios: u64,
    /// Of them reads; the rest are writes and flushes.
    pub reads: u64,
    /// Requests a second.
    pub iops: f64,
    /// Data moved a second.
    pub bytes_per_s: f64,
    /// Measured time.
    pub elapsed_ns: u64,
    /// From the moment a request was meant to be sent to its completion: what a user waits.
    pub lat_ns: Latency,
    /// From the moment it was sent: what the device took.
    pub service_ns: Latency,
    /// How much later than meant requests were sent.
    pub late_ns: Latency,
    /// Requests that failed.
    pub errors: u64,
    /// Requests that the target had not answered when the run was given up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
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
    /// The whole distribution behind `lat_ns`.
    pub lat_histogram: Histogram,
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

/// Counts of a job from which its [`JobRecord`] is made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Requests completed.
    pub ios: u64,
    /// Of them reads.
    pub reads: u64,
    /// Of them answered by a cache in the drive, where the target tells.
    pub from_drive_cache: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests that were never answered.
    pub unanswered: u64,
    /// What the figures were when they held still.
    pub steady: Option<Plateau>,
    /// Measured time.
    pub elapsed: Span,
    /// From the intended moment to completion.
    pub lat: Histogram,
    /// From issue to completion.
    pub service: Histogram,
    /// From the intended moment to issue.
    pub late: Histogram,
    /// Processor time, where there is any.
    pub cpu: Option<Span>,
    /// How stamps were taken.
    pub stamp: Stamp,
    /// Second by second.
    pub seconds: Vec<Second>,
}

impl Tally {
    /// Adds a job that ran at the same time: counts add, the longest time stays, and `cpu`, which
    /// is the whole process's, is left to whoever measured it.
    pub fn merge(&mut self, other: &Self) {
        self.add_counts(other);
        // Only a job alone looks for it.
        self.steady = self.steady.or(other.steady);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.seconds.resize(self.seconds.len().max(other.seconds.len()), Second::default());
        for (mine, theirs) in self.seconds.iter_mut().zip(&other.seconds) {
            mine.ios += theirs.ios;
            mine.bytes += theirs.bytes;
            mine.lat_sum_ns = mine.lat_sum_ns.saturating_add(theirs.lat_sum_ns);
            mine.lat_max_ns = mine.lat_max_ns.max(theirs.lat_max_ns);
        }
    }

    /// Adds what was done after this: times add up as well, and so does `cpu`, where both have it.
    pub fn follow(&mut self, next: &Self) {
        let first = self.elapsed.is_zero();
        let both = self.cpu.zip(next.cpu).map(|(mine, theirs)| mine + theirs);
        self.cpu = if first { next.cpu } else { both };
        self.add_counts(next);
        self.elapsed += next.elapsed;
        self.seconds.extend_from_slice(&next.seconds);
    }

    fn add_counts(&mut self, other: &Self) {
        self.ios += other.ios;
        self.reads += other.reads;
        self.from_drive_cache += other.from_drive_cache;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.unanswered += other.unanswered;
        self.lat.merge(&other.lat);
        self.service.merge(&other.service);
        self.late.merge(&other.late);
        self.stamp = if other.stamp == Stamp::Batch { Stamp::Batch } else { self.stamp };
    }

    /// The figures.
    pub fn record(&self) -> JobRecord {
        JobRecord {
            ios: self.ios,
            reads: self.reads,
            iops: per_second(self.ios, self.elapsed),
            bytes_per_s: per_second(self.bytes, self.elapsed),
            elapsed_ns: self.elapsed.ns(),
            lat_ns: Latency::of(&self.lat),
            service_ns: Latency::of(&self.service),
            late_ns: Latency::of(&self.late),
            errors: self.errors,
            unanswered: self.unanswered,
            steady: self.steady,
            cpu_ns_per_io: self.cpu.filter(|_| self.ios > 0).map(|cpu| per_io(cpu, self.ios)),
            stamp: self.stamp,
            seconds: self.seconds.clone(),
            lat_histogram: self.lat.clone(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people and statistics")]
fn per_second(count: u64, elapsed: Span) -> f64 {
    if elapsed.is_zero() { 0.0 } else { count as f64 * 1e9 / elapsed.ns() as f64 }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people and statistics")]
fn per_io(cpu: Span, ios: u64) -> f64 {
    cpu.ns() as f64 / ios as f64
}
