//! One load from many hosts at the same time.
//!
//! These types *are* the JSON of `drivelab-mpi run` (schema `drivelab.hosts/1`), and of `hosts` in
//! the runs of `drivelab-mpi study`.

use serde::{Deserialize, Serialize};

use super::{JobRecord, RunRecord, Tally};

/// The schema of what all hosts came to.
pub const HOSTS_SCHEMA: &str = "drivelab.hosts/1";
/// The schema of what one host keeps.
pub const HOST_SCHEMA: &str = "drivelab.host/1";

/// A load from many hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostsRecord {
    /// Always [`HOSTS_SCHEMA`].
    pub schema: String,
    /// How many ranks began.
    pub ranks: u32,
    /// Those whose figures are here, by rank.
    pub hosts: Vec<HostRun>,
    /// Ranks that began and whose figures are missing.
    pub lost: Vec<u32>,
    /// Ranks whose rate is far below that of the others.
    pub stragglers: Vec<u32>,
    /// From the first host's first request to the last host's, on one clock; absent for a single
    /// host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_skew: Option<Skew>,
    /// All of them together: counts and distributions are exact sums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<JobRecord>,
}

/// How far apart hosts began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skew {
    /// Nanoseconds by the measured offsets.
    pub ns: u64,
    /// How much more it may be, as those offsets are only known to half a round trip.
    pub error_ns: u64,
}

/// What one rank did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostRun {
    /// The number of the rank, from 0.
    pub rank: u32,
    /// The name of its host.
    pub host: String,
    /// Its clock, against that of rank 0.
    pub clock: ClockOffset,
    /// When it began.
    pub start: HostStart,
    /// Whether it was interrupted, so that its figures cover the time before.
    pub interrupted: bool,
    /// Its own figures.
    pub run: RunRecord,
}

/// How far a clock is ahead of rank 0's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Nanoseconds ahead; negative where it is behind.
    pub ns: i64,
    /// The offset is within so many nanoseconds: half of the shortest round trip.
    pub error_ns: u64,
}

/// When a rank began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostStart {
    /// How much later than the common start its last job began.
    pub late_ns: u64,
    /// When that was by its own wall clock, in nanoseconds since 1970.
    pub unix_ns: u64,
}

/// What a rank keeps and sends: its run, and the counts from which a total is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostOutcome {
    /// Always [`HOST_SCHEMA`].
    pub schema: String,
    /// How many ranks began.
    pub ranks: u32,
    /// Its run.
    pub host: HostRun,
    /// The counts of all its jobs.
    pub tally: Tally,
}
