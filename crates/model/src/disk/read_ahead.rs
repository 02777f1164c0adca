//! Read-ahead: an idle drive continues to read after a read.

use std::ops::Range;

use drivelab_core::{Lba, Sectors, Time};

use super::geometry::Arm;
use super::mechanics::{Mechanics, Stream, TransferEnd};
use super::read_cache::ReadCache;

/// The head follows the sectors after the last read up to the limit, then stands by.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadAhead {
    /// The head's path, advanced from track to track so that each step is short.
    stream: Stream,
    /// First buffered sector of the stream.
    buffered: Lba,
    reached: Lba,
    limit: Lba,
}

impl ReadAhead {
    /// Continues a read that `ended`, of which the buffer holds `read`; `None` at the end of the
    /// disk.
    pub(super) fn after(
        mechanics: &Mechanics,
        ended: TransferEnd,
        read: Range<Lba>,
        size: Sectors,
    ) -> Option<Self> {
        let limit = mechanics.geometry.end().min(read.end + size);
        if limit <= read.end {
            return None;
        }
        // The transfer may have ended on a track boundary, where the head has to switch.
        let stream = match ended.next {
            Some(location) => Stream { lba: read.end, location, at: ended.at },
            None => mechanics.stream_from(ended.at, ended.arm, read.end),
        };
        Some(Self { stream, buffered: read.start, reached: read.end, limit })
    }

    /// Advances it to `now`, fills the buffer, and returns the position of the arm.
    pub(super) fn advance(
        &mut self,
        mechanics: &Mechanics,
        now: Time,
        buffer: &mut ReadCache,
    ) -> Arm {
        let reached = mechanics.reached(self.stream, self.limit, now);
        debug_assert!(reached.lba <= self.limit, "read-ahead passed its limit");
        self.stream = reached.stream;
        if reached.lba > self.reached {
            self.buffered = buffer.fill(self.reached, reached.lba);
            self.reached = reached.lba;
        }
        reached.stream.location.arm
    }

    /// The buffered range of the stream; `None` if the head stands by.
    pub(super) fn streaming(&self) -> Option<(Lba, Lba)> {
        (self.reached < self.limit).then_some((self.buffered, self.reached))
    }

    /// Moves the limit to `size` beyond `end`, up to which the host has consumed the stream.
    ///
    /// The caller has advanced it to `now`.
    pub(super) fn extend(
        &mut self,
        mechanics: &Mechanics,
        arm: Arm,
        now: Time,
        end: Lba,
        size: Sectors,
    ) {
        let limit = mechanics.geometry.end().min(end + size);
        // A jump of the host beyond the buffered sectors is another stream.
        if end < self.buffered || self.limit < end || limit <= self.limit {
            return;
        }
        if self.reached >= self.limit {
            // The head stood by on its track: it waits until the next sector comes round again.
            self.stream = mechanics.stream_from(now, arm, self.limit);
        }
        self.limit = limit;
    }

    /// The sectors that have not passed yet, up to the limit.
    pub(super) fn range(&self) -> (Lba, Lba) {
        (self.reached, self.limit)
    }

    /// Returns true if any buffered or coming sector is between `start` and `end`.
    pub(super) fn overlaps(&self, start: Lba, end: Lba) -> bool {
        start < self.limit && self.buffered < end
    }

    pub(super) fn finish(&self, mechanics: &Mechanics, end: Lba) -> TransferEnd {
        mechanics.transfer(self.stream, end - self.stream.lba)
    }
}
