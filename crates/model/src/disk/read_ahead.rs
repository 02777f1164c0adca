//! Reading on after a read, while nothing else is to be done.

use std::ops::Range;

use drivelab_core::{Lba, Sectors, Time};

use super::geometry::Arm;
use super::mechanics::{Mechanics, Stream, TransferEnd};
use super::read_cache::ReadCache;

/// The head follows the sectors after the last read until the limit, then stands by.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadAhead {
    /// The head's way; moved on from track to track, so that it never starts long ago.
    stream: Stream,
    /// Where the buffered sectors of the stream begin.
    buffered: Lba,
    reached: Lba,
    limit: Lba,
}

impl ReadAhead {
    /// Goes on after a read that `ended`; `read` is what the buffer holds of it. `None` where there
    /// is nothing to read on for.
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
        let stream = match ended.next {
            Some(place) => Stream { lba: read.end, place, at: ended.at },
            None => mechanics.stream_from(ended.at, ended.arm, read.end),
        };
        Some(Self { stream, buffered: read.start, reached: read.end, limit })
    }

    /// Moves it to `now`, fills the buffer on the way, and says where the arm is.
    pub(super) fn advance(
        &mut self,
        mechanics: &Mechanics,
        now: Time,
        buffer: &mut ReadCache,
    ) -> Arm {
        let reached = mechanics.reached(self.stream, self.limit, now);
        self.stream = reached.stream;
        if reached.lba > self.reached {
            self.buffered = buffer.fill(self.reached, reached.lba);
            self.reached = reached.lba;
        }
        reached.stream.place.arm
    }

    /// From where to where the buffer holds the stream, if the head is still following it.
    pub(super) fn streaming(&self) -> Option<(Lba, Lba)> {
        (self.reached < self.limit).then_some((self.buffered, self.reached))
    }

    /// The host has taken the stream up to `end`: as much more may be read beyond.
    ///
    /// The caller has moved it to `now`.
    pub(super) fn extend(
        &mut self,
        mechanics: &Mechanics,
        arm: Arm,
        now: Time,
        end: Lba,
        size: Sectors,
    ) {
        let limit = mechanics.geometry.end().min(end + size);
        if end < self.buffered || self.limit < end || limit <= self.limit {
            return;
        }
        if self.reached >= self.limit {
            // The head has stood by: it waits until the next sector comes round again.
            self.stream = mechanics.stream_from(now, arm, self.limit);
        }
        self.limit = limit;
    }

    /// From the sector after those that have passed to the last one that may.
    pub(super) fn range(&self) -> (Lba, Lba) {
        (self.reached, self.limit)
    }

    /// Whether any of the sectors it holds or is about to read lie between `start` and `end`.
    pub(super) fn overlaps(&self, start: Lba, end: Lba) -> bool {
        start < self.limit && self.buffered < end
    }

    pub(super) fn finish(&self, mechanics: &Mechanics, end: Lba) -> TransferEnd {
        mechanics.transfer(self.stream, end - self.stream.lba)
    }
}
