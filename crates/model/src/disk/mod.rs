//! A hard disk: arm, platter, buffer and the firmware that decides what comes next.

mod accept;
pub(crate) mod geometry;
pub(crate) mod mechanics;
pub(crate) mod parts;
pub(crate) mod queue;
mod read_ahead;
mod read_cache;
mod read_on;
pub(crate) mod seek;
pub(crate) mod shingled;
mod writing;

use std::collections::VecDeque;

use drivelab_core::{Destaged, Lba, Ratio, Request, Rng, Sectors, ServedBy, Span, Time};

use crate::controller::Port;
use crate::counters::Counters;
use crate::event::{Event, Events};
use crate::stack::Mechanism;
use crate::tag::Tag;
use crate::watch::{self, Platter, Step};
use geometry::Arm;
use mechanics::{Mechanics, Stream, TransferEnd};
use parts::{Parts, Retries, UncachedWrites};
use queue::{Candidate, Choosing, Heads, Order};
use read_ahead::ReadAhead;
use read_cache::ReadCache;
use shingled::{Shingled, Shingling};
use writing::WriteCache;

/// Age at which cached data competes with waiting reads even while the cache is far from full, so
/// that a stream of reads cannot keep it off the medium forever.
// Our choice: the read expiry of Linux' mq-deadline, and well below the 2 s of the firmware's
// ageing.
const LATE_DESTAGE: Span = Span::from_ms(500);

#[derive(Debug, Clone, Copy)]
struct Access {
    work: Candidate,
    cached: bool,
    begun: Time,
    /// Time at which the first sector was under the head.
    streaming_since: Time,
    ended: TransferEnd,
    /// The first sector that it passed, and the one behind the last.
    passed: [Lba; 2],
}

/// The path of the head for an access: when it came over the data, and how it ended.
type Passage = (Time, TransferEnd);

/// A flush that waits until all earlier data is on the medium.
#[derive(Debug, Clone, Copy)]
struct PendingFlush {
    tag: Tag,
    before: u64,
}

/// A hard disk as a state machine driven by its own events.
#[derive(Debug)]
pub(crate) struct Disk {
    parts: Parts,
    port: Port,
    rng: Rng,
    /// Reads, and writes that bypass the cache.
    queue: Vec<Candidate>,
    reads: ReadCache,
    writes: Option<WriteCache>,
    /// Writes that found the cache full.
    no_room: VecDeque<Candidate>,
    flushes: VecDeque<PendingFlush>,
    access: Option<Access>,
    ahead: Option<ReadAhead>,
    arm: Arm,
    /// The sector that comes under the head next, directly after a transfer.
    next_lba: Option<Lba>,
    /// The physical sectors of the last write, which are still in memory.
    written: (Lba, Lba),
    sequence: u64,
    /// `None` where no tracks overlap.
    shingled: Option<Box<Shingled>>,
    /// Records of destaged data; `None` until the first request for them.
    destaged: Option<Vec<Destaged>>,
    /// Steps; `None` until the first request for them.
    watched: Option<Vec<Step>>,
    counters: Counters,
}

