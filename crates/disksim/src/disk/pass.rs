//! One track passing under the head.

use drivelab_core::{Span, Time};
use drivelab_model::mechanics::{Angle, Arm};

use super::params::Mechanics;

/// The path of the head to a track, and the requested sectors that then pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    pub(super) arm: Arm,
    /// The first requested sector.
    pub(super) lba: u64,
    /// The address after the last one on this track.
    pub(super) track_end: u64,
    pub(super) track_first: u64,
    /// Arrival of the head on the track.
    pub(super) on_track: Time,
    /// Time at which the first requested sector begins to pass.
    pub(super) begin: Time,
    angle: Angle,
    sector: Angle,
    /// The first address that passes completely after landing.
    landed: u64,
    /// Sectors are taken as they pass, not only in order.
    on_arrival: bool,
}

/// Number of sectors that pass in order, and number of those that have passed before them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    pub(super) in_order: u64,
    pub(super) at_once: u64,
}

/// The manner in which a head reaches a track.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) write: bool,
    /// Minimum time of the seek.
    pub(super) shortest: Span,
    /// Sectors are taken as they pass, not only in order.
    pub(super) on_arrival: bool,
}

impl Mechanics {
    /// The time from one track to another.
    fn reach(&self, from: Arm, to: Arm, write: bool) -> Span {
        if from == to {
            return Span::ZERO;
        }
        let seek = self.seeks.time(from.cylinder.abs_diff(to.cylinder));
        let switch = if from.head == to.head { Span::ZERO } else { self.head_switch };
        let moved = seek.max(switch);
        // The head is selected while the arm moves, so the longer of both counts. The settling of a
        // write is a residual, which may be negative.
        if write && !moved.is_zero() {
            Span::from_ns(moved.ns().saturating_add_signed(self.write_settle))
        } else {
            moved
        }
    }

    /// Sends the head to the track of `lba`.
    pub(super) fn go(&self, now: Time, arm: Arm, lba: u64, way: Way) -> Pass {
        let spot = self.layout.spot(lba);
        debug_assert!(spot.track_first <= lba && lba < spot.track_end, "{lba} is not on its track");
        let on_track = now + self.reach(arm, spot.arm, way.write).max(way.shortest);
        let head = self.spindle.angle_at(on_track);
        let begin = on_track + self.spindle.wait(head, spot.angle);
        // Number of sectors after the first requested one at which the head lands; a sector in the
        // middle of which it lands does not count.
        let past = self.spindle.past(head, spot.angle);
        let behind = head.wrapping_sub(spot.angle).wrapping_sub(past);
        let sectors_behind = behind.div_ceil(spot.sector);
        let track = spot.track_end - spot.track_first;
        let landed = lba + sectors_behind;
        let landed = if landed < spot.track_end {
            landed
        } else {
            // In the gap before the first sector of the track, or on the sectors before `lba`.
            let from_first = sectors_behind.saturating_sub(spot.track_end - lba);
            let circle = self.layout.per_track(lba);
            let gap = circle.saturating_sub(track);
            spot.track_first + from_first.saturating_sub(gap).min(lba - spot.track_first)
        };
        Pass {
            arm: spot.arm,
            lba,
            track_end: spot.track_end,
            track_first: spot.track_first,
            on_track,
            begin,
            angle: spot.angle,
            sector: spot.sector,
            landed,
            on_arrival: way.on_arrival,
        }
    }

    pub(super) fn passing(&self, pass: &Pass, sectors: u64) -> Span {
        self.spindle.time_for(u128::from(sectors) * u128::from(pass.sector))
    }

    /// The end of reading `pass` up to `end`.
    pub(super) fn read_up_to(&self, pass: &Pass, end: u64) -> Time {
        pass.begin + self.passing(pass, pass.in_order(end) - pass.lba)
    }

    /// The address up to which `pass`, requested up to `end`, has been read at `now`.
    pub(super) fn reached(&self, pass: &Pass, end: u64, now: Time) -> u64 {
        if now <= pass.begin {
            return pass.lba;
        }
        let elapsed = now.since(pass.begin);
        let last = pass.in_order(end);
        if elapsed >= self.spindle.period() {
            // `turned_in` wraps after a revolution, by which the whole track has passed.
            return end;
        }
        let passed = pass.lba + self.spindle.turned_in(elapsed) / pass.sector;
        if passed >= last { end } else { passed }
    }

    /// The end of the sector, or the wait for one, that is in progress at `now`.
    pub(super) fn sector_ends(&self, pass: &Pass, now: Time, reads_at_once: bool) -> Time {
        let head = self.spindle.angle_at(now);
        let into = head.wrapping_sub(pass.angle) % pass.sector;
        let boundary = now + self.spindle.time_for(u128::from(pass.sector - into));
        let waits = now < pass.begin && !(pass.on_arrival || reads_at_once);
        if waits { pass.begin } else { boundary }
    }
}

impl Pass {
    /// The end of the part that must pass in order so that everything up to `end` is there: if the
    /// head landed among the requested sectors, the rest has passed before them.
    fn in_order(&self, end: u64) -> u64 {
        if self.on_arrival && self.lba < self.landed && self.landed < end {
            self.landed
        } else {
            end
        }
    }

    pub(super) fn split(&self, end: u64) -> Split {
        let last = self.in_order(end);
        debug_assert!(self.lba <= last && last <= end, "the parts of a split add up");
        Split { in_order: last - self.lba, at_once: end - last }
    }

    /// The first address that the head passes on its way to the first requested sector.
    pub(super) fn passes_from(&self) -> u64 {
        if self.landed <= self.lba { self.landed } else { self.track_first }
    }

    /// Continues from `lba` on the same track at `now`, without a landing.
    pub(super) fn continued(mut self, lba: u64, mechanics: &Mechanics, now: Time) -> Self {
        self.angle = self.angle.wrapping_add((lba - self.lba).wrapping_mul(self.sector));
        // Sectors before `lba` have passed already, so none of them counts as landed on.
        self.lba = lba;
        self.landed = lba;
        self.on_track = now;
        self.begin = now + mechanics.spindle.wait(mechanics.spindle.angle_at(now), self.angle);
        self.on_arrival = false;
        self
    }

    pub(super) fn sector(&self) -> Angle {
        self.sector
    }
}
