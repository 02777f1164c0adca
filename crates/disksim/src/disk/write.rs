//! The course of a write.

use drivelab_core::{ServedBy, Span, Time};
use drivelab_model::mechanics::Arm;

use super::Disk;
use super::background::{Background, Destage};
use super::params::{ExtraDisconnect, later, until};
use super::pass::{Pass, Split, Way};

#[derive(Debug, Clone, Copy)]
struct Inflow {
    first: u64,
    count: u64,
    /// Beginning of its transfer over the bus.
    begins: Time,
    sector: Span,
    /// The first sector goes to the medium only once this many are buffered.
    head_start: u64,
}

/// Drives with an extra disconnect let the bus get ahead of the medium: a write begins once ten of
/// its sectors are buffered, or fifteen if it has 45 or more.
// The measured HP 97556 and C2247A do so (`DiskSim` 4.0 has the same constants).
const HEAD_START: u64 = 10;
const LONG_WRITE: u64 = 45;
const LONG_HEAD_START: u64 = 15;

impl Inflow {
    fn ends(&self) -> Time {
        self.begins + self.sector * self.count
    }

    /// Time from which the sector at `lba` may be written.
    fn there(&self, lba: u64) -> Time {
        debug_assert!(
            self.first <= lba && lba < self.first + self.count,
            "{lba} is not part of it"
        );
        let buffered = (lba - self.first + 1).max(self.head_start);
        self.begins + self.sector * buffered
    }
}

impl Disk {
    pub(super) fn write(
        &mut self,
        now: Time,
        lba: u64,
        count: u64,
        immediate: bool,
    ) -> (Time, ServedBy) {
        let overheads = &self.params.overheads;
        let overhead = if immediate { overheads.write_hit } else { overheads.write_miss };
        let understood = later(now, self.by_previous(overhead));
        let preparation = overheads.data_preparation;
        if let Background::Destaging(destage) = self.background {
            let size = self.params.buffer.segment_size;
            let joins = immediate
                && self.params.writes.joins_sequential
                && self.segments.last().end == lba
                && lba + count - destage.first <= size;
            if joins {
                let inflow = self.new_inflow(lba, count, later(understood, preparation));
                return self.join(destage, understood, inflow);
            }
            let disconnected =
                if immediate { later(understood, overheads.write_disconnect) } else { understood };
            let reconnected = disconnected.max(destage.until);
            let ready = later(later(reconnected, overheads.first_reselect), preparation);
            self.settle(destage.until);
            let start = destage.until + until(destage.until, understood);
            let inflow = self.new_inflow(lba, count, ready);
            self.take_segment(lba, count);
            return self.put(start, inflow, immediate, None);
        }
        let index = self.segments.for_write(lba, lba + count, self.reads_ahead());
        let extra = self.extra_disconnect(index, lba);
        let free = self.stop_reading(now);
        let reselect = self.params.overheads.first_reselect;
        let (understood, ready) = match extra {
            Some(extra) => {
                let disconnected = later(later(now, extra.command), extra.disconnect);
                let again = later(later(disconnected, extra.pause), reselect);
                (later(later(now, extra.command), extra.seek), again)
            }
            None => (understood, understood),
        };
        let start = now + until(now, understood) + until(now, free);
        let inflow = self.new_inflow(lba, count, later(ready, preparation));
        self.take_segment(lba, count);
        self.put(start, inflow, immediate, extra)
    }

    fn reads_ahead(&self) -> bool {
        matches!(self.background, Background::Reading(_))
    }

    /// Returns the extra disconnect for a write to `lba` in the segment at `index`, which some
    /// drives make directly after a write to another address.
    fn extra_disconnect(&self, index: usize, lba: u64) -> Option<ExtraDisconnect> {
        let extra = self.params.overheads.extra_disconnect?;
        let segment = self.segments.get(index);
        let follows = self.segments.is_last(index) && segment.written;
        let elsewhere = lba != segment.end;
        (follows && elsewhere && !self.params.bus.never_disconnects).then_some(extra)
    }

    fn new_inflow(&self, first: u64, count: u64, begins: Time) -> Inflow {
        let head_start = match self.params.overheads.extra_disconnect {
            None => 1,
            Some(_) if count < LONG_WRITE => HEAD_START.min(count),
            Some(_) => LONG_HEAD_START,
        };
        Inflow { first, count, begins, sector: self.params.bus.write_sector, head_start }
    }

    /// Assigns the write its segment; the others drop the data that it overwrites.
    fn take_segment(&mut self, lba: u64, count: u64) {
        let index = self.segments.for_write(lba, lba + count, false);
        let segment = self.segments.use_now(index);
        (segment.in_use, segment.written) = (true, true);
        (segment.start, segment.end, segment.limit) = (lba, lba, 0);
        self.segments.extend_last(lba + count);
        self.segments.forget_others(lba, lba + count);
    }

