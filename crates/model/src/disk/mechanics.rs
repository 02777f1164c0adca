//! Moving the arm and passing sectors under the head.

use drivelab_core::{Lba, Sectors, Span, Time};

use super::geometry::{Geometry, Place};
use super::seek::SeekTable;
use super::spindle::{Angle, Spindle};

/// Where the heads are: one arm, one head in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Arm {
    pub(crate) cylinder: u32,
    pub(crate) head: u32,
}

/// Where an access begins, worked out once when its command arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) arm: Arm,
    pub(crate) angle: Angle,
}

impl From<Place> for Target {
    fn from(place: Place) -> Self {
        Self { arm: Arm { cylinder: place.cylinder, head: place.head }, angle: place.angle }
    }
}

/// A head that follows the sectors from `lba` on; it was at the beginning of `lba` at `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) lba: Lba,
    pub(crate) at: Time,
}

/// How far a [`Stream`] has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reached {
    /// The first sector that has not passed the head completely.
    pub(crate) lba: Lba,
    pub(crate) arm: Arm,
    /// The same stream from the track it is on now.
    pub(crate) stream: Stream,
}

/// The end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) at: Time,
    pub(crate) arm: Arm,
}

/// Arm, heads and platter together.
#[derive(Debug, Clone)]
pub(crate) struct Mechanics {
    pub(crate) spindle: Spindle,
    pub(crate) geometry: Geometry,
    pub(crate) seeks: SeekTable,
    /// From one head to another of the same cylinder.
    pub(crate) head_switch: Span,
    /// What a write waits longer than a read after the arm or the head has changed.
    pub(crate) write_settle: Span,
}

impl Mechanics {
    /// The time until the head may use the track of `to`.
    #[inline]
    pub(crate) fn reach(&self, from: Arm, to: Arm, write: bool) -> Span {
        if from == to {
            return Span::ZERO;
        }
        let seek = self.seeks.time(from.cylinder.abs_diff(to.cylinder));
        // The head is selected while the arm moves.
        let switch = if from.head == to.head { Span::ZERO } else { self.head_switch };
        let settle = if write { self.write_settle } else { Span::ZERO };
        seek.max(switch) + settle
    }

    /// When the head can begin the access at `target`, leaving from `arm` at `now`.
    pub(crate) fn arrive(&self, now: Time, arm: Arm, target: Target, write: bool) -> Time {
        let on_track = now + self.reach(arm, target.arm, write);
        on_track + self.spindle.wait(self.spindle.angle_at(on_track), target.angle)
    }

    /// Follows `stream` over `sectors` sectors.
    ///
    /// The skews of the layout leave room for the switch to the next track, for writes as for
    /// reads: the extra settling of a write is a matter of arriving from elsewhere.
    pub(crate) fn transfer(&self, stream: Stream, sectors: Sectors) -> Ended {
        let mut place = self.geometry.place(stream.lba);
        let (mut at, mut lba, mut left) = (stream.at, stream.lba, sectors.get());
        loop {
            let arm = Target::from(place).arm;
            let piece = left.min(place.left_on_track);
            at += self.pass(at, place, piece);
            left -= piece;
            if left == 0 {
                return Ended { at, arm };
            }
            lba = lba + Sectors::new(piece);
            place = self.geometry.place(lba);
            at = self.arrive(at, arm, place.into(), false);
        }
    }

    /// The time for `sectors` sectors of one track to pass the head, which is at `place` at `at`.
    #[inline]
    fn pass(&self, at: Time, place: Place, sectors: u64) -> Span {
        let past = self.spindle.past(self.spindle.angle_at(at), place.angle);
        let whole = u128::from(sectors) * u128::from(place.sector);
        self.spindle.time_for(whole.saturating_sub(u128::from(past)))
    }

    /// How far `stream` has come at `now`, without passing `limit`.
    pub(crate) fn reached(&self, stream: Stream, limit: Lba, now: Time) -> Reached {
        let mut place = self.geometry.place(stream.lba);
        let (mut at, mut lba) = (stream.at, stream.lba);
        loop {
            let arm = Target::from(place).arm;
            let passed = if now <= at {
                0
            } else {
                // Below a revolution, or the whole rest of the track.
                let elapsed = now.since(at);
                if elapsed >= self.spindle.period() {
                    place.left_on_track
                } else {
                    self.spindle.turned_in(elapsed) / place.sector
                }
            };
            if passed < place.left_on_track || lba + Sectors::new(place.left_on_track) >= limit {
                let stream = Stream { lba, at };
                return Reached { lba: limit.min(lba + Sectors::new(passed)), arm, stream };
            }
            at += self.pass(at, place, place.left_on_track);
            lba = lba + Sectors::new(place.left_on_track);
            place = self.geometry.place(lba);
            at = self.arrive(at, arm, place.into(), false);
        }
    }
}
