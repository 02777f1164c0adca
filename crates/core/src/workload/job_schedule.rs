//! Begin and end of the jobs of a run, and their shares of the target.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Span};

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
}
