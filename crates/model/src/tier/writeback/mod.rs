//! A tier that buffers writes and writes them back later, after Linux bcache in writeback mode.
//!
//! After `drivers/md/bcache`: admission and limits (`request.c`, `writeback.h`), the rate of
//! cleaning (`writeback.c`), the journal (`journal.c`).

mod cache;
mod journal;
mod rate;
mod stream;

use std::ops::Range;

use drivelab_core::{
    Completion, Destaged, Device, Lba, Op, Request, Sectors, ServedBy, Span, Time,
};

use super::between::{Front, Policy};
use super::host::Held;
use super::pair::Side;
use super::{UNIT, extend, sectors_of, units};
use cache::{BUCKET, Cache};
use journal::{Journal, Key};
use rate::Rate;
use stream::Streams;

/// `CUTOFF_WRITEBACK_SYNC`: percentage in use above which writes go to both drives.
const NO_MORE_DIRTY: u64 = 70;
/// `CUTOFF_CACHE_ADD`: percentage in use above which the cache takes no data.
const NO_MORE: u64 = 95;
/// Maximum pieces being written back (`in_flight` of `struct cached_dev`).
const MOST_PIECES: u32 = 64;
/// Maximum size of a piece in units, a bucket.
const PIECE: u64 = BUCKET as u64;
/// Pause after a pass over all dirty data (`writeback_delay`).
const PAUSE: Span = Span::from_secs(30);

/// The relation of a request to the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    /// A read whose data is added to the cache.
    Fills,
    /// A write with data on the fast drive only.
    Kept,
    /// A write of that kind that waits for the journal.
    Forced,
    /// Anything else.
    Passes,
}

#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// Part of a request of the host.
    Of(usize),
    /// The fast drive's half of a write to both.
    Copy(usize),
    /// Data that a read missed; no request waits for it.
    Fill,
    JournalFlush,
    JournalEntry,
    /// Dirty units, read from consecutive slots.
    CleanRead(Range<u64>, u64),
    CleanWrite(Range<u64>, u64),
}

/// A slow drive behind a cache on a fast one.
#[derive(Debug)]
pub(crate) struct Writeback<D> {
    front: Front<D, Note, Part>,
    cache: Cache,
    journal: Journal,
    streams: Streams,
    rate: Rate,
    pieces: u32,
    /// Unit at which cleaning continues.
    cursor: u64,
    /// End of the pause between two passes.
    paused_until: Time,
    /// Writes past the cache that are in the slow drive's volatile cache, with the times of their
    /// answers; only while recording is on.
    passed: Vec<(Time, Key)>,
    destaged: Option<Vec<Destaged>>,
}

impl<D: Device> Writeback<D> {
    /// `slow` behind a cache on all of `fast`.
    pub(crate) fn new(slow: D, fast: D) -> Self {
        let sectors = fast.capacity().get().saturating_sub(journal::SECTORS);
        let buckets =
            u32::try_from(sectors / UNIT / u64::from(BUCKET)).unwrap_or(u32::MAX / BUCKET);
        Self {
            front: Front::new(slow, fast),
            cache: Cache::new(buckets.min(u32::MAX / BUCKET)),
            journal: Journal::default(),
            streams: Streams::default(),
            rate: Rate::new(),
            pieces: 0,
            cursor: 0,
            paused_until: Time::ZERO,
            passed: Vec::new(),
            destaged: None,
        }
    }

    /// Fills the cache with clean copies of the first units of the drive.
    pub(crate) fn warm(&mut self) {
        for unit in 0..self.cache.units().min(self.front.host.capacity().get() / UNIT) {
            self.cache.assign(unit, false);
        }
    }

    /// Sends a part of a request of the host.
    fn send_of(&mut self, now: Time, side: Side, parent: usize, request: Request) {
        self.front.host.requests[parent].pending.left += 1;
        self.front.send(now, side, Part::Of(parent), request);
    }

    /// Returns the units of a request in contiguous runs with their first slots; `None` for runs
    /// outside the cache.
    fn runs(&mut self, request: &Request) -> Vec<(Range<u64>, Option<u64>)> {
        let mut runs: Vec<(Range<u64>, Option<u64>)> = Vec::new();
        for unit in units(request) {
            let slot = self.cache.slot_of(unit);
            if let Some(slot) = slot {
                self.cache.touch(slot);
            }
            let slot = slot.map(u64::from);
            match runs.last_mut() {
                Some((run, first)) if slot == first.map(|first| first + (unit - run.start)) => {
                    run.end += 1;
                }
                _ => runs.push((unit..unit + 1, slot)),
            }
        }
        runs
    }

