//! The parts that every way of doing I/O on a file needs: clock, buffers, contents.

pub(crate) mod buffers;
pub(crate) mod clock;
pub(crate) mod contents;
mod lock;
mod null;
pub(crate) mod pattern;
pub(crate) mod psync;

pub use clock::Clock;
pub(crate) use lock::FileLocks;
pub use lock::JobLock;
pub use null::Null;
pub use psync::{Calls, Psync};

use std::fs::File;
use std::sync::Arc;

use drivelab_core::request::IoError;
use drivelab_core::units::{Bytes, Lba};
use drivelab_core::{Polling, Request};

use crate::verify::JobAccount;

/// The parts of a target for one job on an open file.
#[derive(Debug, Clone)]
pub struct TargetSetup {
    /// The file, opened as the job needs it.
    pub file: Arc<File>,
    /// Bytes that may be addressed.
    pub capacity: Bytes,
    /// The job's clock.
    pub clock: Clock,
    /// Polling for requests and completions, on a ring.
    pub polling: Polling,
    /// Maximum number of requests outstanding.
    pub iodepth: u32,
    /// Number of completions that a wait is for, on a ring.
    pub complete_min: u32,
    /// The largest request.
    pub largest: Bytes,
    /// Alignment of buffers in memory; a power of two.
    pub memory_align: usize,
    /// It reads.
    pub reads: bool,
    /// It writes.
    pub writes: bool,
    /// The way in which blocks are trimmed.
    pub trim: Trim,
    /// A flush does not include the file's metadata (`fdatasync`).
    pub flush_data_only: bool,
    /// Seed of what it writes.
    pub seed: u64,
    /// The account of a verified run.
    pub account: Option<JobAccount>,
    /// A lock around each request, of an engine that waits for it.
    pub lock: Option<JobLock>,
}

/// The effect on trimmed blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    /// A file gets a hole.
    Punch,
    /// The block device is informed that their data is no longer needed (TRIM, UNMAP, Deallocate).
    Discard,
}

/// Refuses requests that can never succeed, before any system call.
pub(crate) fn check_range(request: &Request, capacity: Bytes) -> Result<(), IoError> {
    if request.end() > Lba::at_byte(capacity) { Err(IoError::OutOfRange) } else { Ok(()) }
}

#[inline]
pub(crate) fn to_move(request: &Request) -> Bytes {
    if request.op.transfers() { request.sectors.bytes() } else { Bytes::ZERO }
}

/// The result of a request that moved `moved` of the bytes that it was [`to_move`].
#[inline]
pub(crate) fn check_moved(to_move: Bytes, moved: u64) -> Result<(), IoError> {
    if moved == to_move.get() { Ok(()) } else { Err(IoError::Short(moved)) }
}
