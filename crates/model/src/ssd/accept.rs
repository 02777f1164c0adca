//! Acceptance of commands by the controller.

use drivelab_core::{Op, Request, ServedBy, Span, Time};

use super::ftl::Unit;
use super::read_ahead::PAGES_MAX;
use super::{Command, Ssd, Waiting};
use crate::event::Events;
use crate::tag::Tag;

impl Ssd {
    /// Accepts a command, which begins after its processing time.
    pub(super) fn take(&mut self, now: Time, tag: Tag, request: &Request) {
        debug_assert!(self.commands[tag.index()].is_none(), "tag {tag} is in use");
        self.counters.count(request.op);
        self.under_way += 1;
        if self.parts.backend.slc.is_some() {
            // Folding is work for idle time: any command postpones it.
            self.fold_at = None;
            self.backend.allow_folding(now, false);
        }
        // A cached or protected write is complete in memory; only a durable one waits for the
        // flash.
        let must = request.fua || !self.parts.write_cache;
        let durable = request.op == Op::Write && must && !self.parts.protected;
        let left = u32::from(durable);
        // One more than its units, so that it does not complete before all of it is in the buffer.
        self.commands[tag.index()] =
            Some(Command { request: *request, accepted: now, left, found: 0, rest: 0, durable });
        let ready = match request.op {
            Op::Read => now + self.parts.read_processing,
            Op::Write => self.port.receive_all(now, request.sectors) + self.parts.write_processing,
            Op::Flush | Op::Trim => now + self.parts.flush_processing,
        };
        let hot = match (&mut self.heat, request.op.transfers()) {
            (Some(heat), true) => heat.take(now, request.sectors.bytes().get()),
            _ => Span::ZERO,
        };
        self.in_processing.push(ready.max(now + hot), tag);
    }

    pub(super) fn begin(&mut self, now: Time, tag: Tag, events: &mut Events) {
        let command = self.commands[tag.index()].as_ref().expect("the command is under way");
        let (request, accepted) = (command.request, command.accepted);
        match request.op {
            Op::Read => self.find_and_read(now, tag, events),
            Op::Write => {
                if !self.read_rest(now, tag, &request) {
                    self.write(now, tag, accepted, &request, events);
                }
            }
            Op::Flush if self.parts.protected => {
                self.answer(now, tag, ServedBy::Medium, events);
            }
            Op::Flush => {
                self.drains.push_back(tag);
                self.pump(now, events);
            }
            Op::Trim => self.trim(now, tag, &request, events),
        }
    }

    fn write(
        &mut self,
        now: Time,
        tag: Tag,
        accepted: Time,
        request: &Request,
        events: &mut Events,
    ) {
        let (next, end) = self.parts.units(request);
        self.waiting.push_back(Waiting { tag, accepted, next, end });
        self.pump(now, events);
    }

    /// Reads the rest of the units that a write covers in part; returns true if it has to wait.
    fn read_rest(&mut self, now: Time, tag: Tag, request: &Request) -> bool {
        let per_unit = self.parts.sectors_per_unit;
        let (begins, ends) = (request.lba.get(), request.end().get());
        if begins.is_multiple_of(per_unit) && ends.is_multiple_of(per_unit) {
            return false;
        }
        let command = u32::try_from(tag.index()).expect("tags are few");
        let (first, end) = self.parts.units(request);
        let before = (!begins.is_multiple_of(per_unit)).then_some(first);
        let after = (!ends.is_multiple_of(per_unit)).then_some(end - 1);
        let after = after.filter(|unit| before != Some(*unit));
        for unit in [before, after].into_iter().flatten().map(Unit) {
            // What is in memory is completed there.
            if !self.buffer.holds(unit)
                && let Some(slot) = self.backend.on_flash(unit)
            {
                self.backend.read(now, slot, 1, command, false);
                self.command(tag).rest += 1;
            }
        }
        let waits = self.command(tag).rest > 0;
        self.counters.partial_writes += u64::from(waits);
        waits
    }

    /// Handles a finished read of the flash: of data, or of the rest of a unit to be written.
    #[inline]
    pub(super) fn read(&mut self, now: Time, tag: Tag, events: &mut Events) {
        let command = self.command(tag);
        if command.rest == 0 {
            return self.settle(now, tag, events);
        }
        command.rest -= 1;
        if command.rest == 0 {
            let (request, accepted) = (command.request, command.accepted);
            self.write(now, tag, accepted, &request, events);
        }
    }

