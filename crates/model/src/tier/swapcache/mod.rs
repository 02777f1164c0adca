//! `DragonFly` BSD's swapcache: clean pages that leave memory are copied to swap on a fast drive.
//!
//! After `sys/vm/vm_swapcache.c` of April 2011. Memory holds a single object: the drive as one
//! file.

mod burst;
mod memory;
mod swap;

use drivelab_core::{Completion, Destaged, Device, Op, Request, Span, Time};

use super::between::{Front, Policy};
use super::pair::Side;
use super::{UNIT, extend, sectors_of, units};
use burst::Burst;
use memory::Memory;
use swap::Swap;

/// Time of a read from memory: a system call and a copy, our estimate.
const FROM_MEMORY: Span = Span::from_us(2);
/// `vm_swapcache_maxlaunder`: maximum pages copied or dropped by a poll.
const MAX_LAUNDER: usize = 256;
/// Pages of the aligned window within which neighbours are written together (`SWAP_META_PAGES`).
const WINDOW: u64 = 16;
/// `vm_swapcache_maxswappct`: percentage of swap from which copies are dropped.
const FULL: u64 = 75;
/// Percentage at which cleaning ends.
const CLEANED: u64 = 70;
const PAGE_BYTES: u64 = 4096;

#[derive(Debug)]
pub(crate) enum Part {
    /// Part of a request of the host.
    Of(usize),
    /// Copies into a range of slots.
    Copies(std::ops::Range<u64>),
}

/// A slow drive behind memory and a swapcache on a fast one.
#[derive(Debug)]
pub(crate) struct Swapcache<D> {
    front: Front<D, (), Part>,
    memory: Memory,
    swap: Swap,
    burst: Burst,
    cleaning: bool,
}

impl<D: Device> Swapcache<D> {
    /// `slow` behind `pages` pages of memory and swap on all of `fast`.
    pub(crate) fn new(slow: D, fast: D, pages: u32) -> Self {
        let slots = u32::try_from(fast.capacity().get() / UNIT).unwrap_or(u32::MAX - 1);
        Self {
            front: Front::new(slow, fast),
            memory: Memory::new(pages),
            swap: Swap::new(slots),
            burst: Burst::new(),
            cleaning: false,
        }
    }

    /// Fills swap with the first pages of the drive.
    pub(crate) fn warm(&mut self) {
        // No further than cleaning would leave it, or the first polls would drop pages at once.
        let kept = self.front.pair.device(Side::Fast).capacity().get() / UNIT * CLEANED / 100;
        let pages = kept.min(self.front.host.capacity().get() / UNIT);
        self.swap.warm(u32::try_from(pages).unwrap_or(u32::MAX));
    }

    /// Reads from memory if it holds all pages, else from swap if that does, else from the slow
    /// drive.
    fn read(&mut self, now: Time, request: Request) {
        let pages = units(&request);
        if pages.clone().all(|page| self.memory.holds(page)) {
            pages.for_each(|page| self.memory.used(page));
            self.front.host.answer_from_memory(now, request.id, FROM_MEMORY);
            return;
        }
        let Some(runs) = self.swap.runs(pages) else { return self.pass_on(now, request) };
        let parent = self.front.host.open(now, request, ());
        self.front.host.requests[parent].pending.left = runs.len();
        for run in runs {
            let (lba, sectors) = sectors_of(&run);
            self.front.send(now, Side::Fast, Part::Of(parent), Request { lba, sectors, ..request });
        }
    }

    fn pass_on(&mut self, now: Time, request: Request) {
        let parent = self.front.host.open(now, request, ());
        self.front.host.requests[parent].pending.left = 1;
        self.front.send(now, Side::Slow, Part::Of(parent), request);
    }

    /// Writes or trims; copies in swap become invalid before the data changes.
    fn modify(&mut self, now: Time, request: Request) {
        for page in units(&request) {
            self.swap.forget(page);
            match request.op {
                Op::Trim => self.memory.forget(page),
                _ => self.memory.begin_write(page),
            }
        }
        self.pass_on(now, request);
    }

    /// Returns the daemon's next poll with work to do.
    fn next_poll(&self) -> Option<Time> {
        let cleans = self.swap.is_fuller_than(self.cleaning_limit());
        // Idle polls are skipped: they only accrue bytes, for which `Burst::accrue` accounts later.
        (cleans || self.memory.needs_scan()).then(|| Burst::next_poll(self.front.clock))
    }

