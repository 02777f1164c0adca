//! One load from many hosts at the same time.
//!
//! These types *are* the JSON of `drivelab-mpi run` (schema `drivelab.hosts/1`), and of `hosts` in
//! the runs of `drivelab-mpi study`.

use serde::{Deserialize, Serialize};

use super::{JobRecord, RunRecord, Tally};

/// The schema of the joint result of all hosts.
pub const HOSTS_SCHEMA: &str = "drivelab.hosts/1";
/// The schema of the result of one host.
pub const HOST_SCHEMA: &str = "drivelab.host/1";

/// A load from many hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostsRecord {
    /// Always [`HOSTS_SCHEMA`].
    pub schema: String,
    /// Number of ranks that began.
    pub ranks: u32,
    /// The hosts whose figures arrived, by rank.
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

/// Spread of the start times of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skew {
    /// Nanoseconds by the measured offsets.
    pub ns: u64,
    /// Bound on the error, as those offsets are only known to half a round trip.
    pub error_ns: u64,
}

/// The run of one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostRun {
    /// The number of the rank, from 0.
    pub rank: u32,
    /// The name of its host.
    pub host: String,
    /// Its clock, against that of rank 0.
    pub clock: ClockOffset,
    /// Its start.
    pub start: HostStart,
    /// True if it was interrupted, so that its figures cover the time before.
    pub interrupted: bool,
    /// Its own figures.
    pub run: RunRecord,
}

/// Offset of a clock from that of rank 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Nanoseconds ahead; negative where it is behind.
    pub ns: i64,
    /// Bound on the error: half of the shortest round trip.
    pub error_ns: u64,
}

/// Start of a rank's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostStart {
    /// Delay of its last job after the common start.
    pub late_ns: u64,
    /// Start by its own wall clock, in nanoseconds since 1970.
    pub unix_ns: u64,
}

/// The result that a rank keeps and sends: its run, and the counts from which a total is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostOutcome {
    /// Always [`HOST_SCHEMA`].
    pub schema: String,
    /// Number of ranks that began.
    pub ranks: u32,
    /// Its run.
    pub host: HostRun,
    /// The counts of all its jobs.
    pub tally: Tally,
}
