//! A drive that takes one command at a time, like the SCSI drives of the 1990s.
//!
//! Nothing can happen between two commands, so there are no internal events: when a command
//! arrives, the model first computes what the drive has done since the last one, then the whole
//! course of the command up to the moment at which the host is informed of its completion.

mod background;
mod delivery;
mod layout;
mod medium;
pub(crate) mod params;
mod pass;
mod read;
mod segments;
mod write;
mod zone;

use drivelab_core::{Destaged, Op, Request, Sectors, ServedBy, Time};
use drivelab_model::mechanics::Arm;
use drivelab_model::stack::{Mechanism, Tag};
use drivelab_model::{Counters, Event, Events};

use background::{Background, Destage};
use delivery::Arrivals;
pub(crate) use layout::{Heads, Layout};
use params::{ByPrevious, Params, Residual, later};
use segments::Segments;
pub(crate) use zone::{Sparing, Zone, ZoneShape};

#[derive(Debug)]
pub(crate) struct Disk {
    params: Params,
    segments: Segments,
    arm: Arm,
    background: Background,
    /// The previous command was a write.
    after_write: bool,
    /// Scratch space for the arrival times of a read's sectors.
    arrivals: Arrivals,
    /// Data that leaves the buffer, and when it is on the medium, which may be in the future;
    /// recorded from the first query on.
    destaged: Option<Vec<Destaged>>,
    counters: Counters,
}

impl Disk {
    pub(crate) fn new(params: Params) -> Self {
        let buffer = &params.buffer;
        let segments =
            Segments::new(buffer.segments, buffer.segment_size, buffer.separate_write_segment);
        Self {
            params,
            segments,
            arm: Arm::default(),
            background: Background::Idle,
            after_write: false,
            arrivals: Arrivals::default(),
            destaged: None,
            counters: Counters::default(),
        }
    }

    /// Serves the only command; returns its completion at the host, and the component that served
    /// it.
    fn answer(&mut self, now: Time, request: &Request) -> (Time, ServedBy) {
        self.counters.count(request.op);
        let begun = later(now, self.params.overheads.per_request);
        // First bring the state up to date: the command must not see the past.
        self.settle(begun);
        let (done, served_by) = self.serve(begun, request);
        if request.op == Op::Write && served_by == ServedBy::DriveWriteCache {
            self.record(now, request);
        }
        // Residuals may be negative; an answer before its request is impossible.
        (done.max(now), served_by)
    }

    /// Records when the write that arrived at `taken` will have left the buffer.
    fn record(&mut self, taken: Time, request: &Request) {
        if let (Some(records), Background::Destaging(destage)) =
            (&mut self.destaged, &self.background)
        {
            let (lba, sectors) = (request.lba, request.sectors);
            debug_assert!(
                records.last().is_none_or(|record| record.at <= destage.until),
                "data reaches the medium in order"
            );
            records.push(Destaged { lba, sectors, taken, at: destage.until });
        }
    }

    fn serve(&mut self, begun: Time, request: &Request) -> (Time, ServedBy) {
        match request.op {
            Op::Read => {
                let answer = self.read(begun, request.lba.get(), request.sectors.get());
                self.after_write = false;
                answer
            }
            Op::Write => {
                let (first, count) = (request.lba.get(), request.sectors.get());
                let immediate = self.params.writes.immediate_report && !request.fua;
                let answer = self.write(begun, first, count, immediate);
                self.after_write = true;
                answer
            }
            Op::Flush | Op::Trim => {
                let written = match &self.background {
                    Background::Destaging(Destage { until, .. }) if request.op == Op::Flush => {
                        *until
                    }
                    _ => begun,
                };
                let overhead = self.params.overheads.write_completion;
                (later(begun.max(written), overhead), ServedBy::DriveWriteCache)
            }
        }
    }

    fn by_previous(&self, overhead: ByPrevious) -> Residual {
        if self.after_write { overhead.after_write } else { overhead.after_read }
    }
}

impl Mechanism for Disk {
    fn capacity(&self) -> Sectors {
        Sectors::new(self.params.mechanics.layout.capacity())
    }

    fn accept(&mut self, now: Time, tag: Tag, request: &Request, events: &mut Events) {
        let (done, served_by) = self.answer(now, request);
        debug_assert!(done >= now, "an answer before its request");
        events.push(done, Event::Done { tag, served_by });
    }

    fn drain_destaged(&mut self, now: Time, records: &mut Vec<Destaged>) {
        let kept = self.destaged.get_or_insert_default();
        // There is one arm, so the records are in order of time.
        let there = kept.partition_point(|record| record.at <= now);
        records.extend(kept.drain(..there));
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
