//! Acceptance of commands: answer from a buffer, insertion into the cache, or a queue for the
//! medium.

use drivelab_core::{Op, Ratio, Request, Sectors, ServedBy, Time};

use super::queue::Candidate;
use super::writing::WriteCache;
use super::{Disk, PendingFlush};
use crate::event::{Event, Events};
use crate::stack::Mechanism as _;
use crate::tag::Tag;
use crate::watch::Step;

impl Disk {
    pub(super) fn take(&mut self, now: Time, tag: Tag, request: &Request, events: &mut Events) {
        self.counters.count(request.op);
        self.sequence += 1;
        if let Some(shingled) = &mut self.shingled {
            shingled.active = now;
        }
        match request.op {
            Op::Read => self.accept_read(now, tag, request, events),
            Op::Write => self.accept_write(now, tag, request, events),
            Op::Flush => self.accept_flush(now, tag, events),
            Op::Trim => {
                // Trimmed data in the cache need not reach the medium, so it may free space and end
                // flushes.
                if let Some(cache) = &mut self.writes {
                    let range = request.lba..request.end();
                    cache.drop_range(range, self.port.quiet(), &self.parts.mechanics);
                    self.make_room(now, events);
                    self.finish_flushes(now, events);
                }
                if let Some(shingled) = &mut self.shingled {
                    shingled.log.forget(request.lba.get(), request.end().get());
                }
                self.answer_at_once(now, tag, events);
            }
        }
    }

    fn new_candidate(&self, now: Time, tag: Tag, request: &Request) -> Candidate {
        let newest = self.shingled.as_ref().map(|shingled| shingled.log.locate(request.lba));
        let lies_at = newest.unwrap_or(request.lba);
        Candidate {
            lba: request.lba,
            sectors: request.sectors,
            location: self.parts.mechanics.geometry.locate(lies_at),
            write: request.op == Op::Write,
            tag,
            ready: now,
            arrived: now,
            sequence: self.sequence,
            newest: self.sequence,
        }
    }

    fn accept_read(&mut self, now: Time, tag: Tag, request: &Request, events: &mut Events) {
        let (start, end) = (request.lba, request.end());
        let hit = if self.writes.as_ref().is_some_and(|cache| cache.holds(start, end)) {
            Some(ServedBy::DriveWriteCache)
        } else {
            if self.ahead.is_some_and(|ahead| ahead.overlaps(start, end)) {
                // Read-ahead fills the buffer lazily: only a lookup brings it up to date.
                self.buffer_read_ahead(now);
            }
            let held = self.reads.holds(start, end) || self.hits_by_chance();
            held.then_some(ServedBy::DriveReadCache)
        };
        if let Some(served_by) = hit {
            self.counters.cache_hits += 1;
            // A hit moves the limit of read-ahead, as a read from the medium would.
            self.extend_read_ahead(now, end);
            let processing = self.parts.overheads.read_hit;
            let done = self.port.exchange(now, processing, request.sectors);
            events.push(done, Event::Done { tag, served_by });
            return;
        }
        let ready = now + self.parts.overheads.read_miss;
        let candidate = Candidate { ready, ..self.new_candidate(now, tag, request) };
        self.enqueue(candidate, events);
    }

    fn accept_write(&mut self, now: Time, tag: Tag, request: &Request, events: &mut Events) {
        if self.ahead.is_some_and(|ahead| ahead.overlaps(request.lba, request.end())) {
            self.buffer_read_ahead(now);
            self.ahead = None;
        }
        // The medium may get the new data later; until then the buffer must not answer with the
        // old.
        self.reads.forget(request.lba, request.end());
        let candidate = self.new_candidate(now, tag, request);
        match &self.writes {
            Some(cache) if !request.fua && cache.can_ever_hold(request.sectors) => {
                // Behind earlier waiting writes, since the cache keeps its runs in order of
                // arrival.
                if cache.has_room(request.sectors) && self.no_room.is_empty() {
                    self.cache_write(now, candidate, events);
                } else {
                    self.no_room.push_back(candidate);
                }
            }
            _ => {
                // Data that arrives is on its way to a segment of the cache, not to the medium.
                let first_frame = self.port.receive(now, request.sectors);
                let ready = first_frame + self.parts.overheads.write_miss;
                self.enqueue(Candidate { ready, ..candidate }, events);
            }
        }
    }

    fn cache_write(&mut self, now: Time, write: Candidate, events: &mut Events) {
        self.counters.cached_writes += 1;
        self.note(|| Step::Cached { at: now, tag: write.tag });
        let processing = self.parts.overheads.write_hit;
        let done = self.port.exchange(now, processing, write.sectors);
        let served_by = ServedBy::DriveWriteCache;
        events.push(done, Event::Done { tag: write.tag, served_by });
        let cache = self.writes.as_mut().expect("only called with a cache");
        cache.insert(Candidate { ready: done, arrived: now, ..write }, &self.parts.mechanics);
        if self.access.is_none() {
            events.push(done, Event::Wake);
        }
    }

    fn accept_flush(&mut self, now: Time, tag: Tag, events: &mut Events) {
        let clean = self.writes.as_ref().is_none_or(WriteCache::is_clean);
        if clean && self.no_room.is_empty() {
            self.answer_at_once(now, tag, events);
            return;
        }
        self.flushes.push_back(PendingFlush { tag, before: self.sequence });
        if self.access.is_none() {
            events.push(now, Event::Wake);
        }
    }

    /// Answers a command that needs neither data nor medium.
    fn answer_at_once(&mut self, now: Time, tag: Tag, events: &mut Events) {
        let processing = self.parts.overheads.write_hit;
        let done = self.port.exchange(now, processing, Sectors::ZERO);
        events.push(done, Event::Done { tag, served_by: ServedBy::DriveWriteCache });
    }

    fn enqueue(&mut self, candidate: Candidate, events: &mut Events) {
        if self.access.is_none() {
            events.push(candidate.ready, Event::Wake);
        }
        debug_assert!(
            self.queue.iter().all(|queued| queued.tag != candidate.tag),
            "two queued commands hold one tag"
        );
        self.queue.push(candidate);
    }

    /// Returns true for the share of unexplained buffer hits in the profile.
    fn hits_by_chance(&mut self) -> bool {
        let share = self.parts.hit_share;
        share != Ratio::ZERO && self.rng.chance(share)
    }

    pub(super) fn make_room(&mut self, now: Time, events: &mut Events) {
        while let Some(write) = self.no_room.front().copied() {
            let cache = self.writes.as_ref().expect("writes wait for the cache");
            if !cache.has_room(write.sectors) {
                return;
            }
            self.no_room.pop_front();
            self.cache_write(now, write, events);
        }
    }
}
