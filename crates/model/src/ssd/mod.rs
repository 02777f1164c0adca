//! Solid-state drives, one file a mechanism.
//!
//! What each part does and where its rules come from: `docs/internals/ssd-model.md`.

mod accept;
mod backend;
mod buffer;
mod durable;
pub mod flash;
pub mod ftl;
mod map_cache;
mod parts;
mod state;

pub use backend::{BackendRules, SlcRules};
pub use parts::{MapCache, PartsError, SsdParts};
pub use state::{Precondition, Scale};

use std::collections::VecDeque;

use drivelab_core::{Destaged, Lba, Op, Ratio, Request, Sectors, ServedBy, Span, Time};

use crate::controller::Port;
use crate::counters::Counters;
use crate::event::{Event, EventQueue, Events};
use crate::stack::{Mechanism, Tag};
use backend::{Backend, Outcome};
use buffer::Buffer;
use durable::Owed;
use ftl::{Unit, Written};
use map_cache::CachedMap;

/// A command that the controller works on.
#[derive(Debug, Clone, Copy)]
struct Command {
    request: Request,
    accepted: Time,
    /// Reads of the flash that are not through, or units of a durable write that are not
    /// programmed, and 1 more while it is taken over.
    left: u32,
    /// Units below this one have a known place: their parts of the map were read for it.
    found: u32,
    /// A write that is answered once it is programmed.
    durable: bool,
}

/// A write that waits for space in the buffer.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    tag: Tag,
    accepted: Time,
    /// The next unit to take over.
    next: u32,
    end: u32,
}

