//! Drives behind a controller whose write cache a battery protects.
//!
//! A write is answered once the controller's memory has it, a flush at once. The controller writes
//! its data to the drives in ascending order, neighbours together and whole stripes where it has
//! them, a few writes at a time; a write waits while the memory is full. Reads of data that the
//! memory holds are answered from there. Without its battery such a controller writes through: it
//! is then not built.
//!
//! Not modelled: read-ahead of the controller, a delay before it writes, and the processor that
//! computes parities.

use std::collections::{BTreeMap, VecDeque};

use drivelab_core::{
    Completion, Destaged, Device, IoError, Lba, Op, Request, RequestId, Sectors, ServedBy, Span,
    Time,
};
use slab::Slab;

use crate::event::EventQueue;

/// Time of the controller's processor for a command that its memory answers: 50,000 a second. An
/// estimate.
const COMMAND: Span = Span::from_us(20);
/// The memory takes 2 GB/s, about what eight lanes of PCI Express 2.0 leave. An estimate.
const SECTOR: Span = Span::from_ns(256);
/// Requests in front of a full memory; further ones are given back.
const MAX_WAITING: usize = 1 << 16;

/// The size of the memory, and the use of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// Its size.
    pub(crate) size: Sectors,
    /// The longest write to the drives, which ends at a multiple of it: the data of a stripe.
    pub(crate) stripe: Sectors,
    /// Writes to the drives at a time.
    pub(crate) writes: usize,
}

/// A command to the drives.
#[derive(Debug, Clone, Copy)]
enum Child {
    /// For the host.
    Passed(RequestId),
    /// Of sectors from the memory.
    Written { first: u64, end: u64 },
}

/// Separate runs of sectors, each from its key to the value.
#[derive(Debug, Default)]
struct Runs {
    runs: BTreeMap<u64, u64>,
    sectors: u64,
}

impl Runs {
    fn insert(&mut self, first: u64, end: u64) {
        let (mut first, mut end) = (first, end);
        // The last run that begins before the end, as long as it reaches the new one.
        while let Some((&from, &to)) =
            self.runs.range(..=end).next_back().filter(|it| *it.1 >= first)
        {
            self.runs.remove(&from);
            self.sectors -= to - from;
            (first, end) = (first.min(from), end.max(to));
        }
        self.runs.insert(first, end);
        self.sectors += end - first;
    }

    fn remove(&mut self, first: u64, end: u64) {
        while let Some((&from, &to)) = self.runs.range(..end).next_back().filter(|it| *it.1 > first)
        {
            self.runs.remove(&from);
            self.sectors -= to - from;
            let rests = [(from, first.min(to)), (end.max(from), to)];
            for (from, to) in rests.into_iter().filter(|(from, to)| from < to) {
                self.runs.insert(from, to);
                self.sectors += to - from;
            }
        }
    }

    fn covers(&self, first: u64, end: u64) -> bool {
        self.runs.range(..=first).next_back().is_some_and(|(_, to)| *to >= end)
    }

    /// Takes the next sectors from `position` on, or from the lowest ones, up to a multiple of
    /// `stripe`.
    fn take(&mut self, position: u64, stripe: u64) -> Option<(u64, u64)> {
        let within = self.runs.range(..=position).next_back().filter(|it| *it.1 > position);
        let (first, end) = if let Some((_, end)) = within {
            (position, *end)
        } else {
            let above = self.runs.range(position..).next();
            above.or_else(|| self.runs.iter().next()).map(|(from, to)| (*from, *to))?
        };
        // Cut at a boundary, so that a long run continues with whole stripes.
        let end = end.min((first / stripe + 1) * stripe);
        self.remove(first, end);
        Some((first, end))
    }
}

/// A device behind such a controller.
#[derive(Debug)]
pub(crate) struct Protected<D> {
    inner: D,
    memory: Memory,
    dirty: Runs,
    children: Slab<Child>,
    /// Writes to the drives in progress, and their sectors.
    writing: usize,
    on_their_way: u64,
    /// The end of the last write to the drives.
    position: u64,
    /// The time at which the controller can take the next command.
    free_at: Time,
    waiting: VecDeque<Request>,
    answers: EventQueue<Completion>,
    scratch: Vec<Completion>,
}

impl<D: Device> Protected<D> {
    pub(crate) fn new(inner: D, memory: Memory) -> Self {
        assert!(memory.writes > 0 && memory.stripe > Sectors::ZERO, "{memory:?}");
        Self {
            inner,
            memory,
            dirty: Runs::default(),
            children: Slab::new(),
            writing: 0,
            on_their_way: 0,
            position: 0,
            free_at: Time::ZERO,
            waiting: VecDeque::new(),
            answers: EventQueue::with_capacity(64),
            scratch: Vec::new(),
        }
    }

