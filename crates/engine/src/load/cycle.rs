//! The loop itself.

use drivelab_core::record::Stamp;
use drivelab_core::request::{Completion, Op, RequestId};
use drivelab_core::target::{Rejected, TargetError};
use drivelab_core::units::{Span, Time};
use drivelab_core::workload::Requests;
use drivelab_core::{Request, Target};

use super::batching::Batching;
use super::measure::{Meter, UndoneRequest};
use super::pace::Pacer;
use super::slots::{InFlight, Slots};
use super::{End, Job, JobOutcome, LoadError, Phase, Progress, Watch};

/// How often the watch is told how far the run is, in the target's time.
const TICK: Span = Span::from_ms(100);
/// A run that is told to stop gives up what is not answered within this time: a command ends within
/// two seconds of Ctrl-C, and the figures are printed in them, too.
const PATIENCE: Span = Span::from_secs(1);
/// How long an open loop goes on sending what was due before its end, at the most and whatever its
/// length. As long as the kernel waits for a command of a disk before it takes the disk for hung
/// (SCSI, `device/timeout`: 30 s), so that the longest stall there is ends within it; and no longer
/// than the run was, since what a target cannot keep up with is never caught up with.
const DRAIN_MAX: Span = Span::from_secs(30);
const DRAIN_MIN: Span = Span::from_secs(1);
/// Requests that were due and never sent are entered one by one up to so many; of more, each entry
/// stands for several that were due one after the other.
const ENTRIES: u64 = 1 << 18;

/// A job that whoever holds it takes from one wait to the next.
pub(crate) trait Stepped {
    /// Does all that can be done without waiting; until when to wait then, or `None` at the end.
    fn step(&mut self) -> Result<Option<Time>, TargetError>;

    /// Waits until something completes or the clock reads `until`, and counts.
    fn wait(&mut self, until: Time) -> Result<(), TargetError>;

    /// What the job left, after its last step.
    fn finish(self: Box<Self>) -> JobOutcome;
}

/// The end of sending, and of patience.
#[derive(Debug, Clone, Copy)]
struct Drain {
    end: End,
    /// Nothing that was owed is sent any more.
    last: Time,
    stopped: Option<Time>,
}

/// One job under way: sends what is due, waits, counts, again.
pub(super) struct Cycle<'a, T, P, W> {
    target: &'a mut T,
    pacer: P,
    requests: Requests,
    /// A request that the target gave back because its queue was full.
    held: Option<Request>,
    slots: Slots,
    batching: Batching,
    meter: Meter,
    watch: &'a mut W,
    completed: Vec<Completion>,
    stamp: Stamp,
    number_ios: u64,
    /// Arrivals that the drain may still send.
    owed: u64,
    /// The latest moment known; asked for only where no completion told it.
    clock: Time,
    /// When the loop next has to look up from its work: a tick, a phase, the end.
    alarm: Time,
    phase: Phase,
    start: Time,
    steady: bool,
    draining: Option<Drain>,
}

impl<T: Target, P: Pacer, W: Watch> Stepped for Cycle<'_, T, P, W> {
    #[inline]
    fn step(&mut self) -> Result<Option<Time>, TargetError> {
        if let Some(drain) = self.draining {
            return if self.gives_up(drain) { Ok(None) } else { self.drain(drain.last) };
        }
        if self.clock >= self.alarm {
            self.look_up();
        }
        match self.over() {
            None => Ok(Some(self.send_due()?.min(self.alarm))),
            Some(end) => {
                let last = self.begin_drain(end);
                self.drain(last)
            }
        }
    }

    #[inline]
    fn wait(&mut self, until: Time) -> Result<(), TargetError> {
        let wanted = self.batching.wanted(self.slots.in_use());
        let before = self.completed.len();
        if before < wanted {
            self.target.wait(until, &mut self.completed)?;
            self.batching.waited(self.slots.in_use() - self.completed.len());
            match self.completed[before..].last() {
                Some(last) => self.clock = self.clock.max(last.at),
                None => self.clock = self.clock.max(self.target.now()),
            }
            if self.completed.len() < wanted && until > Time::ZERO {
                return Ok(());
            }
        } else if self.target.holds_back() && self.batching.holds_back() {
            let outstanding = self.slots.in_use() - before;
            self.batching.answered(self.target.hand_over()?, outstanding);
        }
        let taken = self.batching.taken(self.completed.len());
        for done in &self.completed[..taken] {
            self.meter.count(self.slots.release(done.id), done);
            self.pacer.freed(done.at);
        }
        self.completed.drain(..taken);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> JobOutcome {
        self.conclude()
    }
}

