//! A drive that takes one command at a time, as the SCSI drives of the nineties did.
//!
//! Between two commands nothing can come in between, so there are no events inside: when a command
//! arrives, what the drive has done since the last one is worked out first, then all of its own
//! life up to the moment the host learns that it is done.

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
    /// The command before was a write.
    after_write: bool,
    /// Scratch space: when the sectors of a read come off the medium.
    arrivals: Arrivals,
    /// What goes out of the buffer, and when it is on the medium, which may be in the future; kept
    /// once somebody asks.
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

    /// Takes a command, the only one; says when the host learns that it is done, and from what.
    fn answer(&mut self, now: Time, request: &Request) -> (Time, ServedBy) {
        self.counters.count(request.op);
        let begun = later(now, self.params.overheads.per_request);
        self.settle(begun);
        let (done, served_by) = self.serve(begun, request);
        if request.op == Op::Write && served_by == ServedBy::DriveWriteCache {
            self.record(now, request);
        }
        // Residuals may be negative; an answer before its question cannot be.
        (done.max(now), served_by)
    }

    /// Keeps in mind when the write that came at `taken` will have left the buffer.
    fn record(&mut self, taken: Time, request: &Request) {
        if let (Some(records), Background::Destaging(destage)) =
            (&mut self.destaged, &self.background)
        {
            let (lba, sectors) = (request.lba, request.sectors);
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
        events.push(done, Event::Done { tag, served_by });
    }

    fn drain_destaged(&mut self, now: Time, records: &mut Vec<Destaged>) {
        let kept = self.destaged.get_or_insert_default();
        // One arm writes one thing after the other.
        let there = kept.partition_point(|record| record.at <= now);
        records.extend(kept.drain(..there));
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