    pub(crate) fn inner(&self) -> &D {
        &self.inner
    }

    /// Answers a request from the memory, one after another.
    fn answer(&mut self, now: Time, request: &Request, served_by: ServedBy) {
        let data = if request.op.transfers() { request.sectors.get() } else { 0 };
        self.free_at = self.free_at.max(now) + COMMAND + SECTOR * data;
        let (id, at) = (request.id, self.free_at);
        self.answers.push(at, Completion { id, at, result: Ok(()), served_by });
    }

    fn has_room(&self, sectors: Sectors) -> bool {
        let held = self.dirty.sectors + self.on_their_way;
        // A write above the size of the memory waits until that is empty.
        held == 0 || held + sectors.get() <= self.memory.size.get()
    }

    fn take(&mut self, now: Time, request: &Request) {
        self.dirty.insert(request.lba.get(), request.end().get());
        self.answer(now, request, ServedBy::Medium);
    }

    /// Gives the host's command to the drives.
    fn pass(&mut self, now: Time, request: Request) -> Result<(), Request> {
        let child = self.children.insert(Child::Passed(request.id));
        let passed = Request { id: RequestId(child as u64), ..request };
        let taken = self.inner.submit(now, passed);
        taken.map_err(|_| {
            self.children.remove(child);
            request
        })
    }

    /// Writes data of the memory to the drives.
    fn write(&mut self, now: Time) {
        while self.writing < self.memory.writes {
            let stripe = self.memory.stripe.get();
            let Some((first, end)) = self.dirty.take(self.position, stripe) else { return };
            let child = self.children.insert(Child::Written { first, end });
            let write = Request::write(child as u64, Lba::new(first), Sectors::new(end - first));
            if self.inner.submit(now, write).is_err() {
                // Full drives take it after their next completion.
                self.children.remove(child);
                self.dirty.insert(first, end);
                return;
            }
            self.writing += 1;
            self.on_their_way += end - first;
            self.position = end;
        }
    }

    /// Returns true if the memory has all of it, even if only on the way to the drives.
    fn holds(&self, request: &Request) -> bool {
        let (first, end) = (request.lba.get(), request.end().get());
        let on_their_way = self.children.iter().any(|(_, child)| {
            matches!(child, Child::Written { first: from, end: to } if *from <= first && *to >= end)
        });
        on_their_way || self.dirty.covers(first, end)
    }

    fn done(&mut self, completion: Completion, completed: &mut Vec<Completion>) {
        let child = usize::try_from(completion.id.0).expect("named by us");
        match self.children.remove(child) {
            // Under the host's own name again.
            Child::Passed(id) => completed.push(Completion { id, ..completion }),
            Child::Written { first, end } => {
                self.writing -= 1;
                self.on_their_way -= end - first;
            }
        }
    }

    fn advance_inner(&mut self, now: Time, completed: &mut Vec<Completion>) {
        let mut done = std::mem::take(&mut self.scratch);
        self.inner.advance(now, &mut done);
        for completion in done.drain(..) {
            self.done(completion, completed);
        }
        self.scratch = done;
        // Writes that wait keep their order, even if a later one would fit.
        while let Some(request) = self.waiting.front().copied() {
            if !self.has_room(request.sectors) {
                break;
            }
            self.waiting.pop_front();
            self.take(now, &request);
        }
        self.write(now);
    }
}

