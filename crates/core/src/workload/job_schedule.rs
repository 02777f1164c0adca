//! How the jobs of a run begin, share the target, and end.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Span};

/// Most jobs that run together, copies counted; as many as the engine starts.
pub const JOBS_MAX: u32 = 1024;

/// What is arranged around the requests of each job, under fio's names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobSchedule {
    /// A job begins so long after the first ones (`startdelay`).
    pub start_delay: Span,
    /// The region of each job begins so far behind that of the one before. Where absent, sequential
    /// jobs divide the region among them and random ones share it.
    pub offset_increment: Option<Bytes>,
    /// A flush follows the last request of a job that writes, and its time counts (`end_fsync`).
    pub end_fsync: bool,
    /// What the page cache holds of the target at the start stays there (`invalidate=0`).
    pub keep_cache: bool,
    /// The first job that is done ends those that run with it (`exitall`).
    pub exit_all: bool,
}
