//! Moving the arm and passing sectors under the head.

use drivelab_core::{Lba, Sectors, Span, Time};

use super::geometry::{Arm, Geometry, Location};
use super::seek::SeekTable;
use crate::spindle::Spindle;

/// A head that follows the sectors from `lba`; it was at the beginning of `lba` at `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) lba: Lba,
    pub(crate) location: Location,
    pub(crate) at: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    /// The first sector that has not completely passed the head.
    pub(crate) lba: Lba,
    /// The same stream from its current track.
    pub(crate) stream: Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransferEnd {
    pub(crate) at: Time,
    pub(crate) arm: Arm,
    /// Location of the next sector, if it is on the same track.
    pub(crate) next: Option<Location>,
}

#[derive(Debug, Clone)]
pub(crate) struct Mechanics {
    pub(crate) spindle: Spindle,
    pub(crate) geometry: Geometry,
    pub(crate) seeks: SeekTable,
    /// To the next cylinder within a stream: the target track needs no search, so the head settles
    /// sooner than after a seek.
    pub(crate) track_step: Span,
    /// From one head to another of the same cylinder.
    pub(crate) head_switch: Span,
    /// Additional settling of a write after a change of arm or head.
    pub(crate) write_settle: Span,
}

impl Mechanics {
    /// Returns the time until the head may use the track of `to`.
    #[inline]
    pub(crate) fn reach(&self, from: Arm, to: Arm, write: bool) -> Span {
        let distance = from.cylinder.abs_diff(to.cylinder);
        let same_head = from.head == to.head;
        if distance == 0 && same_head {
            return Span::ZERO;
        }
        let seek = self.seeks.time(distance);
        // The head is selected while the arm moves.
        let switch = if same_head { Span::ZERO } else { self.head_switch };
        let settle = if write { self.write_settle } else { Span::ZERO };
        seek.max(switch) + settle
    }

    /// Like [`Mechanics::reach`] for sectors that follow those that the head has just passed.
    fn reach_next(&self, from: Arm, to: Arm, write: bool) -> Span {
        // Only the step to an adjacent cylinder saves the search for the track.
        if from.cylinder.abs_diff(to.cylinder) != 1 {
            return self.reach(from, to, write);
        }
        let switch = if from.head == to.head { Span::ZERO } else { self.head_switch };
        let settle = if write { self.write_settle } else { Span::ZERO };
        self.track_step.max(switch) + settle
    }

    #[inline]
    pub(crate) fn arrive(&self, now: Time, arm: Arm, location: Location, write: bool) -> Time {
        self.arrive_after(now, self.reach(arm, location.arm, write), location)
    }

    /// Like [`Mechanics::arrive`] for sectors that follow those that the head has just passed.
    pub(crate) fn arrive_next(&self, now: Time, arm: Arm, location: Location, write: bool) -> Time {
        self.arrive_after(now, self.reach_next(arm, location.arm, write), location)
    }

    #[inline]
    fn arrive_after(&self, now: Time, reach: Span, location: Location) -> Time {
        let on_track = now + reach;
        on_track + self.spindle.wait(self.spindle.angle_at(on_track), location.angle)
    }

    /// The stream that continues at `lba` on the track after that of `arm`.
    pub(crate) fn stream_from(&self, now: Time, arm: Arm, lba: Lba) -> Stream {
        let location = self.geometry.locate(lba);
        Stream { lba, location, at: self.arrive_next(now, arm, location, false) }
    }

    /// Follows `stream` over `sectors` sectors.
    ///
    /// The skews of the layout leave room for the switch to the next track, for writes as for
    /// reads: the extra settling of a write is a matter of arriving from elsewhere.
    pub(crate) fn transfer(&self, mut stream: Stream, sectors: Sectors) -> TransferEnd {
        let mut left = sectors.get();
        loop {
            let arm = stream.location.arm;
            let piece = left.min(stream.location.left_on_track);
            debug_assert!(piece > 0, "an empty piece makes no progress");
            let at = stream.at + self.pass(stream, piece);
            left -= piece;
            if left == 0 {
                return TransferEnd { at, arm, next: stream.location.after(piece) };
            }
            // Skews leave room for this switch, so in an unbroken stream no rotation is lost.
            stream = self.stream_from(at, arm, stream.lba + Sectors::new(piece));
        }
    }

    /// Returns the time for `sectors` sectors of one track to pass the head of `stream`.
    #[inline]
    fn pass(&self, stream: Stream, sectors: u64) -> Span {
        let past = self.spindle.past(self.spindle.angle_at(stream.at), stream.location.angle);
        // Without this correction, the rounding of every piece would add up over a long stream.
        let whole = u128::from(sectors) * u128::from(stream.location.sector);
        self.spindle.time_for(whole.saturating_sub(u128::from(past)))
    }

    /// Follows `stream` until `now`, or until `limit`.
    pub(crate) fn reached(&self, mut stream: Stream, limit: Lba, now: Time) -> StreamPosition {
        loop {
            let on_track = stream.location.left_on_track;
            let elapsed = now.since(stream.at);
            // `turned_in` wraps after a revolution; by then the rest of the track has passed.
            let passed = if elapsed >= self.spindle.period() {
                on_track
            } else {
                self.spindle.turned_in(elapsed) / stream.location.sector
            };
            debug_assert!(on_track > 0, "a stream stands on a sector of its track");
            if passed < on_track || stream.lba + Sectors::new(on_track) >= limit {
                let lba = limit.min(stream.lba + Sectors::new(passed.min(on_track)));
                return StreamPosition { lba, stream };
            }
            let at = stream.at + self.pass(stream, on_track);
            let next = stream.lba + Sectors::new(on_track);
            stream = self.stream_from(at, stream.location.arm, next);
        }
    }
}
