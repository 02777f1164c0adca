//! The activity of the medium while no command needs it: reading ahead, and writing buffered data.

use drivelab_core::{Span, Time};
use drivelab_model::mechanics::Arm;

use super::Disk;
use super::background::Background;
use super::params::{ReadOn, Stop};
use super::pass::{Pass, Way};
use super::segments::Activity;

impl Disk {
    pub(super) fn activity(&self) -> Activity {
        match self.background {
            Background::Idle => Activity::None,
            Background::Reading(_) => Activity::Reading,
            Background::Destaging(_) => Activity::Writing,
        }
    }

    /// Computes what has happened up to `now`.
    pub(super) fn settle(&mut self, now: Time) {
        // Lazily: read-ahead and destaging need no events, since nothing depends on them until the
        // next command.
        match self.background {
            Background::Idle => {}
            Background::Reading(pass) => self.read_ahead(pass, now),
            Background::Destaging(destage) => {
                if destage.until <= now {
                    self.arm = destage.arm;
                    self.background = Background::Idle;
                    self.written_out();
                }
            }
        }
    }

    /// Handles the end of destaging the most recently used segment.
    pub(super) fn written_out(&mut self) {
        let buffer = &self.params.buffer;
        if !(buffer.caches && buffer.hits_on_written) {
            self.segments.last().in_use = false;
        }
    }

    /// Follows the read-ahead that was on `pass` up to `now`.
    fn read_ahead(&mut self, mut pass: Pass, now: Time) {
        let limit = self.segments.last().limit;
        loop {
            let end = limit.min(pass.track_end);
            let done = self.params.mechanics.read_up_to(&pass, end);
            if now < done {
                let reached = self.params.mechanics.reached(&pass, end, now);
                self.segments.extend_last(reached);
                self.background = Background::Reading(pass);
                return;
            }
            self.segments.extend_last(end);
            let Some(next) = self.next_track(&pass, done, end, limit) else {
                self.arm = pass.arm;
                self.background = Background::Idle;
                return;
            };
            pass = next;
        }
    }

    /// The pass with which read-ahead continues from `end` after `pass` has finished, if it does.
    pub(super) fn read_on(&mut self, pass: &Pass, done: Time, end: u64) {
        let limit = self.segments.last().limit;
        let next = if end < limit && end < pass.track_end {
            Some(pass.continued(end, &self.params.mechanics, done))
        } else {
            self.next_track(pass, done, end, limit)
        };
        self.arm = pass.arm;
        self.background = next.map_or(Background::Idle, Background::Reading);
    }

    fn next_track(&self, pass: &Pass, done: Time, end: u64, limit: u64) -> Option<Pass> {
        if end >= limit {
            return None;
        }
        let next = self.params.mechanics.go(done, pass.arm, end, self.reading_way());
        self.follows(pass.arm, next.arm).then_some(next)
    }

    /// Returns true if read-ahead continues from one track to another.
    pub(super) fn follows(&self, from: Arm, to: Arm) -> bool {
        match self.params.buffer.read_on {
            ReadOn::ToTrackEnd => from == to,
            ReadOn::ToCylinderEnd => from.cylinder == to.cylinder,
            ReadOn::Not | ReadOn::ToSegmentEnd | ReadOn::OneTrackAhead => true,
        }
    }

    pub(super) fn reading_way(&self) -> Way {
        // A drive that keeps the bus sends each sector on as it arrives, so it takes them in order.
        let bus = self.params.bus;
        let in_order = bus.held_in_reads || bus.never_disconnects;
        let on_arrival = self.params.buffer.reads_on_arrival && !in_order;
        Way { write: false, shortest: Span::ZERO, on_arrival }
    }

    /// Takes the medium from read-ahead at `now`; returns when it is free.
    pub(super) fn stop_reading(&mut self, now: Time) -> Time {
        let Background::Reading(pass) = self.background else { return now };
        self.background = Background::Idle;
        self.arm = pass.arm;
        // A seek under way cannot be cancelled.
        if now < pass.on_track {
            return pass.on_track;
        }
        match self.params.buffer.stop {
            Stop::WithinSector => now,
            Stop::AfterSector => {
                let at_once = self.params.buffer.keeps_what_passes;
                self.params.mechanics.sector_ends(&pass, now, at_once)
            }
        }
    }
}