/// A unit in a page that is being written; kept where records are.
#[derive(Debug, Clone, Copy)]
struct Placed {
    unit: Unit,
    page: u32,
    /// When its command came: what is submitted later is other data.
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
    /// Commands that the controller has looked at by then.
    looked_at: EventQueue<Tag>,
    waiting: VecDeque<Waiting>,
    owed: Owed,
    cached_map: Option<CachedMap>,
    /// Flushes that wait until the buffer is clean. Writes are not taken over meanwhile.
    drains: VecDeque<Tag>,
    outcomes: Vec<Outcome>,
    /// Commands taken and not answered.
    under_way: u32,
    /// When blocks written as SLC are folded out, if no command comes before.
    fold_at: Option<Time>,
    /// The earliest wake-up that is scheduled.
    wake_at: Time,
    destaged: Option<Vec<Destaged>>,
    placed: Vec<Placed>,
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
            looked_at: EventQueue::with_capacity(tags),
            waiting: VecDeque::with_capacity(tags),
            owed: Owed::default(),
            cached_map: parts.map_cache.map(|rules| CachedMap::new(rules, units)),
            drains: VecDeque::with_capacity(tags),
            outcomes: Vec::with_capacity(tags),
            under_way: 0,
            fold_at: None,
            wake_at: Time::MAX,
            destaged: None,
            placed: Vec::new(),
            counters: Counters::default(),
            parts,
        })
    }

    /// Writes to the flash what `state` says, at no time, except for the share at the end that is
    /// `trimmed`; nothing was asked of the drive yet.
    pub(crate) fn precondition(&mut self, state: Precondition, trimmed: Ratio) {
        let kept = Ratio::ONE.billionths() - trimmed.billionths();
        let units = u64::from(self.parts.backend.shape.units) * kept / Ratio::ONE.billionths();
        let units = u32::try_from(units).expect("at most all of them");
        match state {
            Precondition::Fresh => {}
            Precondition::Full => self.backend.ftl.fill(units),
            Precondition::Steady => self.backend.ftl.settle(units),
        }
    }

    /// Asks to be woken for what happens next.
    fn schedule(&mut self, now: Time, events: &mut Events) {
        // Each is `Time::MAX` where nothing happens.
        let at = self.looked_at.next_or_never().min(self.backend.next_or_never());
        let at = self.fold_at.map_or(at, |fold| at.min(fold));
        if at < Time::MAX && (self.wake_at <= now || at < self.wake_at) {
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
            self.fold_at = Some(now + self.parts.fold_after);
        }
        events.push(done, Event::Done { tag, served_by: by });
    }

    /// Moves writes on: into the buffer, from there to the flash, and answers what that completes.
    fn pump(&mut self, now: Time, events: &mut Events) {
        loop {
            while let Some((unit, accepted)) = self.buffer.first() {
                self.backend.ftl.look_up(self.buffer.coming());
                if !self.backend.write(now, unit) {
                    break;
                }
                self.buffer.placed();
                if !self.owed.is_empty() {
                    let page = self.backend.page_of(unit).expect("it was just written");
                    self.owed.placed(unit, page);
                }
                if self.destaged.is_some() && !self.parts.protected {
                    let page = self.backend.page_of(unit).expect("it was just written");
                    self.placed.push(Placed { unit, page, accepted });
                }
            }
            if !self.admit(now, events) {
                break;
            }
        }
        if self.drains.is_empty() && self.owed.is_empty() {
            return;
        }
        if self.buffer.first().is_none() {
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

    /// Takes over what the buffer has space for; whether that was anything.
    fn admit(&mut self, now: Time, events: &mut Events) -> bool {
        let mut taken = false;
        while self.drains.is_empty()
            && let Some(mut write) = self.waiting.pop_front()
        {
            let durable = self.command(write.tag).durable;
            while write.next < write.end && self.buffer.take(Unit(write.next), write.accepted) {
                if durable {
                    self.command(write.tag).left += 1;
                    self.owed.taken(Unit(write.next), write.tag);
                }
                write.next += 1;
                taken = true;
            }
            if write.next < write.end {
                self.waiting.push_front(write);
                break;
            }
            self.taken_over(now, write.tag, events);
        }
        taken
    }

    /// All of a write is in the buffer.
    fn taken_over(&mut self, now: Time, tag: Tag, events: &mut Events) {
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

    /// One of the things that a command waits for is done: answers it after the last.
    fn settle(&mut self, now: Time, tag: Tag, events: &mut Events) {
        let command = self.command(tag);
        command.left -= 1;
        if command.left == 0 {
            self.answer(now, tag, ServedBy::Medium, events);
        }
    }

    fn programmed(&mut self, now: Time, page: u32, host_units: u32, events: &mut Events) {
        self.buffer.programmed(host_units);
        while let Some(tag) = self.owed.programmed(page) {
            self.settle(now, tag, events);
        }
        self.counters.destaged_runs += u64::from(host_units > 0);
        let Some(mut records) = self.destaged.take() else { return };
        let (backend, sectors) = (&self.backend, self.parts.sectors_per_unit);
        self.placed.retain(|placed| {
            if placed.page != page {
                return true;
            }
            // Newer data of the unit lies elsewhere and has its own record.
            if backend.page_of(placed.unit) == Some(page) {
                records.push(Destaged {
                    lba: Lba::new(u64::from(placed.unit.0) * sectors),
                    sectors: Sectors::new(sectors),
                    taken: placed.accepted,
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
        while let Some((at, tag)) = self.looked_at.pop_due(now) {
            self.begin(at, tag, events);
        }
        if self.fold_at.is_some_and(|at| at <= now) {
            self.fold_at = None;
            self.backend.allow_folding(now, true);
        }
        let mut outcomes = std::mem::take(&mut self.outcomes);
        self.backend.advance(now, &mut outcomes);
        let mut writes_move = false;
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::Read(index) => self.settle(now, Tag::new(index as usize), events),
                Outcome::Map(index) => self.find_and_read(now, Tag::new(index as usize), events),
                Outcome::Programmed { page, host_units } => {
                    self.programmed(now, page, host_units, events);
                    writes_move = true;
                }
                Outcome::Collected => writes_move = true,
            }
        }
        self.outcomes = outcomes;
        if writes_move {
            self.pump(now, events);
        }
        self.schedule(now, events);
    }

    fn drain_destaged(&mut self, _now: Time, records: &mut Vec<Destaged>) {
        records.append(self.destaged.get_or_insert_default());
    }

    fn counters(&self) -> Counters {
        let Written { host, copied, padded } = self.backend.ftl.written();
        let bytes = |units: u64| Sectors::new(units * self.parts.sectors_per_unit).bytes().get();
        Counters { flash_written: [host, copied, padded].map(bytes), ..self.counters }
    }
}

#[cfg(test)]
mod tests;
