//! Solid-state drives, one file for each mechanism.
//!
//! The mechanisms and the sources of their rules: `docs/internals/ssd-model.md`.

mod accept;
mod backend;
mod buffer;
mod close;
mod commit;
mod durable;
pub mod flash;
pub mod ftl;
mod map_cache;
mod parts;
mod read_ahead;
mod state;

pub use backend::{BackendRules, DynamicSlc, SlcRules};
pub use parts::{CommitRules, MapCache, PartsError, SsdParts, Throttle};
pub use state::{Precondition, Scale};

use std::collections::VecDeque;

use drivelab_core::{Destaged, Lba, Op, Ratio, Request, Rng, Sectors, ServedBy, Span, Time};

use crate::controller::{Bucket, Port};
use crate::counters::Counters;
use crate::event::{Event, EventQueue, Events};
use crate::stack::Mechanism;
use crate::tag::Tag;
use crate::watch::{DieWork, Step};
use backend::{Backend, Outcome};
use buffer::Buffer;
use commit::Commits;
use durable::DurableWrites;
use ftl::{Unit, Written};
use map_cache::CachedMap;
use read_ahead::Stream;

/// A command in progress.
#[derive(Debug, Clone, Copy)]
struct Command {
    request: Request,
    accepted: Time,
    /// Outstanding reads of the flash, or unprogrammed units of a durable write, plus 1 until all
    /// of it is in the buffer.
    left: u32,
    /// Units below this one have been located: their parts of the map were read for this command.
    found: u32,
    /// Reads of units that a write covers in part, which come before it.
    rest: u32,
    /// A write that is answered once it is programmed.
    durable: bool,
}

/// A write that waits for space in the buffer.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    tag: Tag,
    accepted: Time,
    /// The next unit to buffer.
    next: u32,
    end: u32,
}

/// A unit in a page that is being written; only while recording is on.
#[derive(Debug, Clone, Copy)]
struct Unprogrammed {
    unit: Unit,
    page: u32,
    /// Arrival of its command; later commands bring other data.
    accepted: Time,
}

/// A solid-state drive behind a port.
#[derive(Debug)]
pub(crate) struct Ssd {
    parts: SsdParts,
    port: Port,
    backend: Backend,
    buffer: Buffer,
    /// The command of each tag.
    commands: Vec<Option<Command>>,
    /// Commands in the controller's processing, by its end.
    in_processing: EventQueue<Tag>,
    waiting: VecDeque<Waiting>,
    durable_writes: DurableWrites,
    commits: Option<Commits>,
    cached_map: Option<CachedMap>,
    stream: Stream,
    /// The bytes that it may move before it is hot.
    heat: Option<Bucket>,
    /// Flushes that wait until the buffer is clean; no write enters it meanwhile.
    drains: VecDeque<Tag>,
    outcomes: Vec<Outcome>,
    /// Unanswered commands.
    under_way: u32,
    /// Time at which SLC blocks are folded, unless a command arrives before.
    fold_at: Option<Time>,
    /// The earliest wake-up that is scheduled.
    wake_at: Time,
    destaged: Option<Vec<Destaged>>,
    unprogrammed: Vec<Unprogrammed>,
    /// Steps since the last look; recorded from the first look on.
    watched: Option<Vec<Step>>,
    counters: Counters,
}

impl Ssd {
    pub(crate) fn new(parts: SsdParts, port: Port, tags: usize) -> Result<Self, PartsError> {
        parts.check()?;
        let backend = Backend::new(parts.backend.clone())?;
        let units = parts.backend.shape.units;
        let buffer = Buffer::new(parts.buffer_units, units);
        Ok(Self {
            backend,
            buffer,
            port,
            commands: vec![None; tags],
            in_processing: EventQueue::with_capacity(tags),
            waiting: VecDeque::with_capacity(tags),
            durable_writes: DurableWrites::default(),
            commits: parts.commit.map(|rules| Commits::new(rules, tags)),
            cached_map: parts.map_cache.map(|rules| CachedMap::new(rules, units)),
            stream: Stream::default(),
            heat: parts.throttle.map(|hot| Bucket::full(hot.bytes_per_s, hot.after)),
            drains: VecDeque::with_capacity(tags),
            outcomes: Vec::with_capacity(tags),
            under_way: 0,
            fold_at: None,
            wake_at: Time::MAX,
            destaged: None,
            unprogrammed: Vec::new(),
            watched: None,
            counters: Counters::default(),
            parts,
        })
    }