    /// The hysteresis of cleaning: it begins at `FULL` and ends at `CLEANED`.
    fn cleaning_limit(&self) -> u64 {
        if self.cleaning { CLEANED } else { FULL }
    }

    fn poll(&mut self, now: Time) {
        self.cleaning = self.swap.is_fuller_than(self.cleaning_limit());
        self.burst.accrue(now);
        if self.cleaning {
            self.swap.clean(MAX_LAUNDER);
        } else if self.burst.may_write() {
            self.scan(now);
            self.burst.end_poll();
        }
    }

    /// Copies pages that became inactive since the last scan.
    fn scan(&mut self, now: Time) {
        if self.memory.heuristic < 0 {
            return;
        }
        let mut left = MAX_LAUNDER;
        let mut seen = self.memory.marker();
        while let Some((frame, page)) = self.memory.next_inactive(seen) {
            if !self.swap.is_readable(page) {
                // The daemon's write limit of this poll is used up: the next one continues here.
                if left == 0 || self.burst.is_overdrawn() {
                    return self.memory.scanned_to(seen);
                }
                let taken = if self.may_copy(page) { self.copy_around(now, page) } else { 1 };
                left = left.saturating_sub(taken);
            }
            seen = Some(frame);
        }
        self.memory.scanned_all();
    }

    fn may_copy(&self, page: u64) -> bool {
        self.memory.is_clean(page) && !self.swap.is_being_written(page)
    }

    /// Copies a page and its neighbours within the window; returns their number.
    fn copy_around(&mut self, now: Time, page: u64) -> usize {
        let window = page / WINDOW * WINDOW..(page / WINDOW + 1) * WINDOW;
        let (mut first, mut end) = (page, page + 1);
        while first > window.start && self.may_copy(first - 1) {
            first -= 1;
        }
        while end < window.end && self.may_copy(end) {
            end += 1;
        }
        let mut runs = Vec::new();
        let (mut copied, mut pages) = (0, first..end);
        while let Some(slot) = pages.next().and_then(|page| self.swap.assign(page)) {
            extend(&mut runs, slot);
            copied += 1;
        }
        debug_assert!(copied as u64 <= WINDOW, "{copied} pages from one window");
        self.burst.spend(copied as u64 * PAGE_BYTES);
        for run in runs {
            let (lba, sectors) = sectors_of(&run);
            self.front.send(now, Side::Fast, Part::Copies(run), Request::write(0, lba, sectors));
        }
        copied.max(1)
    }
}

impl<D: Device> Policy for Swapcache<D> {
    type Drive = D;
    type Note = ();
    type Part = Part;
    type Due = [Option<Time>; 1];

    fn front(&self) -> &Front<D, (), Part> {
        &self.front
    }

    fn front_mut(&mut self) -> &mut Front<D, (), Part> {
        &mut self.front
    }

    fn serve(&mut self, now: Time, request: Request) {
        match request.op {
            Op::Read => self.read(now, request),
            Op::Write | Op::Trim => self.modify(now, request),
            Op::Flush => self.pass_on(now, request),
        }
    }

    fn part_done(&mut self, part: Part, done: &Completion, completed: &mut Vec<Completion>) {
        let parent = match part {
            Part::Copies(slots) => return self.swap.written(slots),
            Part::Of(parent) => parent,
        };
        if !self.front.host.part_done(parent, done) {
            return;
        }
        let held = self.front.host.close(parent);
        let request = held.request;
        for page in units(&request) {
            match request.op {
                Op::Read => self.memory.used(page),
                Op::Write => {
                    self.memory.end_write(page);
                    // A partly written page is not cached: the rest of it would have to be read.
                    let whole = request.lba.get() <= page * UNIT
                        && request.end().get() >= (page + 1) * UNIT;
                    if whole || self.memory.holds(page) {
                        self.memory.used(page);
                    }
                }
                Op::Flush | Op::Trim => {}
            }
        }
        completed.push(held.pending.completion(done.at));
    }

    fn due(&self) -> [Option<Time>; 1] {
        [self.next_poll()]
    }

    fn background_work(&mut self, at: Time, [poll]: [Option<Time>; 1]) {
        if poll.is_some_and(|poll| poll <= at) {
            self.poll(at);
        }
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        // The fast drive only holds copies of data on the slow one.
        self.front.pair.slow_destaged(records);
    }
}