    fn read(&mut self, now: Time, request: Request) {
        // Beyond the limit new data would displace dirty buckets that cannot be reused yet.
        let adds = !self.streams.is_long(&request) && self.cache.percent_in_use() <= NO_MORE;
        let parent =
            self.front.host.open(now, request, if adds { Note::Fills } else { Note::Passes });
        for (run, slot) in self.runs(&request) {
            if let Some(slot) = slot {
                let (lba, sectors) = in_slots(&(slot..slot + run.end - run.start));
                let part = Request { lba, sectors, ..request };
                self.send_of(now, Side::Fast, parent, part);
            } else {
                let (lba, sectors) = sectors_of(&run);
                let (lba, end) = (lba.max(request.lba), (lba + sectors).min(request.end()));
                let part = Request { lba, sectors: end - lba, ..request };
                self.send_of(now, Side::Slow, parent, part);
            }
        }
    }

    /// A write goes to the cache, to both drives, or past the cache.
    fn write(&mut self, now: Time, request: Request) {
        let (long, in_use) = (self.streams.is_long(&request), self.cache.percent_in_use());
        // A write around the cache would be overwritten later by the older dirty data.
        let must = units(&request).any(|unit| self.cache.is_dirty(unit));
        let keeps = must || (!long && in_use <= NO_MORE_DIRTY);
        let parent = self.front.host.open(now, request, Note::Passes);
        if keeps && self.write_to_cache(now, parent, &request) {
            return;
        }
        // The older copies are stale once the slow drive has the new data.
        for unit in units(&request) {
            self.cache.drop_unit(unit);
        }
        self.send_of(now, Side::Slow, parent, request);
        if !long && in_use <= NO_MORE {
            self.fill(now, &request, Some(parent));
        }
    }

    /// Writes all of a request to the cache as dirty units; returns false if there is no space.
    fn write_to_cache(&mut self, now: Time, parent: usize, request: &Request) -> bool {
        let mut slots = Vec::new();
        for unit in units(request) {
            let Some(slot) = self.cache.assign(unit, true) else {
                return false;
            };
            extend(&mut slots, u64::from(slot));
        }
        self.front.host.requests[parent].note = Note::Kept;
        for run in slots {
            let (lba, sectors) = in_slots(&run);
            let part = Request { lba, sectors, fua: false, ..*request };
            // Force unit access is up to the journal, not to each piece of data.
            self.send_of(now, Side::Fast, parent, part);
        }
        true
    }

    /// Adds clean data of the slow drive to the cache; `parent` waits for it.
    fn fill(&mut self, now: Time, request: &Request, parent: Option<usize>) {
        let mut slots = Vec::new();
        for unit in units(request) {
            if self.cache.slot_of(unit).is_none()
                && let Some(slot) = self.cache.assign(unit, false)
            {
                extend(&mut slots, u64::from(slot));
            }
        }
        for run in slots {
            let (lba, sectors) = in_slots(&run);
            let part = parent.map_or(Part::Fill, Part::Copy);
            if let Some(parent) = parent {
                self.front.host.requests[parent].pending.left += 1;
            }
            self.front.send(now, Side::Fast, part, Request::write(0, lba, sectors));
        }
    }

    fn flush(&mut self, now: Time, request: Request) {
        let parent = self.front.host.open(now, request, Note::Passes);
        self.front.host.requests[parent].pending.left += 1;
        self.journal.wait(now, parent);
        self.send_of(now, Side::Slow, parent, request);
    }

    fn trim(&mut self, now: Time, request: Request) {
        // A partly trimmed unit keeps its data.
        let whole = request.lba.get().div_ceil(UNIT)..request.end().get() / UNIT;
        for unit in whole {
            self.cache.drop_unit(unit);
        }
        let parent = self.front.host.open(now, request, Note::Passes);
        self.send_of(now, Side::Slow, parent, request);
    }

    /// Marks written-back units as clean, unless they have been rewritten since.
    fn cleaned(&mut self, run: Range<u64>, slot: u64) {
        debug_assert!(self.pieces > 0, "a piece was written back twice");
        self.pieces -= 1;
        for (unit, slot) in run.zip(slot..) {
            if self.cache.slot_of(unit).map(u64::from) == Some(slot) {
                self.cache.clean(unit);
            }
        }
    }

    fn settle(&mut self, parent: usize, part: &Completion, completed: &mut Vec<Completion>) {
        if !self.front.host.part_done(parent, part) {
            return;
        }
        let now = part.at;
        let Held { request, submitted, note, .. } = &mut self.front.host.requests[parent];
        let key = Key { lba: request.lba, sectors: request.sectors, submitted: *submitted };
        if *note == Note::Kept {
            self.journal.add(now, key);
            if request.fua {
                *note = Note::Forced;
                self.front.host.requests[parent].pending.left = 1;
                return self.journal.wait(now, parent);
            }
        }
        let held = self.front.host.close(parent);
        let mut answer = held.pending.completion(now);
        match (held.note, held.request.op) {
            // A power cut before its key is in the journal loses it.
            (Note::Kept, _) => answer.served_by = ServedBy::DriveWriteCache,
            (Note::Forced, _) => answer.served_by = ServedBy::Medium,
            (Note::Fills, _) => self.fill(now, &held.request, None),
            (Note::Passes, Op::Write) if answer.served_by == ServedBy::DriveWriteCache => {
                if self.destaged.is_some() {
                    self.passed.push((now, key));
                }
            }
            (Note::Passes, Op::Flush) => self.flushed(now, held.submitted),
            (Note::Passes, _) => {}
        }
        completed.push(answer);
    }