impl<D: Device> Device for Protected<D> {
    fn capacity(&self) -> Sectors {
        self.inner.capacity()
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        let last = Lba::ZERO + self.capacity();
        if request.op != Op::Flush && (request.lba > last || last - request.lba < request.sectors) {
            let (id, result) = (request.id, Err(IoError::OutOfRange));
            let served_by = ServedBy::Unknown;
            self.answers.push(now, Completion { id, at: now, result, served_by });
            return Ok(());
        }
        match request.op {
            Op::Flush => self.answer(now, &request, ServedBy::Unknown),
            Op::Write if self.waiting.is_empty() && self.has_room(request.sectors) => {
                self.take(now, &request);
                self.write(now);
            }
            Op::Write if self.waiting.len() < MAX_WAITING => self.waiting.push_back(request),
            Op::Write => return Err(request),
            Op::Read if self.holds(&request) => {
                self.answer(now, &request, ServedBy::DriveReadCache);
            }
            Op::Trim => {
                // First: a request that is given back changes nothing.
                self.pass(now, request)?;
                self.dirty.remove(request.lba.get(), request.end().get());
            }
            Op::Read => return self.pass(now, request),
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.answers.next_time().into_iter().chain(self.inner.next_event()).min()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        // Event by event: each completion may start the next writes at its time.
        while let Some(next) = self.next_event().filter(|next| *next < now) {
            completed.extend(std::iter::from_fn(|| self.answers.pop_due(next)).map(|(_, it)| it));
            self.advance_inner(next, completed);
        }
        completed.extend(std::iter::from_fn(|| self.answers.pop_due(now)).map(|(_, it)| it));
        self.advance_inner(now, completed);
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        // What is answered is durable already: the records of the drives say nothing more.
        let from = records.len();
        self.inner.destaged(records);
        records.truncate(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raid::{Array, Level, Shape};
    use crate::shelf::tests::{Recorder, drain};

    const CAPACITY: u64 = 6 * 16 * 64;

    fn memory(size: u64) -> Memory {
        Memory { size: Sectors::new(size), stripe: Sectors::new(64), writes: 2 }
    }

    fn write(id: u64, lba: u64, sectors: u64) -> Request {
        Request::write(id, Lba::new(lba), Sectors::new(sectors))
    }

    #[test]
    fn writes_take_the_time_of_the_controller_until_its_memory_is_full() {
        let mut drive = Protected::new(Recorder::new(CAPACITY, Span::from_ms(10)), memory(32));
        for id in 0..6 {
            drive.submit(Time::ZERO, write(id, id * 100, 8)).unwrap();
        }
        drive.submit(Time::ZERO, Request::flush(6)).unwrap();
        let done = drain(&mut drive);
        // Four fit, at 22 us each; the flush needs no drive; two wait for the drives.
        assert_eq!(done[..5], [(22, 0), (44, 1), (66, 2), (88, 3), (108, 6)]);
        assert_eq!(done[5..], [(10_022, 4), (10_044, 5)]);
        let written: u64 = drive.inner().log.iter().map(|(_, it)| it.sectors.get()).sum();
        assert_eq!((written, drive.dirty.sectors, drive.on_their_way), (48, 0, 0));
    }

    #[test]
    fn what_waits_goes_to_the_drives_sorted_and_neighbours_together() {
        let mut drive = Protected::new(Recorder::new(CAPACITY, Span::from_ms(1)), memory(4096));
        for (id, lba) in (0..).zip([900, 500, 300, 108, 100, 308, 316]) {
            drive.submit(Time::ZERO, write(id, lba, 8)).unwrap();
        }
        let read = Request::read(9, Lba::new(300), Sectors::new(24));
        drive.submit(Time::ZERO, read).unwrap();
        drain(&mut drive);
        let log = drive.inner().log.iter();
        let writes: Vec<_> = log.map(|(_, it)| (it.lba.get(), it.sectors.get())).collect();
        // The first two went at once. A run of 24 sectors from 300 on is cut at 320, five times 64.
        assert_eq!(writes, [(900, 8), (500, 8), (100, 16), (300, 20), (320, 4)]);
    }

    #[test]
    fn streams_reach_an_array_in_whole_stripes() {
        let members = Recorder::new(CAPACITY, Span::from_ms(1));
        let (level, chunk) = (Level::Raid6, Sectors::new(16));
        let array = Array::new(members, Shape { level, members: 6, chunk, failed: None });
        let mut drive = Protected::new(array, memory(1 << 20));
        for id in 0..400 {
            drive.submit(Time::ZERO, write(id, id * 8, 8)).unwrap();
        }
        assert_eq!(drain(&mut drive).len(), 400);
        let log = &drive.inner().inner().log;
        let reads = log.iter().filter(|(_, it)| it.op == Op::Read).count();
        // The first two writes found an idle array, and the rest of their stripe follows.
        assert!(reads <= 12, "{reads} reads");
        let written: u64 =
            log.iter().filter(|(_, it)| it.op == Op::Write).map(|(_, it)| it.sectors.get()).sum();
        assert!((4800..4960).contains(&written), "six for each four sectors: {written}");
    }

    #[test]
    fn runs_join_split_and_end() {
        let mut runs = Runs::default();
        for (first, end) in [(10, 20), (30, 40), (20, 25), (24, 31)] {
            runs.insert(first, end);
        }
        assert_eq!((runs.runs.len(), runs.sectors), (1, 30));
        assert!(runs.covers(10, 40) && !runs.covers(9, 11) && !runs.covers(39, 41));
        runs.remove(15, 18);
        assert_eq!((runs.runs.len(), runs.sectors), (2, 27));
        assert_eq!(runs.take(16, 32), Some((18, 32)), "up to a multiple of the stripe");
        assert_eq!(runs.take(32, 32), Some((32, 40)));
        assert_eq!(runs.take(50, 32), Some((10, 15)), "from the lowest one again");
        assert_eq!((runs.take(0, 32), runs.sectors), (None, 0));
    }
}
