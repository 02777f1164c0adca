//! The course of a read.

use std::ops::Range;

use drivelab_core::{ServedBy, Time};

use super::Disk;
use super::background::Background;
use super::delivery::Protocol;
use super::params::{ReadOn, later, until};
use super::pass::{Pass, Split};
use super::segments::{Activity, HitRules, Lookup};

impl Disk {
    pub(super) fn read(&mut self, now: Time, lba: u64, count: u64) -> (Time, ServedBy) {
        let end = lba + count;
        let overheads = &self.params.overheads;
        let hit = self.by_previous(overheads.read_hit);
        let miss = self.by_previous(overheads.read_miss);
        let disconnect = self.by_previous(overheads.read_disconnect);
        let (mut index, mut found) = self.find(lba, end);
        // The medium is only requested once the command is decoded.
        let understood = later(now, miss);
        let mut medium = now;
        let waits_for_write = match self.background {
            Background::Destaging(destage) => {
                let passes = self.params.buffer.full_hits_pass_writes && found == Lookup::Whole;
                (!passes).then_some(destage.until)
            }
            _ => None,
        };
        if let Some(written) = waits_for_write {
            self.settle(written);
            medium = written;
            // The end of the write may have freed the segment that held the data.
            (index, found) = self.find(lba, end);
        }
        let at_once = waits_for_write.is_none() && self.answers_at_once(found, index, lba, count);
        let connected = at_once || self.params.bus.never_disconnects;
        let served_by = if found == Lookup::Whole { self.hit(index) } else { ServedBy::Medium };
        self.gather(medium, understood, index, found, lba..end);

        let overheads = &self.params.overheads;
        let spindle = &self.params.mechanics.spindle;
        let mark = self.watermark(count);
        let ready = if connected {
            let command = if found == Lookup::Nothing { miss } else { hit };
            later(medium.max(later(now, command)), overheads.data_preparation)
        } else {
            let disconnected = later(understood, disconnect).max(medium);
            let enough = self.arrivals.when(mark.min(count), spindle);
            let asks = enough.map_or(disconnected, |enough| enough.max(disconnected));
            later(later(asks, overheads.first_reselect), overheads.data_preparation)
        };
        let bus = self.params.bus;
        let protocol = Protocol {
            sector: bus.read_sector,
            held: bus.held_in_reads || bus.never_disconnects,
            disconnect,
            reconnect: overheads.first_reselect + overheads.data_preparation,
            mark,
        };
        let delivered = self.arrivals.delivered(ready, protocol, spindle);
        debug_assert!(delivered >= ready, "data crosses the bus before it is ready");
        if self.params.buffer.drops_taken {
            let segment = self.segments.last();
            segment.start = segment.start.max(end);
        }
        if !self.params.buffer.caches {
            self.segments.last().in_use = false;
        }
        (later(delivered, self.params.overheads.read_completion), served_by)
    }

    fn find(&self, lba: u64, end: u64) -> (usize, Lookup) {
        let buffer = &self.params.buffer;
        let rules =
            HitRules { on_written: buffer.hits_on_written, on_arriving: buffer.hits_on_arriving };
        self.segments.for_read(lba, end, self.activity(), rules)
    }

    fn hit(&mut self, index: usize) -> ServedBy {
        self.counters.cache_hits += 1;
        if self.segments.get(index).written {
            ServedBy::DriveWriteCache
        } else {
            ServedBy::DriveReadCache
        }
    }

    /// Returns true if data is transferred without a disconnect.
    fn answers_at_once(&self, found: Lookup, index: usize, lba: u64, count: u64) -> bool {
        match found {
            Lookup::Whole => true,
            Lookup::Nothing => false,
            Lookup::Partial => {
                let there = self.segments.get(index).end - lba;
                let enough = self.watermark(count).min(count);
                self.params.buffer.partial_hits_at_once || (there > 0 && there >= enough)
            }
        }
    }