    /// Completes a flush of the slow drive that was submitted at `submitted`.
    fn flushed(&mut self, now: Time, submitted: Time) {
        let Some(records) = &mut self.destaged else { return };
        self.passed.retain(|(answered, key)| {
            let durable = *answered <= submitted;
            if durable {
                records.push(key.durable(now));
            }
            !durable
        });
    }

    /// Returns the time of the next dirty piece.
    fn next_piece(&self) -> Option<Time> {
        let may = self.cache.dirty() > 0 && self.pieces < MOST_PIECES;
        may.then(|| self.rate.next.max(self.paused_until).max(self.front.clock))
    }

    /// Returns the time of the next update of the cleaning rate.
    fn next_update(&self) -> Option<Time> {
        (self.cache.dirty() > 0).then(|| Rate::next_update(self.front.clock))
    }

    /// Begins the write-back of the next dirty piece.
    fn clean(&mut self, now: Time) {
        let Some(run) = self.cache.dirty_run(self.cursor, PIECE) else {
            (self.cursor, self.paused_until) = (0, now + PAUSE);
            return;
        };
        let slot = self.cache.slot_of(run.start).expect("a dirty unit has a slot");
        let slots = u64::from(slot)..u64::from(slot) + run.end - run.start;
        let (lba, sectors) = in_slots(&slots);
        self.cursor = run.end;
        self.pieces += 1;
        debug_assert!(self.pieces <= MOST_PIECES, "more pieces than bcache keeps in flight");
        self.rate.sent(now, sectors.get());
        self.front.send(
            now,
            Side::Fast,
            Part::CleanRead(run, slots.start),
            Request::read(0, lba, sectors),
        );
    }
}

/// Returns the sectors of slots, which follow the journal.
fn in_slots(slots: &Range<u64>) -> (Lba, Sectors) {
    let (lba, sectors) = sectors_of(slots);
    (lba + Sectors::new(journal::SECTORS), sectors)
}

impl<D: Device> Policy for Writeback<D> {
    type Drive = D;
    type Note = Note;
    type Part = Part;
    type Due = [Option<Time>; 3];

    fn front(&self) -> &Front<D, Note, Part> {
        &self.front
    }

    fn front_mut(&mut self) -> &mut Front<D, Note, Part> {
        &mut self.front
    }

    fn serve(&mut self, now: Time, request: Request) {
        match request.op {
            Op::Read => self.read(now, request),
            Op::Write => self.write(now, request),
            Op::Flush => self.flush(now, request),
            Op::Trim => self.trim(now, request),
        }
    }

    fn part_done(&mut self, part: Part, done: &Completion, completed: &mut Vec<Completion>) {
        let now = done.at;
        match part {
            Part::Fill => {}
            Part::Of(parent) => self.settle(parent, done, completed),
            Part::Copy(parent) => {
                // Durability is that of the slow drive; the copy is clean.
                let copied = Completion { served_by: ServedBy::Unknown, ..*done };
                self.settle(parent, &copied, completed);
            }
            Part::JournalFlush => {
                let entry = self.journal.entry();
                self.front.send(now, Side::Fast, Part::JournalEntry, entry);
            }
            Part::JournalEntry => {
                for parent in self.journal.written(now, &mut self.destaged) {
                    let written = Completion { served_by: ServedBy::Medium, ..*done };
                    self.settle(parent, &written, completed);
                }
            }
            Part::CleanRead(run, slot) => {
                let (lba, sectors) = sectors_of(&run);
                let end = (lba + sectors).min(Lba::ZERO + self.front.host.capacity());
                let write = Request::write(0, lba, end - lba);
                self.front.send(now, Side::Slow, Part::CleanWrite(run, slot), write);
            }
            Part::CleanWrite(run, slot) => self.cleaned(run, slot),
        }
    }

    fn due(&self) -> [Option<Time>; 3] {
        // The journal may have become due while it was being written.
        let journal = self.journal.due().map(|due| due.max(self.front.clock));
        [journal, self.next_update(), self.next_piece()]
    }

    fn background_work(&mut self, at: Time, due: [Option<Time>; 3]) {
        let [journal, update, piece] = due.map(|due| due.is_some_and(|due| due <= at));
        if update {
            // Before a piece of the same time, which then gets the new rate.
            let (dirty, all) = (self.cache.dirty() * UNIT, self.cache.units() * UNIT);
            self.rate.update(at, dirty, all, self.front.last_request);
        }
        if journal && self.journal.due().is_some() {
            self.journal.begin();
            self.front.send(at, Side::Fast, Part::JournalFlush, Request::flush(0));
        }
        if piece && self.next_piece().is_some_and(|due| due <= at) {
            self.clean(at);
        }
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        records.append(self.destaged.get_or_insert_default());
    }
}
