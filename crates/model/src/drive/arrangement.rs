//! Several drives put together, for reports.

use drivelab_core::Span;

use super::{Counters, Drive};
use crate::raid::Level;
use crate::shelf::Shelf;

/// How several drives are put together.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Arrangement {
    /// Drives.
    pub drives: usize,
    /// How the array keeps its data; `None` where one drive follows another.
    pub raid: Option<Level>,
    /// Data of one stripe on one drive; `None` without stripes.
    pub chunk_bytes: Option<u64>,
    /// The drive that has failed.
    pub failed: Option<usize>,
    /// The name of the bus that all share; `None` where each has its own way.
    pub bus: Option<String>,
    /// What the bus carries to and from the host, in bytes of data per second.
    pub bus_bytes_per_s: Option<[u64; 2]>,
    /// Whether both directions share the bus.
    pub bus_shared: bool,
    /// Commands that the controller takes at once; `None` where there is no such limit.
    pub host_queue: Option<usize>,
    /// The longest piece into which requests are cut.
    pub piece_bytes: u64,
}

/// What all drives of a shelf have done, together.
pub(super) fn counters(shelf: &Shelf<Drive>) -> Counters {
    let mut all = Counters::default();
    for counters in shelf.members().map(Drive::counters) {
        all.commands += counters.commands;
        all.medium_busy = Span::from_ns(all.medium_busy.ns() + counters.medium_busy.ns());
        all.cache_hits += counters.cache_hits;
        all.cached_writes += counters.cached_writes;
        all.destaged_runs += counters.destaged_runs;
        all.max_tags_in_use = all.max_tags_in_use.max(counters.max_tags_in_use);
        all.max_requests_held = all.max_requests_held.max(counters.max_requests_held);
    }
    all
}