impl Disk {
    /// A disk of `parts` behind `port`; `seed` governs its retries and chance hits.
    /// Its layout, for pictures.
    pub(crate) fn platter(&self) -> Platter<'_> {
        let Mechanics { geometry, spindle, seeks, .. } = &self.parts.mechanics;
        Platter { geometry, spindle, seeks }
    }

    pub(crate) fn new(parts: Parts, port: Port, seed: u64) -> Self {
        Self {
            port,
            rng: Rng::for_part(seed, 0),
            queue: Vec::with_capacity(64),
            reads: ReadCache::new(parts.read_segments, parts.segment_size),
            writes: parts.write_cache.map(WriteCache::new),
            no_room: VecDeque::with_capacity(64),
            flushes: VecDeque::new(),
            access: None,
            ahead: None,
            arm: Arm::default(),
            next_lba: None,
            written: (Lba::ZERO, Lba::ZERO),
            sequence: 0,
            shingled: None,
            destaged: None,
            watched: None,
            counters: Counters::default(),
            parts,
        }
    }

    /// The same disk with overlapping tracks; its media cache is full of random writes if
    /// `is_used`.
    pub(crate) fn shingled(mut self, shape: Shingling, is_used: bool, seed: u64) -> Self {
        let all = self.capacity();
        let mut shingled = Shingled::new(shape, all);
        if is_used {
            shingled.fill(all, seed);
        }
        self.shingled = Some(Box::new(shingled));
        self
    }

    /// Commits the medium to the best of the ready accesses, if any.
    fn commit(&mut self, now: Time, order: Order, events: &mut Events) {
        if self.shingled.is_some() {
            self.commit_shingled(now, order, events);
            return;
        }
        loop {
            let ahead = self.head_of_read_ahead(now);
            let heads = Heads { now, arm: self.arm, next: self.next_lba, ahead };
            let Some((work, cached)) = self.choose(heads, order) else {
                self.sleep_until_ready(now, events);
                return;
            };
            let continues = !cached && heads.continue_with(&work);
            // A read that the buffer answers leaves the medium free: choose again.
            if !(continues && self.answer_from_buffer(now, &work, events)) {
                self.begin(now, work, cached, continues, events);
                return;
            }
        }
    }

    /// Takes the best access out of the queue or the write cache; the flag marks cached data.
    fn choose(&mut self, heads: Heads, order: Order) -> Option<(Candidate, bool)> {
        let mut choosing = Choosing::new(&self.parts.mechanics, order, heads);
        // Writes that bypass the cache keep their order in some firmware, reads never do.
        let queued = if self.parts.uncached_writes == UncachedWrites::InOrder {
            choosing.best_with_writes_in_order(&self.queue)
        } else {
            choosing.best_of(&self.queue)
        };
        if self.destages(heads.now, queued.is_some()) {
            let cache = self.writes.as_mut().expect("only a cache destages");
            if let Some(index) = choosing.best_of_cached(cache.runs()) {
                return Some((cache.begin(index), true));
            }
        }
        queued.map(|index| (self.queue.swap_remove(index), false))
    }

    /// Answers a queued read that read-ahead has completed in the meantime.
    fn answer_from_buffer(&mut self, now: Time, read: &Candidate, events: &mut Events) -> bool {
        if !self.reads.holds(read.lba, read.lba + read.sectors) {
            return false;
        }
        self.counters.cache_hits += 1;
        self.extend_read_ahead(now, read.lba + read.sectors);
        let done = self.port.exchange(now, Span::ZERO, read.sectors);
        events.push(done, Event::Done { tag: read.tag, served_by: ServedBy::DriveReadCache });
        true
    }

    fn destages(&self, now: Time, others_wait: bool) -> bool {
        // Reads block the host and cached writes do not, so cached data waits unless it has to go.
        let Some(cache) = &self.writes else { return false };
        !others_wait
            || !self.flushes.is_empty()
            || !self.no_room.is_empty()
            || cache.is_pressed()
            || cache.oldest().is_some_and(|since| now.since(since) >= LATE_DESTAGE)
    }

    fn sleep_until_ready(&self, now: Time, events: &mut Events) {
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
        continues: bool,
        events: &mut Events,
    ) {
        assert!(self.access.is_none(), "the medium serves one access at a time");
        let end = work.lba + work.sectors;
        let mut passed = [work.lba, end];
        let (streaming_since, ended) = if let Some(ahead) = self.ahead.filter(|_| continues) {
            // Read-ahead is on its way already: buffered sectors need not be read again.
            let ended = ahead.finish(&self.parts.mechanics, end);
            assert!(ended.at >= now, "buffered data is answered from the buffer");
            (now, ended)
        } else if self.shingled.is_some() {
            let (passage, elsewhere) = self.pass_shingled(now, &work);
            passed = elsewhere;
            passage
        } else if let Some(passage) = self.write_of_parts(now, &work) {
            passage
        } else {
            let mechanics = &self.parts.mechanics;
            // Directly behind the last transfer the head needs no search for the track.
            let at = if self.next_lba == Some(work.lba) {
                mechanics.arrive_next(now, self.arm, work.location, work.write)
            } else {
                mechanics.arrive(now, self.arm, work.location, work.write)
            };
            let stream =
                Stream { lba: work.lba, location: work.location, at: at + self.retry_time() };
            (at, self.parts.mechanics.transfer(stream, work.sectors))
        };
        // The arm moves away: the stream is over.
        self.ahead = None;
        self.counters.medium_busy += ended.at.since(now);
        self.access = Some(Access { work, cached, begun: now, streaming_since, ended, passed });
        self.note_begun(now, continues);
        events.push(ended.at, Event::MediumFree);
    }

    fn note_begun(&mut self, at: Time, continues_read_ahead: bool) {
        let Some(access) = self.access else { return };
        let Access { work, cached, streaming_since, ended, passed: [lba, _], .. } = access;
        self.note(|| {
            let access = watch::Access {
                tag: (!cached).then_some(work.tag),
                write: work.write,
                lba,
                sectors: work.sectors,
                continues_read_ahead,
                on_sector: streaming_since,
                until: ended.at,
            };
            Step::Begun { at, access }
        });
    }

    /// Returns true if the firmware waits for the host's next request before it chooses. What
    /// continues the last access is not chosen, but passes the head.
    fn chooses_later(&self) -> bool {
        let waits = self.parts.late > Span::ZERO && !self.queue.is_empty();
        waits && self.queue.iter().all(|it| Some(it.lba) != self.next_lba)
    }

    fn retry_time(&mut self) -> Span {
        let Retries { share, revolutions } = self.parts.retries;
        if share == Ratio::ZERO || !self.rng.chance(share) {
            return Span::ZERO;
        }
        // A failed access is repeated when its sector comes round again: whole revolutions.
        self.parts.mechanics.spindle.time_for(u128::from(revolutions) << 64)
    }

    fn finish_flushes(&mut self, now: Time, events: &mut Events) {
        while let Some(flush) = self.flushes.front().copied() {
            let first_waiting = self.no_room.front().map_or(u64::MAX, |write| write.sequence);
            // A write that waits for room is unacknowledged, but the flush came after it all the
            // same.
            let cache = self.writes.as_ref().expect("a flush waits for the cache");
            if first_waiting < flush.before || !cache.is_clean_before(flush.before) {
                return;
            }
            self.flushes.pop_front();
            let done = self.port.report(now);
            events.push(done, Event::Done { tag: flush.tag, served_by: ServedBy::Medium });
        }
    }
}

