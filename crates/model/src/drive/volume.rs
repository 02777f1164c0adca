//! A volume of a cloud: a latency, and limits of which a reserve lets it do more for a while.

use drivelab_core::numbers::float;
use drivelab_core::workload::Workload;
use drivelab_core::{Completion, Device, IoError, Lba, Op, Request, Sectors, ServedBy, Span, Time};

use crate::controller::Bucket;
use crate::counters::Counters;
use crate::event::EventQueue;

/// A limit of requests or of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    /// Its lasting rate, a second.
    pub(crate) base: u64,
    /// Its rate while credits last, and the credits.
    pub(crate) burst: Option<[u64; 2]>,
}

/// The parts of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VolumeParts {
    pub(crate) capacity: Sectors,
    pub(crate) latency: Span,
    pub(crate) ios: Limit,
    pub(crate) bytes: Option<Limit>,
    /// The largest request that counts as one; requests in sequence are one up to here.
    pub(crate) io: Sectors,
    /// Extra time of the first access to each part; `None` if the volume came from no snapshot.
    pub(crate) first_touch: Option<Span>,
}

impl Limit {
    /// Its highest rate.
    fn most(self) -> f64 {
        float(self.burst.map_or(self.base, |[rate, _]| rate))
    }
}

impl VolumeParts {
    /// The requests a second that the limits allow at most.
    pub(crate) fn most_per_s(&self, workload: &Workload) -> f64 {
        let block = workload.blocks.mean().get().max(1);
        let io = self.io.bytes().get();
        // Waiting requests in sequence are one up to the size of one.
        let ios = if workload.rw.is_random() {
            self.ios.most() / float(block.div_ceil(io))
        } else {
            self.ios.most() * float(io) / float(block)
        };
        self.bytes.map_or(ios, |bytes| ios.min(bytes.most() / float(block)))
    }
}

/// A part that is fetched from a snapshot as a whole: of Amazon EBS, whose parts are 512 KiB.
const PART: u64 = 1024;
/// Maximum requests in progress; further ones are given back.
const REQUESTS_MAX: usize = 1 << 16;

/// The buckets of a limit.
#[derive(Debug)]
struct Limited {
    /// The limit within a moment.
    pace: Bucket,
    credits: Option<Bucket>,
}

impl Limited {
    fn new(limit: Limit) -> Self {
        let rate = limit.burst.map_or(limit.base, |[rate, _]| rate);
        // A hundredth of a second at once: a limit is no clock.
        let pace = Bucket::full(rate, (rate / 100).max(1));
        let credits = limit.burst.map(|[_, credits]| Bucket::full(limit.base, credits));
        Self { pace, credits }
    }

    fn take(&mut self, now: Time, tokens: u64) -> Span {
        let paced = self.pace.take(now, tokens);
        self.credits.as_mut().map_or(paced, |credits| credits.take(now, tokens).max(paced))
    }
}

/// The last request that may be continued.
#[derive(Debug, Clone, Copy)]
struct Last {
    op: Op,
    end: Lba,
    /// The part of the largest request that it has taken.
    sectors: u64,
    /// From here on it is under way, and nothing joins it.
    begins: Time,
}

/// A volume of a cloud.
#[derive(Debug)]
pub(crate) struct Volume {
    parts: VolumeParts,
    ios: Limited,
    bytes: Option<Limited>,
    last: Option<Last>,
    /// One bit for each part that was accessed; empty if none is fetched.
    touched: Vec<u64>,
    done: EventQueue<(Request, bool)>,
    in_progress: usize,
    counters: Counters,
    clock: Time,
}

impl Volume {
    pub(crate) fn new(parts: VolumeParts) -> Self {
        let words = parts.capacity.get().div_ceil(PART * 64);
        let words = if parts.first_touch.is_some() { words } else { 0 };
        Self {
            ios: Limited::new(parts.ios),
            bytes: parts.bytes.map(Limited::new),
            last: None,
            touched: vec![0; usize::try_from(words).expect("a capacity has few parts")],
            done: EventQueue::with_capacity(64),
            in_progress: 0,
            counters: Counters::default(),
            clock: Time::ZERO,
            parts,
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    /// The time for which a request waits for its limits.
    fn wait(&mut self, now: Time, request: &Request) -> Span {
        let own = request.sectors.get();
        let joined = self.last.filter(|last| {
            let continues = last.op == request.op && last.end == request.lba;
            continues && now < last.begins && last.sectors + own <= self.parts.io.get()
        });
        // What waits is merged; what is under way has been counted.
        let ios = if joined.is_some() { 0 } else { own.div_ceil(self.parts.io.get()) };
        // Both limits count every request: the slower one decides.
        let bytes = request.sectors.bytes().get();
        let by_bytes = self.bytes.as_mut().map_or(Span::ZERO, |it| it.take(now, bytes));
        let wait = self.ios.take(now, ios).max(by_bytes);
        let sectors = joined.map_or(0, |last| last.sectors) + own;
        self.last = Some(Last { op: request.op, end: request.end(), sectors, begins: now + wait });
        wait
    }

    /// The time for parts that were not accessed before, which are fetched together.
    fn fetch(&mut self, request: &Request) -> Span {
        let Some(first_touch) = self.parts.first_touch else { return Span::ZERO };
        let mut is_new = false;
        for part in request.lba.get() / PART..request.end().get().div_ceil(PART) {
            let (word, bit) = ((part / 64) as usize, 1 << (part % 64));
            is_new |= self.touched[word] & bit == 0;
            self.touched[word] |= bit;
        }
        if is_new { first_touch } else { Span::ZERO }
    }
}

impl Device for Volume {
    fn capacity(&self) -> Sectors {
        self.parts.capacity
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        assert!(now >= self.clock, "time ran backwards");
        assert!(self.done.next_time().is_none_or(|due| due >= now), "an event was passed over");
        self.clock = now;
        if self.in_progress == REQUESTS_MAX {
            return Err(request);
        }
        let last = Lba::ZERO + self.parts.capacity;
        let transfers = request.op.transfers();
        self.in_progress += 1;
        // Refused at once: no limit is spent on it.
        if transfers && (request.lba > last || last - request.lba < request.sectors) {
            self.done.push(now, (request, false));
            return Ok(());
        }
        self.counters.count(request.op);
        self.counters.max_tags_in_use = self.counters.max_tags_in_use.max(self.in_progress);
        // A write is durable when it is answered: a flush waits for nothing.
        let delay =
            if transfers { self.wait(now, &request) + self.fetch(&request) } else { Span::ZERO };
        self.done.push(now + delay + self.parts.latency, (request, true));
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.done.next_time()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        assert!(now >= self.clock, "time ran backwards");
        self.clock = now;
        while let Some((at, (request, in_range))) = self.done.pop_due(now) {
            debug_assert!(self.in_progress > 0, "a request completes that was not submitted");
            self.in_progress -= 1;
            let (result, served_by) = if in_range {
                (Ok(()), ServedBy::Medium)
            } else {
                (Err(IoError::OutOfRange), ServedBy::Unknown)
            };
            completed.push(Completion { id: request.id, at, result, served_by });
        }
    }
}
