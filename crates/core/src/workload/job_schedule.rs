//! Begin and end of the jobs of a run, and their shares of the target.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Ratio, Span};

/// Maximum number of jobs that run together, including copies; the engine starts no more.
pub const JOBS_MAX: u32 = 1024;

/// Arrangements around the requests of each job, under fio's names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobSchedule {
    /// A job begins this much later than the first ones (`startdelay`).
    pub start_delay: Span,
    /// The region of each job begins this far behind that of the previous one. By default
    /// sequential jobs divide the region among them and random ones share it.
    pub offset_increment: Option<Bytes>,
    /// A flush follows the last request of a writing job, and its time counts (`end_fsync`).
    pub end_fsync: bool,
    /// Data of the target in the page cache at the start stays there (`invalidate=0`).
    pub keep_cache: bool,
    /// The first job to finish ends those that run with it (`exitall`).
    pub exit_all: bool,
    /// Its rate is a share of that of several jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowShare>,
    /// Its depth is the largest at which latencies keep below a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyGoal>,
    /// Jobs that use its file at the same time.
    #[serde(skip_serializing_if = "FileLock::is_none")]
    pub lock: FileLock,
}

/// A job's share of the requests of all jobs of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowShare {
    /// The flow (`flow_id`).
    pub id: u32,
    /// Its requests in proportion to those of the others (`flow`); at least 1.
    pub weight: u32,
    /// A job that is ahead pauses this long before it looks again (`flow_sleep`).
    pub sleep: Span,
}

/// A target for latencies, which the depth of a job follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyGoal {
    /// The longest time for a request (`latency_target`).
    pub target: Span,
    /// The time for which each depth is tried (`latency_window`).
    pub window: Span,
    /// The share of the requests that must keep below it (`latency_percentile`).
    pub share: Ratio,
    /// The search goes on until the job ends (`latency_run`).
    pub endless: bool,
}

/// Jobs that may use a file at the same time, each request of a synchronous engine by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileLock {
    /// All.
    #[default]
    None,
    /// One.
    Exclusive,
    /// All that read, or one that writes.
    ReadWrite,
}

impl FileLock {
    /// True if nothing is locked.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl fmt::Display for FileLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Exclusive => "exclusive",
            Self::ReadWrite => "readwrite",
        })
    }
}