impl<'a, T: Target, P: Pacer, W: Watch> Cycle<'a, T, P, W> {
    /// Reserves everything that the loop will need, for a run from `start` on.
    pub(super) fn new(
        target: &'a mut T,
        job: Job<'_>,
        start: Time,
        pacer: P,
        requests: Requests,
        watch: &'a mut W,
    ) -> Self {
        let depth = job.workload.pace.iodepth();
        let cycle = Self {
            target,
            pacer,
            requests,
            held: None,
            slots: Slots::new(depth),
            batching: Batching::new(job.workload.batches),
            meter: Meter::new(job.workload, start),
            watch,
            completed: Vec::with_capacity(depth as usize),
            stamp: job.stamp,
            number_ios: job.workload.number_ios.unwrap_or(u64::MAX),
            owed: 0,
            clock: start,
            alarm: start,
            phase: Phase::Ramp,
            start,
            steady: false,
            draining: None,
        };
        cycle.watch.enter(Phase::Ramp);
        cycle
    }

    /// Runs to the end and drains.
    pub(super) fn run(mut self) -> Result<JobOutcome, LoadError> {
        while let Some(until) = self.step()? {
            self.wait(until)?;
        }
        Ok(self.conclude())
    }

    fn conclude(&mut self) -> JobOutcome {
        let end = self.draining.expect("the last step drains").end;
        if end == End::NumberIos {
            self.meter.cut_at_last();
        }
        let unanswered = self.slots.in_use() as u64;
        self.enter_undone();
        let mut tally = self.meter.finish(self.clock);
        tally.stamp = self.stamp;
        tally.unanswered = unanswered;
        JobOutcome { tally, end }
    }

    /// Ends the measured time: until when what an open loop owes is sent.
    fn begin_drain(&mut self, end: End) -> Time {
        if matches!(end, End::Stopped | End::Steady) {
            self.meter.cut(self.clock);
        }
        self.set_phase(Phase::Drain);
        self.owed = self.arrivals_owed();
        let measured = self.meter.end().since(self.meter.from());
        let last = self.clock + measured.clamp(DRAIN_MIN, DRAIN_MAX);
        let stopped = self.watch.stop().then_some(self.clock);
        self.draining = Some(Drain { end, last, stopped });
        last
    }

    /// Sends what an open loop owes, and waits for what is outstanding, however long that takes.
    fn drain(&mut self, last: Time) -> Result<Option<Time>, TargetError> {
        let sends = self.clock < last && self.owes();
        let wake = if sends { self.send_due()? } else { Time::MAX };
        let done = self.slots.in_use() == 0 && !sends;
        Ok((!done).then_some(wake.min(self.clock + TICK)))
    }

    /// Whether a run that was told to stop has waited long enough for what is outstanding.
    fn gives_up(&mut self, mut drain: Drain) -> bool {
        if self.clock >= self.alarm {
            self.tick();
            self.alarm = self.clock + TICK;
        }
        if !self.watch.stop() {
            return false;
        }
        let stopped = *drain.stopped.get_or_insert(self.clock);
        self.draining = Some(drain);
        self.clock.since(stopped) >= PATIENCE
    }

    /// Arrivals that were due in the run and have not been sent, as far as their number goes.
    fn arrivals_owed(&self) -> u64 {
        if self.meter.end() <= self.meter.from() {
            return 0;
        }
        let asked = self.meter.done() + self.slots.in_use() as u64;
        self.pacer.owed(self.meter.end()).min(self.number_ios.saturating_sub(asked))
    }

    /// Whether the next request is to be sent in the drain: an arrival, or the flush behind one.
    fn owes(&self) -> bool {
        let flush = self.flush_next();
        let due = self.pacer.due(flush).is_some_and(|due| due < self.meter.end());
        P::OPEN && self.phase == Phase::Drain && due && (flush || self.owed > 0)
    }

