//! A hard disk: arm, platter, buffer and the firmware that decides what comes next.

pub(crate) mod geometry;
pub(crate) mod mechanics;
pub(crate) mod parts;
pub(crate) mod queue;
mod read_ahead;
mod read_cache;
pub(crate) mod seek;
pub(crate) mod spindle;
mod write_cache;

use std::collections::VecDeque;
use std::ops::Range;

use drivelab_core::{Destaged, Lba, Op, Ratio, Request, Rng, Sectors, ServedBy, Span, Time};

use crate::drive::Counters;
use crate::drive::event::Event;
use crate::event::EventQueue;
use crate::planted::planted;
use crate::watch::{self, Step};
use geometry::Arm;
use mechanics::{Ended, Stream};
use parts::{Parts, Retries};
use queue::{Candidate, Choosing, Heads, Order};
use read_ahead::ReadAhead;
use read_cache::ReadCache;
use write_cache::WriteCache;

/// Cached data older than this competes with waiting reads even when the cache is far from full,
/// so that a stream of reads cannot keep it off the medium for ever. Our choice: it is where Linux
/// puts the patience of a read, and well below the 2 s of the firmware's own ageing.
const LATE_DESTAGE: Span = Span::from_ms(500);

/// What the medium is doing.
#[derive(Debug, Clone, Copy)]
struct Access {
    work: Candidate,
    cached: bool,
    /// When the medium was committed to it.
    begun: Time,
    /// When the first sector was under the head.
    streaming_since: Time,
    ended: Ended,
}

/// A flush that waits until the data that came before it is on the medium.
#[derive(Debug, Clone, Copy)]
struct PendingFlush {
    tag: u8,
    before: u64,
}

/// A hard disk as a state machine driven by its own events.
#[derive(Debug)]
pub(crate) struct Disk {
    parts: Parts,
    rng: Rng,
    /// Reads, and writes that go past the cache.
    queue: Vec<Candidate>,
    reads: ReadCache,
    writes: Option<WriteCache>,
    /// Writes that found the cache full.
    no_room: VecDeque<Candidate>,
    flushes: VecDeque<PendingFlush>,
    access: Option<Access>,
    ahead: Option<ReadAhead>,
    arm: Arm,
    /// The sector that comes under the head next, if a transfer ended right now.
    next_lba: Option<Lba>,
    sequence: u64,
    /// What reached the medium out of the cache, once somebody has asked for it.
    destaged: Option<Vec<Destaged>>,
    /// What happened, once somebody has asked for it.
    watched: Option<Vec<Step>>,
    pub(crate) counters: Counters,
}