impl Mechanism for Disk {
    fn capacity(&self) -> Sectors {
        self.parts.mechanics.geometry.capacity()
    }

    #[inline]
    fn accept(&mut self, now: Time, tag: Tag, request: &Request, events: &mut Events) {
        self.take(now, tag, request, events);
    }

    /// Commits the idle medium in order of arrival: it starts before it can know of later commands,
    /// unless it has waited for them.
    fn wake(&mut self, now: Time, events: &mut Events) {
        if self.access.is_none() {
            let order = if self.parts.late == Span::ZERO { Order::Fifo } else { self.parts.order };
            self.commit(now, order, events);
        }
    }

    /// Answers the finished access, and commits to the next before the host can react.
    fn medium_free(&mut self, now: Time, events: &mut Events) {
        let access = self.access.take().expect("the medium was busy");
        debug_assert_eq!(access.ended.at, now, "the access ends at its event");
        self.note(|| Step::Ended { at: now });
        let Access { work, passed: [_, next], .. } = access;
        let end = work.lba + work.sectors;
        self.arm = access.ended.arm;
        self.next_lba = Some(next);
        if self.end_cleaning_step(now, events) {
            return;
        }
        if work.write {
            self.written = self.around(&work);
        }
        if access.cached {
            let run = self.writes.as_mut().expect("it gave the run").finish();
            self.counters.destaged_runs += 1;
            if let Some(records) = &mut self.destaged {
                let (lba, sectors) = (run.lba, run.sectors);
                records.push(Destaged { lba, sectors, taken: access.begun, at: now });
            }
        } else if work.write {
            if let Some(cache) = &mut self.writes {
                // Older cached data of the same sectors must not overwrite this write later.
                cache.superseded(&work, self.port.quiet(), &self.parts.mechanics);
            }
            let done = self.port.report(now);
            events.push(done, Event::Done { tag: work.tag, served_by: ServedBy::Medium });
        } else {
            let buffered = self.reads.fill(work.lba, end);
            let port = &mut self.port;
            let done = port.send_streamed(access.streaming_since, now, work.sectors);
            events.push(done, Event::Done { tag: work.tag, served_by: ServedBy::Medium });
            // Behind data in a media cache there is nothing to read on.
            if next == end {
                self.start_read_ahead(access.ended, buffered..end);
            }
        }
        self.make_room(now, events);
        self.finish_flushes(now, events);
        if self.chooses_later() {
            events.push(now + self.parts.late, Event::Wake);
        } else {
            self.commit(now, self.parts.order, events);
        }
        // Rotation has moved on: from here the next access has to search for its track.
        self.next_lba = None;
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
        self.counters
    }
}