    /// Brings the unused flash into `state` without advancing time, except for the share at the
    /// end that is `trimmed`.
    pub(crate) fn precondition(&mut self, state: Precondition, trimmed: Ratio) {
        debug_assert_eq!(self.backend.ftl.written(), Written::default(), "the drive is in use");
        let kept = Ratio::ONE.billionths() - trimmed.billionths();
        let units = u64::from(self.parts.backend.shape.units) * kept / Ratio::ONE.billionths();
        let units = u32::try_from(units).expect("at most all of them");
        match state {
            Precondition::Fresh => {}
            Precondition::Full => self.backend.ftl.fill(units),
            Precondition::Steady => {
                self.backend.settle(units);
                self.fill_buffer(units);
            }
        }
    }

    /// Fills the buffer with random units, as writes without a pause do.
    fn fill_buffer(&mut self, units: u32) {
        let mut rng = Rng::new(self.parts.backend.flash.seed);
        // Of the units that are drawn twice the first stays; a tiny drive has fewer units.
        for _ in 0..u64::from(self.parts.buffer_units) * 2 {
            let unit = u32::try_from(rng.below(u64::from(units.max(1)))).expect("a unit");
            if !self.buffer.holds(Unit(unit)) && !self.buffer.take(Unit(unit), Time::ZERO) {
                return;
            }
        }
    }

    /// The activity of each die.
    pub(crate) fn dies(&self) -> Vec<DieWork> {
        self.backend.dies()
    }

    /// Channels, to which dies are assigned in turn.
    pub(crate) fn channels(&self) -> u32 {
        self.parts.backend.flash.channels
    }

    /// Schedules a wake-up for the next event.
    fn schedule(&mut self, now: Time, events: &mut Events) {
        // Each is `Time::MAX` if nothing is pending.
        let at = self.in_processing.next_or_never().min(self.backend.next_or_never());
        let at = self.fold_at.map_or(at, |fold| at.min(fold));
        if at < Time::MAX && (self.wake_at <= now || at < self.wake_at) {
            // A later wake-up that is already scheduled stays: it finds nothing to do.
            self.wake_at = at;
            events.push(at, Event::Wake);
        }
    }

    fn answer(&mut self, now: Time, tag: Tag, by: ServedBy, events: &mut Events) {
        let command = self.commands[tag.index()].take().expect("the command is under way");
        let sent =
            if command.request.op == Op::Read { command.request.sectors } else { Sectors::ZERO };
        let done = self.port.exchange(now, Span::ZERO, sent);
        self.under_way -= 1;
        if self.under_way == 0 && self.parts.backend.slc.is_some() {
            // The drive is idle from now on.
            self.fold_at = Some(now + self.parts.fold_after);
        }
        events.push(done, Event::Done { tag, served_by: by });
    }

    /// Moves writes into the buffer and from there to the flash, and answers completed commands.
    fn pump(&mut self, now: Time, events: &mut Events) {
        // Placing a unit may free no memory, but admitting one may complete a page: until neither
        // moves.
        loop {
            while let Some((unit, accepted)) = self.buffer.first() {
                self.backend.ftl.prefetch(self.buffer.prefetch());
                if !self.backend.write(now, unit) {
                    break;
                }
                self.buffer.assigned();
                if !self.durable_writes.is_empty() {
                    let page = self.backend.page_of(unit).expect("it was just written");
                    self.durable_writes.assigned(unit, page);
                }
                if self.destaged.is_some() && !self.parts.protected {
                    let page = self.backend.page_of(unit).expect("it was just written");
                    self.unprogrammed.push(Unprogrammed { unit, page, accepted });
                }
            }
            if !self.admit(now, events) {
                break;
            }
        }
        if self.commits.is_some() {
            self.close_and_commit(now, events);
            return;
        }
        if self.drains.is_empty() && self.durable_writes.is_empty() {
            return;
        }
        if self.buffer.first().is_none() {
            // No more data is coming for the begun pages, and a command waits for them.
            self.backend.pad(now);
        }
        if !self.drains.is_empty() && self.buffer.is_clean() {
            while let Some(tag) = self.drains.pop_front() {
                self.answer(now, tag, ServedBy::Medium, events);
            }
            if !self.waiting.is_empty() {
                self.pump(now, events);
            }
        }
    }

    /// Moves waiting writes into the buffer as far as it has space; returns true if any unit moved.
    fn admit(&mut self, now: Time, events: &mut Events) -> bool {
        let mut moved = false;
        // New writes wait behind a flush, or a stream of them could postpone it forever.
        while self.drains.is_empty()
            && let Some(mut write) = self.waiting.pop_front()
        {
            let durable = self.command(write.tag).durable;
            while write.next < write.end && self.buffer.take(Unit(write.next), write.accepted) {
                if durable {
                    self.command(write.tag).left += 1;
                    self.durable_writes.buffered(Unit(write.next), write.tag);
                }
                write.next += 1;
                moved = true;
            }
            if write.next < write.end {
                self.waiting.push_front(write);
                break;
            }
            self.buffered(now, write.tag, events);
        }
        moved
    }