    /// Writes the arriving data; the arm starts at `start`.
    fn put(
        &mut self,
        start: Time,
        inflow: Inflow,
        immediate: bool,
        extra: Option<ExtraDisconnect>,
    ) -> (Time, ServedBy) {
        let shortest = self.params.mechanics.shortest_write_seek;
        let (written, arm) = self.onto_medium(start, shortest, inflow);
        self.counters.medium_busy += until(start, written);
        let overheads = &self.params.overheads;
        if immediate {
            self.counters.cached_writes += 1;
            self.counters.destaged_runs += 1;
            self.background =
                Background::Destaging(Destage { first: inflow.first, until: written, arm });
            let done = later(inflow.ends(), overheads.write_completion);
            return (done, ServedBy::DriveWriteCache);
        }
        let (disconnect, reselect) = match extra {
            Some(extra) => (extra.second_disconnect, overheads.other_reselect),
            None => (overheads.write_disconnect, overheads.first_reselect),
        };
        let disconnected = later(inflow.ends(), disconnect);
        let reconnected = later(disconnected.max(written), reselect);
        let done = later(reconnected, overheads.write_completion);
        self.arm = arm;
        self.background = Background::Idle;
        self.written_out();
        (done, ServedBy::Medium)
    }

    /// Joins a write to the preceding data, which is on its way to the medium.
    fn join(&mut self, destage: Destage, understood: Time, inflow: Inflow) -> (Time, ServedBy) {
        self.counters.cached_writes += 1;
        self.segments.extend_last(inflow.first + inflow.count);
        self.segments.forget_others(inflow.first, inflow.first + inflow.count);
        self.arm = destage.arm;
        let start = destage.until + until(destage.until, understood);
        let (written, arm) = self.onto_medium(start, Span::ZERO, inflow);
        self.background = Background::Destaging(Destage { until: written, arm, ..destage });
        let done = later(inflow.ends(), self.params.overheads.write_completion);
        (done, ServedBy::DriveWriteCache)
    }

    /// The time at which all of `inflow` is on the medium, and the position of the arm then.
    fn onto_medium(&self, mut start: Time, mut shortest: Span, inflow: Inflow) -> (Time, Arm) {
        let end = inflow.first + inflow.count;
        let (mut lba, mut arm) = (inflow.first, self.arm);
        while lba < end {
            let way = Way { write: true, shortest, on_arrival: self.params.writes.on_arrival };
            let pass = self.params.mechanics.go(start, arm, lba, way);
            debug_assert!(pass.track_end > lba, "an empty track makes no progress");
            let on_track = end.min(pass.track_end);
            start = self.written_on_track(&pass, on_track, inflow);
            (arm, shortest, lba) = (pass.arm, Span::ZERO, on_track);
        }
        (start, arm)
    }

    /// The end of writing the sectors of `pass` up to `end`.
    fn written_on_track(&self, pass: &Pass, end: u64, inflow: Inflow) -> Time {
        let mechanics = &self.params.mechanics;
        let period = mechanics.spindle.period();
        let Split { in_order, at_once } = pass.split(end);
        if at_once > 0 {
            // The head landed among the sectors: the later ones pass first.
            let lba = pass.lba + in_order;
            let begins = pass.begin + mechanics.passing(pass, in_order) - period;
            let last = begins + mechanics.passing(pass, at_once - 1);
            if inflow.there(lba) <= begins && inflow.there(end - 1) <= last {
                return mechanics.read_up_to(pass, end);
            }
        }
        let sector = mechanics.passing(pass, 1);
        let (mut lba, mut now) = (pass.lba, pass.begin);
        loop {
            let there = inflow.there(lba);
            if there > now {
                // A sector that arrives late has to come round again: whole revolutions.
                let turns = there.since(now).ns().div_ceil(period.ns());
                now += period * turns;
            }
            let count = keeps_up(inflow, lba, end, now, sector);
            now += mechanics.passing(pass, count);
            lba += count;
            if lba == end {
                return now;
            }
            // The next sector was late; the next turn of the loop waits for it.
        }
    }
}

/// Number of sectors from `lba` on, the first of which passes at `now`, that arrive in time.
fn keeps_up(inflow: Inflow, lba: u64, end: u64, now: Time, sector: Span) -> u64 {
    let left = end - lba;
    if inflow.sector <= sector || inflow.there(end - 1) <= now {
        return left;
    }
    let arrived = inflow.begins + inflow.sector * (lba - inflow.first + 1);
    // The lead over the medium shrinks by the difference of both paces with every sector.
    let lead = now.since(arrived).ns();
    (lead / (inflow.sector.ns() - sector.ns()) + 1).min(left)
}
