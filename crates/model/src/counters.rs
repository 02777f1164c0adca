//! Counters of a drive's work.

use drivelab_core::{Op, Span};

/// A drive's work since it was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Read commands that reached the drive.
    pub reads: u64,
    /// Write commands that reached the drive.
    pub writes: u64,
    /// Flush commands that reached the drive.
    pub flushes: u64,
    /// Trim commands that reached the drive.
    pub trims: u64,
    /// Time of the medium in positioning and transfer, without read-ahead.
    pub medium_busy: Span,
    /// Reads answered from the buffer or the write cache.
    pub cache_hits: u64,
    /// Writes acknowledged out of the volatile cache.
    pub cached_writes: u64,
    /// Runs of cached data written to the medium.
    pub destaged_runs: u64,
    /// Writes of parts of physical sectors, or of units of the map, that the drive read first.
    pub partial_writes: u64,
    /// Bands of shingled tracks that were written again with what the media cache had of them.
    pub bands_cleaned: u64,
    /// Bytes written to the flash: host data, data moved by garbage collection, and space left
    /// empty to complete pages.
    pub flash_written: [u64; 3],
    /// Maximum commands on the wire.
    pub max_tags_in_use: usize,
    /// Maximum requests in the elevator and on the wire together.
    pub max_requests_held: usize,
}

impl Counters {
    /// Commands of any kind that reached the drive.
    pub fn commands(&self) -> u64 {
        self.reads + self.writes + self.flushes + self.trims
    }

    /// Counts a command of kind `op`.
    #[inline]
    pub fn count(&mut self, op: Op) {
        *match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            Op::Flush => &mut self.flushes,
            Op::Trim => &mut self.trims,
        } += 1;
    }

    /// Sums the work of two drives; maxima do not add up, since they need not coincide in time.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            flushes: self.flushes + other.flushes,
            trims: self.trims + other.trims,
            medium_busy: self.medium_busy + other.medium_busy,
            cache_hits: self.cache_hits + other.cache_hits,
            cached_writes: self.cached_writes + other.cached_writes,
            destaged_runs: self.destaged_runs + other.destaged_runs,
            partial_writes: self.partial_writes + other.partial_writes,
            bands_cleaned: self.bands_cleaned + other.bands_cleaned,
            flash_written: [0, 1, 2]
                .map(|kind| self.flash_written[kind] + other.flash_written[kind]),
            max_tags_in_use: self.max_tags_in_use.max(other.max_tags_in_use),
            max_requests_held: self.max_requests_held.max(other.max_requests_held),
        }
    }
}