    /// Number of sectors that must be there before the bus is requested.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a segment, which is far below 2^52 sectors"
    )]
    fn watermark(&self, count: u64) -> u64 {
        let buffer = &self.params.buffer;
        if buffer.marks_by_request {
            let whole = count.min(buffer.segment_size);
            ((whole as f64 * buffer.read_mark) as u64).max(1)
        } else {
            (buffer.segment_size as f64 * buffer.read_mark).ceil() as u64
        }
    }

    /// Reads missing sectors from the medium and lets read-ahead continue from there; the medium is
    /// available at `medium`, and the command is decoded at `understood`.
    fn gather(
        &mut self,
        medium: Time,
        understood: Time,
        index: usize,
        found: Lookup,
        wanted: Range<u64>,
    ) {
        let Range { start: lba, end } = wanted;
        let takes_over = found != Lookup::Nothing
            && self.segments.is_last(index)
            && self.activity() == Activity::Reading;
        // Overtaking a write in progress touches nothing but the buffer.
        if matches!(self.background, Background::Destaging(_)) {
            self.arrivals.start(end - lba);
            return;
        }
        let free = if takes_over { medium } else { self.stop_reading(medium) };
        // Decoding and stopping read-ahead both count from the release of the medium, as in
        // DiskSim.
        let start = medium + until(medium, understood) + until(medium, free);
        let segment = self.segments.use_now(index);
        segment.in_use = true;
        segment.written = segment.written && found != Lookup::Nothing;
        if found == Lookup::Nothing {
            (segment.start, segment.end, segment.limit) = (lba, lba, 0);
        }
        // A stream that is taken over may have been promised more than this read would ask for.
        let (from, have) = (segment.start, segment.end);
        let limit = self.read_ahead_limit(from, lba, end);
        let segment = self.segments.last();
        segment.limit = segment.limit.max(limit);
        let limit = segment.limit;
        self.arrivals.start(have.min(end).saturating_sub(lba));
        if have >= end {
            if !takes_over && have < limit && self.params.buffer.reads_on_after_hits {
                let way = self.reading_way();
                let pass = self.params.mechanics.go(start, self.arm, have, way);
                if self.follows(self.arm, pass.arm) {
                    self.background = Background::Reading(pass);
                }
            }
            return;
        }
        let first = match self.background {
            // Read-ahead that is taken over is on its way already: no seek, no rotation.
            Background::Reading(pass) => pass,
            _ => self.first_pass(start, have, found),
        };
        self.stream(first, have, end);
    }

    fn first_pass(&mut self, start: Time, have: u64, found: Lookup) -> Pass {
        let mut way = self.reading_way();
        let keeps = self.params.buffer.keeps_what_passes && found == Lookup::Nothing;
        way.on_arrival |= self.params.buffer.keeps_what_passes;
        let pass = self.params.mechanics.go(start, self.arm, have, way);
        if keeps {
            let size = self.params.buffer.segment_size;
            let segment = self.segments.last();
            segment.start = pass.passes_from().max(have.saturating_sub(size));
        }
        pass
    }

    /// Follows the stream that is on `pass` from `have` to `end`, and beyond.
    fn stream(&mut self, mut pass: Pass, mut have: u64, end: u64) {
        loop {
            let on_track = end.min(pass.track_end);
            let in_order = pass.split(on_track).in_order;
            let passed = have - pass.lba;
            debug_assert!(pass.lba <= have && have < on_track, "{have} is not on this pass");
            let begin = pass.begin + self.params.mechanics.passing(&pass, passed);
            let left = on_track - have;
            let ordered = in_order.saturating_sub(passed).clamp(1, left);
            let parts = Split { in_order: ordered, at_once: left - ordered };
            self.arrivals.push(begin, pass.sector(), parts);
            let done = self.params.mechanics.read_up_to(&pass, on_track);
            if on_track == end {
                self.counters.medium_busy += done.since(pass.begin);
                self.segments.extend_last(end);
                self.read_on(&pass, done, end);
                return;
            }
            have = on_track;
            pass = self.params.mechanics.go(done, pass.arm, have, self.reading_way());
        }
    }

    /// The limit of read-ahead for the stream of a segment that begins at `from`.
    fn read_ahead_limit(&self, from: u64, lba: u64, end: u64) -> u64 {
        let buffer = &self.params.buffer;
        let layout = &self.params.mechanics.layout;
        let size = buffer.segment_size;
        let limit = match buffer.read_on {
            ReadOn::OneTrackAhead if end < layout.capacity() => {
                let track = layout.spot(end);
                let next = if from < track.track_first { layout.per_track(lba) } else { 0 };
                track.track_end + next
            }
            ReadOn::Not | ReadOn::OneTrackAhead => end,
            _ if buffer.longest_read_ahead > 0 => end + buffer.longest_read_ahead,
            _ if buffer.keeps_request => {
                if end - lba >= size {
                    end
                } else {
                    lba + size
                }
            }
            _ => end + size,
        };
        limit.min(layout.capacity())
    }
}