    /// Enters what is not answered, and what was due and not even sent: without them a target that
    /// stands still at the end would have the figures of one that does not.
    fn enter_undone(&mut self) {
        let now = self.clock;
        for sent in self.slots.outstanding() {
            let InFlight { op, intended, issued, .. } = *sent;
            self.meter.enter_undone(UndoneRequest { op, intended, issued: Some(issued) }, now, 1);
        }
        let step = (self.owed / ENTRIES).max(1);
        while self.owes() {
            let flush = self.flush_next();
            let Some(intended) = self.pacer.due(flush) else { return };
            let op = match self.held.take() {
                Some(held) => held.op,
                None => self.requests.next(RequestId(0)).op,
            };
            let times = if flush { step } else { step.min(self.owed) };
            self.meter.enter_undone(UndoneRequest { op, intended, issued: None }, now, times);
            if flush {
                self.pacer.sent(true);
            } else {
                self.pacer.skip(times);
                self.owed -= times;
            }
        }
    }

    /// Whether sending is over, and why.
    #[inline]
    fn over(&mut self) -> Option<End> {
        if self.watch.stop() {
            self.clock = self.clock.max(self.target.now());
            return Some(End::Stopped);
        }
        if self.clock >= self.meter.end() {
            return Some(End::Runtime);
        }
        // The last of them is flushed like the others.
        if self.meter.done() >= self.number_ios && !self.flush_next() {
            return Some(End::NumberIos);
        }
        self.steady.then_some(End::Steady)
    }

    #[inline]
    fn flush_next(&self) -> bool {
        match &self.held {
            Some(held) => held.op == Op::Flush,
            None => self.requests.flush_next(),
        }
    }

    /// Sends everything that is due and fits; says when there is more to send.
    #[inline]
    fn send_due(&mut self) -> Result<Time, TargetError> {
        let (mut stamped, mut sent) = (None, 0);
        loop {
            let flush = self.flush_next();
            let (Some(id), Some(due)) = (self.slots.next_free(), self.pacer.due(flush)) else {
                return Ok(Time::MAX);
            };
            if sent == self.batching.fill() {
                // No wait: only a look.
                return Ok(Time::ZERO);
            }
            // A number of requests is met exactly: what is outstanding will be counted too.
            let all = self.meter.done() + self.slots.in_use() as u64 >= self.number_ios;
            if all && !flush {
                return Ok(Time::MAX);
            }
            let now = match (self.stamp, stamped) {
                (Stamp::Batch, Some(now)) => now,
                _ => self.target.now(),
            };
            stamped = Some(now);
            if due > now {
                return Ok(due);
            }
            if now >= self.meter.end() && !self.owes() {
                self.clock = now;
                return Ok(now);
            }
            let outstanding = self.slots.in_use() - self.completed.len();
            if self.target.holds_back() && self.batching.is_full(outstanding) {
                let ready = self.target.hand_over()?;
                self.batching.answered(ready, outstanding);
                // That took a while: the next request has a stamp of its own.
                stamped = None;
                continue;
            }
            sent += 1;
            let request = match self.held.take() {
                Some(held) => Request { id, ..held },
                None => self.requests.next(id),
            };
            let bytes = request.sectors.bytes();
            match self.target.submit(request) {
                Ok(()) => {}
                Err(Rejected::Broken(error)) => return Err(error),
                Err(Rejected::Full(request)) => {
                    let waiting = self.slots.in_use();
                    assert!(waiting > 0, "a target with nothing in flight takes a request");
                    self.held = Some(request);
                    self.meter.target_full();
                    return Ok(Time::MAX);
                }
            }
            self.batching.add();
            let op = request.op;
            self.slots.take(InFlight { intended: due, issued: now, op, bytes, waiting: true });
            self.pacer.sent(flush);
            self.owed = self.owed.saturating_sub(u64::from(!flush));
        }
    }

    /// Everything that need not be looked at between any two requests.
    #[cold]
    fn look_up(&mut self) {
        if self.phase == Phase::Ramp && self.clock >= self.meter.from() {
            self.set_phase(Phase::Measure);
        }
        self.tick();
        self.steady = self.phase == Phase::Measure && self.meter.steady(self.clock);
        let next = match self.phase {
            Phase::Ramp => self.meter.from(),
            _ => self.meter.end(),
        };
        self.alarm = next.min(self.clock + TICK);
    }

    fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
        self.watch.enter(phase);
    }

    fn tick(&mut self) {
        let (elapsed, whole) = match self.phase {
            Phase::Ramp => {
                (self.clock.since(self.start), Some(self.meter.from().since(self.start)))
            }
            _ => self.meter.elapsed(self.clock),
        };
        let tally = self.meter.tally();
        let (ios, bytes, errors) = (tally.ios(), tally.bytes(), tally.errors);
        let phase = self.phase;
        self.watch.tick(&Progress { phase, elapsed, whole, ios, bytes, errors });
    }
}