    /// Handles a write that is completely in the buffer.
    fn buffered(&mut self, now: Time, tag: Tag, events: &mut Events) {
        if self.command(tag).durable {
            self.settle(now, tag, events);
        } else if self.parts.protected {
            // The capacitors make it durable.
            self.answer(now, tag, ServedBy::Medium, events);
        } else {
            self.counters.cached_writes += 1;
            self.answer(now, tag, ServedBy::DriveWriteCache, events);
        }
    }

    #[inline]
    fn command(&mut self, tag: Tag) -> &mut Command {
        self.commands[tag.index()].as_mut().expect("the command is under way")
    }

    /// Completes one of the parts of a command; the last one answers it.
    fn settle(&mut self, now: Time, tag: Tag, events: &mut Events) {
        let pending = self.command(tag);
        debug_assert!(pending.left > 0, "a part completes twice");
        pending.left -= 1;
        if pending.left == 0 {
            self.answer(now, tag, ServedBy::Medium, events);
        }
    }

    fn programmed(&mut self, now: Time, page: u32, host_units: u32, events: &mut Events) {
        self.buffer.programmed(host_units);
        while let Some(tag) = self.durable_writes.programmed(page) {
            match &mut self.commits {
                Some(commits) => commits.add(tag),
                None => self.settle(now, tag, events),
            }
        }
        if let Some(commits) = self.commits.as_mut().filter(|_| host_units > 0) {
            commits.outdate();
        }
        self.counters.destaged_runs += u64::from(host_units > 0);
        let Some(mut records) = self.destaged.take() else { return };
        let (backend, sectors) = (&self.backend, self.parts.sectors_per_unit);
        self.unprogrammed.retain(|written| {
            if written.page != page {
                return true;
            }
            // Newer data of the unit is in another page and gets another record.
            if backend.page_of(written.unit) == Some(page) {
                records.push(Destaged {
                    lba: Lba::new(u64::from(written.unit.0) * sectors),
                    sectors: Sectors::new(sectors),
                    taken: written.accepted,
                    at: now,
                });
            }
            false
        });
        self.destaged = Some(records);
    }
}

impl Mechanism for Ssd {
    fn capacity(&self) -> Sectors {
        Sectors::new(u64::from(self.parts.backend.shape.units) * self.parts.sectors_per_unit)
    }

    fn accept(&mut self, now: Time, tag: Tag, request: &Request, events: &mut Events) {
        self.take(now, tag, request);
        self.schedule(now, events);
    }

    fn wake(&mut self, now: Time, events: &mut Events) {
        while let Some((at, tag)) = self.in_processing.pop_due(now) {
            self.begin(at, tag, events);
        }
        if self.fold_at.is_some_and(|at| at <= now) {
            self.fold_at = None;
            self.backend.allow_folding(now, true);
        }
        // Taken out for the loop, since handling an outcome may append more.
        let mut outcomes = std::mem::take(&mut self.outcomes);
        self.backend.advance(now, &mut outcomes);
        let mut has_space = false;
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::Read(index) => self.read(now, Tag::new(index as usize), events),
                Outcome::Map(index) => self.find_and_read(now, Tag::new(index as usize), events),
                Outcome::Programmed { page, host_units } => {
                    self.programmed(now, page, host_units, events);
                    has_space = true;
                }
                Outcome::Collected => has_space = true,
                Outcome::Committed => self.map_programmed(now, events),
            }
        }
        self.outcomes = outcomes;
        // Once for all outcomes: each of them only frees memory or slots.
        if has_space {
            self.pump(now, events);
        }
        self.schedule(now, events);
    }

    fn drain_destaged(&mut self, _now: Time, records: &mut Vec<Destaged>) {
        records.append(self.destaged.get_or_insert_default());
    }

    fn watch(&mut self, steps: &mut Vec<Step>) {
        steps.append(self.watched.get_or_insert_default());
    }

    #[inline]
    fn note(&mut self, step: impl FnOnce() -> Step) {
        if let Some(steps) = &mut self.watched {
            steps.push(step());
        }
    }

    fn counters(&self) -> Counters {
        let Written { host, copied, padded } = self.backend.ftl.written();
        let flash_written = [host, copied, padded]
            .map(|units| Sectors::new(units * self.parts.sectors_per_unit).bytes().get());
        Counters { flash_written, ..self.counters }
    }
}

#[cfg(test)]
mod tests;