    /// Reads missing parts of the map, then the data.
    ///
    /// A part of the map serves the command it was read for even if it has been evicted since:
    /// otherwise more commands than cached parts would evict each other's parts forever.
    pub(super) fn find_and_read(&mut self, now: Time, tag: Tag, events: &mut Events) {
        let Command { request, found, .. } = *self.command(tag);
        if let Some(map) = &mut self.cached_map {
            let (first, end) = self.parts.units(&request);
            // Units that are already found keep their parts of the map from eviction.
            for unit in (first..end.min(found)).map(Unit) {
                map.used(unit);
            }
            let missing = (first.max(found)..end).find_map(|unit| map.missing(Unit(unit)));
            if let Some(part) = missing {
                let command = u32::try_from(tag.index()).expect("tags are few");
                self.command(tag).found = part.end;
                self.backend.read_map(now, part.number, command);
                return;
            }
        }
        self.begin_read(now, tag, &request, events);
    }

    /// Reads the units that are not in memory from the flash, one read for each page.
    fn begin_read(&mut self, now: Time, tag: Tag, request: &Request, events: &mut Events) {
        let (first, end) = self.parts.units(request);
        let command = u32::try_from(tag.index()).expect("tags are few");
        // Only in a stream is a page likely to be in a register: firmware looks for no other.
        let continues = self.stream.continues(request);
        let mut reads = 0;
        let mut run = None;
        for unit in (first..end).map(Unit) {
            // The newest data of a unit may still be in the buffer.
            let slot = if self.buffer.holds(unit) { None } else { self.backend.on_flash(unit) };
            run = match (run, slot) {
                (run, None) => run,
                // Consecutive slots of one page need a single read of the cells.
                (Some((start, units)), Some(slot)) if self.backend.same_page(start, slot) => {
                    Some((start, units + 1))
                }
                (before, Some(slot)) => {
                    if let Some((start, units)) = before {
                        self.backend.read(now, start, units, command, continues);
                        reads += 1;
                    }
                    Some((slot, 1))
                }
            };
        }
        if let Some((start, units)) = run {
            self.backend.read(now, start, units, command, continues);
            reads += 1;
        }
        if reads == 0 {
            self.counters.cache_hits += 1;
            self.answer(now, tag, ServedBy::DriveReadCache, events);
            return;
        }
        self.command(tag).left = reads;
        self.read_ahead(now, request, reads);
    }

    /// Reads as many pages ahead of a stream as `request` took, if it is the only command: others
    /// need the dies.
    fn read_ahead(&mut self, now: Time, request: &Request, reads: u32) {
        debug_assert!(reads > 0, "a read that was answered from memory needs none");
        let backend = &self.parts.backend;
        let page = backend.units_per_page * backend.planes;
        let pages = if self.under_way == 1 { reads.min(PAGES_MAX) } else { 0 };
        let (_, end) = self.parts.units(request);
        // A drive ends where its units end.
        let units = (page * pages).min(backend.shape.units.saturating_sub(end));
        let mut last = self.backend.on_flash(Unit(end - 1));
        for unit in self.stream.follow(request, end, units).map(Unit) {
            let Some(slot) = self.backend.on_flash(unit) else { continue };
            // The rest of a page is in the register with its beginning.
            if !last.is_some_and(|last| self.backend.same_page(last, slot)) {
                self.backend.read_ahead(now, slot);
            }
            last = Some(slot);
        }
    }

    /// Drops the units that are completely in the range.
    fn trim(&mut self, now: Time, tag: Tag, request: &Request, events: &mut Events) {
        let per_unit = self.parts.sectors_per_unit;
        let end = request.end().get().min(u64::from(self.parts.backend.shape.units) * per_unit);
        // Only whole units: the map cannot represent a part of one.
        let (first, end) = (request.lba.get().div_ceil(per_unit), end / per_unit);
        for unit in first..end {
            let unit = Unit(u32::try_from(unit).expect("below the capacity"));
            if self.buffer.trim(unit) {
                // Its data will never be programmed, so writes that wait for that are complete.
                while let Some(tag) = self.durable_writes.dropped(unit) {
                    self.settle(now, tag, events);
                }
            }
            self.backend.trim(unit);
        }
        self.pump(now, events);
        self.answer(now, tag, ServedBy::DriveWriteCache, events);
    }
}
