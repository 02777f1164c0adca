//! The parts of a disk.

use drivelab_core::{Ratio, Sectors, Span};

use super::mechanics::Mechanics;
use super::queue::Order;

#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) mechanics: Mechanics,
    pub(crate) order: Order,
    pub(crate) uncached_writes: UncachedWrites,
    /// Time from the end of an access to the choice of the next one; zero if the firmware chooses
    /// before it, and so before the host can send another request.
    pub(crate) late: Span,
    pub(crate) overheads: Overheads,
    pub(crate) read_segments: usize,
    pub(crate) segment_size: Sectors,
    /// Length of read-ahead by an idle drive.
    pub(crate) read_ahead: Sectors,
    pub(crate) write_cache: Option<WriteCacheLimits>,
    /// The share of reads that the buffer answers without a modelled cause: the part of a measured
    /// distribution below the shortest access of the medium.
    pub(crate) hit_share: Ratio,
    pub(crate) retries: Retries,
    /// Size of a physical sector: a write of a part of one needs the rest of it first.
    pub(crate) physical_sector: Sectors,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriteCacheLimits {
    pub(crate) size: Sectors,
    pub(crate) runs: usize,
}

/// The firmware's order of writes that bypass the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UncachedWrites {
    /// Like all other accesses.
    ByTheRule,
    /// By arrival, independent of reads.
    InOrder,
}

/// Accesses that do not succeed at once: the long tail of a healthy drive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retries {
    pub(crate) share: Ratio,
    pub(crate) revolutions: u64,
}

/// Command overheads: from the arrival of a command until its seek begins (miss), or until its
/// data moves over the link (hit).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overheads {
    pub(crate) read_miss: Span,
    pub(crate) read_hit: Span,
    pub(crate) write_miss: Span,
    pub(crate) write_hit: Span,
}