impl Disk {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            rng: Rng::for_part(parts.seed, 0),
            queue: Vec::with_capacity(64),
            reads: ReadCache::new(parts.read_segments, parts.segment_size),
            writes: parts.write_cache.map(|(size, runs)| WriteCache::new(size, runs)),
            no_room: VecDeque::with_capacity(64),
            flushes: VecDeque::new(),
            access: None,
            ahead: None,
            arm: Arm::default(),
            next_lba: None,
            sequence: 0,
            destaged: None,
            watched: None,
            counters: Counters::default(),
            parts,
        }
    }

    pub(crate) fn capacity(&self) -> Sectors {
        self.parts.mechanics.geometry.capacity()
    }

    /// Moves the records of what reached the medium out of the cache; keeps them from now on.
    pub(crate) fn drain_destaged(&mut self, records: &mut Vec<Destaged>) {
        records.append(self.destaged.get_or_insert_default());
    }

    /// Moves the steps since the last call; keeps them from now on.
    pub(crate) fn watch(&mut self, steps: &mut Vec<Step>) {
        steps.append(self.watched.get_or_insert_default());
    }

    /// Keeps `step` where somebody watches.
    #[inline]
    pub(crate) fn note(&mut self, step: impl FnOnce() -> Step) {
        if let Some(steps) = &mut self.watched {
            steps.push(step());
        }
    }

    /// Takes a command that holds `tag`.
    pub(crate) fn accept(
        &mut self,
        now: Time,
        tag: u8,
        request: &Request,
        events: &mut EventQueue<Event>,
    ) {
        self.counters.commands += 1;
        self.sequence += 1;
        match request.op {
            Op::Read => self.accept_read(now, tag, request, events),
            Op::Write => self.accept_write(now, tag, request, events),
            Op::Flush => self.accept_flush(now, tag, events),
            Op::Trim => {
                if let Some(cache) = &mut self.writes {
                    let range = request.lba..request.end();
                    cache.drop_range(range, self.parts.port.quiet(), &self.parts.mechanics);
                    self.make_room(now, events);
                    self.finish_flushes(now, events);
                }
                self.answer_at_once(now, tag, events);
            }
        }
    }

    fn candidate(&self, now: Time, tag: u8, request: &Request) -> Candidate {
        Candidate {
            lba: request.lba,
            sectors: request.sectors,
            place: self.parts.mechanics.geometry.place(request.lba),
            write: request.op == Op::Write,
            tag,
            ready: now,
            arrived: now,
            sequence: self.sequence,
            newest: self.sequence,
        }
    }

    fn accept_read(
        &mut self,
        now: Time,
        tag: u8,
        request: &Request,
        events: &mut EventQueue<Event>,
    ) {
        let (start, end) = (request.lba, request.end());
        let hit = if self.writes.as_ref().is_some_and(|cache| cache.holds(start, end)) {
            Some(ServedBy::DriveWriteCache)
        } else {
            if self.ahead.is_some_and(|ahead| ahead.overlaps(start, end)) {
                self.buffer_read_ahead(now);
            }
            let held = self.reads.holds(start, end) || self.hits_by_chance();
            held.then_some(ServedBy::DriveReadCache)
        };
        if let Some(served_by) = hit {
            self.counters.cache_hits += 1;
            self.extend_read_ahead(now, end);
            let processing = self.parts.overheads.read_hit;
            let done = self.parts.port.exchange(now, processing, request.sectors);
            events.push(done, Event::Done { tag, served_by });
            return;
        }
        let ready = now + self.parts.overheads.read_miss;
        let candidate = Candidate { ready, ..self.candidate(now, tag, request) };
        self.enqueue(candidate, events);
    }

    fn accept_write(
        &mut self,
        now: Time,
        tag: u8,
        request: &Request,
        events: &mut EventQueue<Event>,
    ) {
        if self.ahead.is_some_and(|ahead| ahead.overlaps(request.lba, request.end())) {
            self.buffer_read_ahead(now);
            self.ahead = None;
        }
        if !planted!(StaleHit) {
            self.reads.forget(request.lba, request.end());
        }
        let candidate = self.candidate(now, tag, request);
        match &self.writes {
            Some(cache)
                if (!request.fua || planted!(FuaIgnored))
                    && cache.can_ever_hold(request.sectors) =>
            {
                if cache.has_room(request.sectors) && self.no_room.is_empty() {
                    self.cache_write(now, candidate, events);
                } else {
                    self.no_room.push_back(candidate);
                }
            }
            _ => {
                let first_frame = self.parts.port.receive(now, request.sectors);
                let ready = first_frame + self.parts.overheads.write_miss;
                self.enqueue(Candidate { ready, ..candidate }, events);
            }
        }
    }

    /// Takes a write into the cache and reports it as done.
    fn cache_write(&mut self, now: Time, write: Candidate, events: &mut EventQueue<Event>) {
        self.counters.cached_writes += 1;
        self.note(|| Step::Cached { at: now, tag: write.tag });
        let processing = self.parts.overheads.write_hit;
        let done = self.parts.port.exchange(now, processing, write.sectors);
        let served_by = ServedBy::DriveWriteCache;
        events.push(done, Event::Done { tag: write.tag, served_by });
        let cache = self.writes.as_mut().expect("only called with a cache");
        let ready = if planted!(DestageBeforeData) { now } else { done };
        cache.insert(Candidate { ready, arrived: now, ..write }, &self.parts.mechanics);
        if self.access.is_none() {
            events.push(done, Event::Wake);
        }
    }

    fn accept_flush(&mut self, now: Time, tag: u8, events: &mut EventQueue<Event>) {
        let clean = self.writes.as_ref().is_none_or(WriteCache::is_clean);
        if (clean && self.no_room.is_empty()) || planted!(FlushDoesNotDrain) {
            self.answer_at_once(now, tag, events);
            return;
        }
        self.flushes.push_back(PendingFlush { tag, before: self.sequence });
        if self.access.is_none() {
            events.push(now, Event::Wake);
        }
    }

    /// Answers a command that needs neither data nor medium.
    fn answer_at_once(&mut self, now: Time, tag: u8, events: &mut EventQueue<Event>) {
        let processing = self.parts.overheads.write_hit;
        let done = self.parts.port.exchange(now, processing, Sectors::ZERO);
        events.push(done, Event::Done { tag, served_by: ServedBy::DriveWriteCache });
    }

    fn enqueue(&mut self, candidate: Candidate, events: &mut EventQueue<Event>) {
        if self.access.is_none() {
            events.push(candidate.ready, Event::Wake);
        }
        self.queue.push(candidate);
    }

    /// Something may have become ready while the medium was idle.
    ///
    /// An idle drive takes what comes first: it commits before it can know what else will come.
    pub(crate) fn wake(&mut self, now: Time, events: &mut EventQueue<Event>) {
        if self.access.is_none() {
            self.commit(now, Order::Fifo, events);
        }
    }

    /// Commits the medium to the best of the accesses that are ready, if there is one.
    fn commit(&mut self, now: Time, order: Order, events: &mut EventQueue<Event>) {
        loop {
            let ahead = self.head_of_read_ahead(now);
            let heads = Heads { now, arm: self.arm, next: self.next_lba, ahead };
            let Some((work, cached)) = self.choose(heads, order) else {
                self.sleep_until_ready(now, events);
                return;
            };
            let reads_on = !cached && heads.reads_on_with(&work);
            if !(reads_on && self.answer_from_buffer(now, &work, events)) {
                self.begin(now, work, cached, reads_on, events);
                return;
            }
        }
    }

    /// Takes the best access out of the queue or the write cache; says whether it was cached.
    fn choose(&mut self, heads: Heads, order: Order) -> Option<(Candidate, bool)> {
        let mut choosing = Choosing::new(&self.parts.mechanics, order, heads);
        let queued = choosing.best_of(&self.queue);
        if self.destages(heads.now, queued.is_some()) {
            let cache = self.writes.as_mut().expect("only a cache destages");
            if let Some(index) = choosing.best_of_cached(cache.runs()) {
                let run = cache.begin(index);
                if planted!(DestageDropped) && run.sequence.is_multiple_of(4) {
                    cache.finish();
                } else {
                    return Some((run, true));
                }
            }
        }
        queued.map(|index| (self.queue.swap_remove(index), false))
    }

    /// Answers a queued read that read-ahead has meanwhile completed.
    fn answer_from_buffer(
        &mut self,
        now: Time,
        read: &Candidate,
        events: &mut EventQueue<Event>,
    ) -> bool {
        if !self.reads.holds(read.lba, read.lba + read.sectors) {
            return false;
        }
        self.counters.cache_hits += 1;
        self.extend_read_ahead(now, read.lba + read.sectors);
        let done = self.parts.port.exchange(now, Span::ZERO, read.sectors);
        events.push(done, Event::Done { tag: read.tag, served_by: ServedBy::DriveReadCache });
        true
    }

    /// Whether cached data may go to the medium now.
    fn destages(&self, now: Time, others_wait: bool) -> bool {
        let Some(cache) = &self.writes else { return false };
        let late = || cache.oldest().is_some_and(|since| now.since(since) >= LATE_DESTAGE);
        !others_wait
            || !self.flushes.is_empty()
            || !self.no_room.is_empty()
            || cache.is_pressed()
            || late()
    }

    /// Nothing is ready yet: comes back when something is.
    fn sleep_until_ready(&self, now: Time, events: &mut EventQueue<Event>) {
        let runs = self.writes.as_ref().map_or(&[][..], WriteCache::runs);
        let ready = self.queue.iter().chain(runs).map(|candidate| candidate.ready).min();
        if let Some(ready) = ready.filter(|ready| *ready > now) {
            events.push(ready, Event::Wake);
        }
    }

    fn begin(
        &mut self,
        now: Time,
        work: Candidate,
        cached: bool,
        reads_on: bool,
        events: &mut EventQueue<Event>,
    ) {
        assert!(self.access.is_none(), "the medium serves one access at a time");
        let end = work.lba + work.sectors;
        let (streaming_since, ended) = if let Some(ahead) = self.ahead.filter(|_| reads_on) {
            // Read-ahead is on its way already: what is buffered need not be read again.
            let ended = ahead.finish(&self.parts.mechanics, end);
            assert!(ended.at >= now, "what is buffered is answered from the buffer");
            (now, ended)
        } else {
            let at = self.parts.mechanics.arrive(now, self.arm, work.place, work.write);
            let stream =
                Stream { lba: work.lba, place: work.place, at: at + self.lost_to_retries() };
            (at, self.parts.mechanics.transfer(stream, work.sectors))
        };
        self.ahead = None;
        self.counters.medium_busy += ended.at.since(now);
        self.access = Some(Access { work, cached, begun: now, streaming_since, ended });
        self.note_begun(now, reads_on);
        if planted!(DoneBeforeMedium) && !cached {
            let served_by = ServedBy::Medium;
            events.push(streaming_since, Event::Done { tag: work.tag, served_by });
        }
        let free = if planted!(TwoOnMedium) { streaming_since.max(now) } else { ended.at };
        events.push(free, Event::MediumFree);
    }

    fn note_begun(&mut self, at: Time, goes_on: bool) {
        let Some(Access { work, cached, streaming_since, ended, .. }) = self.access else { return };
        self.note(|| {
            let access = watch::Access {
                tag: (!cached).then_some(work.tag),
                write: work.write,
                lba: work.lba,
                sectors: work.sectors,
                goes_on,
                on_sector: streaming_since,
                until: ended.at,
            };
            Step::Begun { at, access }
        });
    }

    fn hits_by_chance(&mut self) -> bool {
        let share = self.parts.hit_share;
        share != Ratio::ZERO && self.rng.chance(share)
    }

    fn lost_to_retries(&mut self) -> Span {
        let Retries { share, revolutions } = self.parts.retries;
        if share == Ratio::ZERO || !self.rng.chance(share) {
            return Span::ZERO;
        }
        self.parts.mechanics.spindle.time_for(u128::from(revolutions) << 64)
    }

    /// The access is done: answers it, and commits to the next before the host can react.
    pub(crate) fn medium_free(&mut self, now: Time, events: &mut EventQueue<Event>) {
        let access = self.access.take().expect("the medium was busy");
        self.note(|| Step::Ended { at: now });
        let Access { work, .. } = access;
        let end = work.lba + work.sectors;
        self.arm = access.ended.arm;
        self.next_lba = Some(end);
        if access.cached {
            let run = self.writes.as_mut().expect("it gave the run").finish();
            self.counters.destaged_runs += 1;
            if let Some(records) = &mut self.destaged {
                let (lba, sectors) = (run.lba, run.sectors);
                records.push(Destaged { lba, sectors, taken: access.begun, at: now });
            }
        } else if work.write {
            if let Some(cache) = &mut self.writes {
                cache.superseded(&work, self.parts.port.quiet(), &self.parts.mechanics);
            }
            let done = self.parts.port.report(now);
            self.answer_from_medium(done, work.tag, events);
        } else {
            let buffered = self.reads.fill(work.lba, end);
            let port = &mut self.parts.port;
            let done = port.send_streamed(access.streaming_since, now, work.sectors);
            self.answer_from_medium(done, work.tag, events);
            self.read_on(access.ended, buffered..end);
        }
        if !planted!(RoomUnnoticed) || access.cached {
            self.make_room(now, events);
        }
        self.finish_flushes(now, events);
        self.commit(now, self.parts.order, events);
        self.next_lba = None;
    }

    fn answer_from_medium(&self, done: Time, tag: u8, events: &mut EventQueue<Event>) {
        if planted!(DoneBeforeMedium) {
            return;
        }
        if planted!(RequestLost) && self.sequence.is_multiple_of(64) {
            return;
        }
        events.push(done, Event::Done { tag, served_by: ServedBy::Medium });
    }

    /// After a read the head stays with the stream until something else is to be done.
    fn read_on(&mut self, ended: Ended, read: Range<Lba>) {
        if self.parts.read_segments > 0 {
            let size = self.parts.read_ahead;
            self.ahead = ReadAhead::after(&self.parts.mechanics, ended, read, size);
            self.note_ahead();
        }
    }

    fn note_ahead(&mut self) {
        if let Some((from, to)) = self.ahead.map(|ahead| ahead.range()) {
            self.note(|| Step::ReadsAhead { from, to });
        }
    }

    /// Takes over what read-ahead has brought in up to `now`.
    fn buffer_read_ahead(&mut self, now: Time) {
        if let Some(ahead) = &mut self.ahead {
            self.arm = ahead.advance(&self.parts.mechanics, now, &mut self.reads);
        }
    }

    /// What read-ahead holds at `now`, up to where the head is; `None` where the head stands by.
    fn head_of_read_ahead(&mut self, now: Time) -> Option<(Lba, Lba)> {
        self.buffer_read_ahead(now);
        self.ahead.and_then(|ahead| ahead.streaming())
    }

    /// The host has taken the stream up to `end`: read-ahead may go on beyond.
    fn extend_read_ahead(&mut self, now: Time, end: Lba) {
        if let Some(ahead) = &mut self.ahead {
            ahead.extend(&self.parts.mechanics, self.arm, now, end, self.parts.read_ahead);
            self.note_ahead();
        }
    }

    /// Lets in as many waiting writes as the cache has room for.
    fn make_room(&mut self, now: Time, events: &mut EventQueue<Event>) {
        while let Some(write) = self.no_room.front().copied() {
            let cache = self.writes.as_ref().expect("writes wait for the cache");
            if !cache.has_room(write.sectors) {
                return;
            }
            self.no_room.pop_front();
            self.cache_write(now, write, events);
        }
    }

    fn finish_flushes(&mut self, now: Time, events: &mut EventQueue<Event>) {
        while let Some(flush) = self.flushes.front().copied() {
            let first_waiting = self.no_room.front().map_or(u64::MAX, |write| write.sequence);
            let cache = self.writes.as_ref().expect("a flush waits for the cache");
            if first_waiting < flush.before || !cache.is_clean_before(flush.before) {
                return;
            }
            self.flushes.pop_front();
            let done = self.parts.port.report(now);
            events.push(done, Event::Done { tag: flush.tag, served_by: ServedBy::Medium });
        }
    }
}
