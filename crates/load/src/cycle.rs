//! The loop itself.

use drivelab_core::control::{Phase, Progress};
use drivelab_core::record::Stamp;
use drivelab_core::request::{Completion, Op, RequestId};
use drivelab_core::target::{Rejected, TargetError};
use drivelab_core::units::{Span, Time};
use drivelab_core::workload::Requests;
use drivelab_core::{Request, Target};

use super::batching::Batching;
use super::measure::{Meter, UndoneRequest};
use super::pace::Pacer;
use super::pace::depth::{Depth, Step};
use super::pace::flow::FlowPart;
use super::slots::{InFlight, Slots};
use super::{End, Job, JobOutcome, LoadError, Watch};

/// The interval between reports of progress, in the target's time.
const TICK: Span = Span::from_ms(100);
/// A stopped run abandons requests that are not answered within this time: a command must end
/// within two seconds of Ctrl-C, and this includes printing the figures.
const PATIENCE: Span = Span::from_secs(1);
/// The longest time for which an open loop continues to send requests that were due before its end.
/// It equals the time after which the kernel takes a disk for hung (SCSI, `device/timeout`: 30 s),
/// so the longest possible stall ends within it. It is never longer than the run: a target that
/// cannot keep up never catches up.
const DRAIN_MAX: Span = Span::from_secs(30);
const DRAIN_MIN: Span = Span::from_secs(1);
/// Requests of a closed loop that share a stamp while the target holds them back: it belongs to the
/// call that submits them all, and building eight takes less than a microsecond.
const STAMPED_TOGETHER: u32 = 8;
/// Requests that were due and never sent are recorded one by one up to this number; beyond it, each
/// entry stands for several consecutive due requests.
const ENTRIES: u64 = 1 << 18;

/// A job that its owner drives from one wait to the next.
pub(crate) trait Stepped {
    /// Does everything that is possible without waiting; returns until when to wait then, or `None`
    /// at the end.
    fn step(&mut self) -> Result<Option<Time>, TargetError>;

    /// Waits until something completes or the clock reads `until`, and counts.
    fn wait(&mut self, until: Time) -> Result<(), TargetError>;

    /// The job's results, after its last step.
    fn finish(self: Box<Self>) -> JobOutcome;
}

/// The end of sending, and of waiting.
#[derive(Debug, Clone, Copy)]
struct Drain {
    end: End,
    /// After this time nothing that was owed is sent.
    last: Time,
    stopped: Option<Time>,
}

/// A running job: sends due requests, waits, counts, and repeats.
pub(super) struct Cycle<'a, T, P, W> {
    target: &'a mut T,
    pacer: P,
    requests: Requests,
    /// A request that the target refused because its queue was full.
    held: Option<Request>,
    slots: Slots,
    batching: Batching,
    meter: Meter,
    watch: &'a mut W,
    flow: Option<FlowPart<'a>>,
    depth: Option<Depth>,
    /// The depth that meets a target for latencies was measured.
    measured: bool,
    /// Requests, bytes and errors of the search, which the progress contains.
    searched: [u64; 3],
    completed: Vec<Completion>,
    stamp: Stamp,
    /// Requests that may share the stamp before they are handed over.
    stamped_together: u32,
    number_ios: u64,
    /// Arrivals that the drain may still send.
    owed: u64,
    /// The latest known time; the clock is read only if no completion supplied it.
    clock: Time,
    /// The next time at which the loop has to do something else: a tick, a phase, the end.
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
            // A wait until zero only looks: what is complete is then processed, however few.
            if self.completed.len() < wanted && until > Time::ZERO {
                return Ok(());
            }
        } else if self.target.holds_back() && self.batching.holds_back() {
            let outstanding = self.slots.in_use() - before;
            self.batching.answered(self.target.hand_over()?, outstanding);
        }
        let taken = self.batching.taken(self.completed.len());
        let mut missed = false;
        for done in &self.completed[..taken] {
            let sent = self.slots.release(done.id);
            if let Some(depth) = &mut self.depth {
                let step = depth.completed(done.at.since(sent.issued), done.at);
                missed |= step == Step::Missed;
            }
            self.meter.count(sent, done);
            self.pacer.freed(done.at);
        }
        if taken == self.completed.len() {
            self.completed.clear();
        } else {
            self.completed.drain(..taken);
        }
        if self.depth.is_some() {
            self.judge_depth(missed)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> JobOutcome {
        self.conclude()
    }
}

impl<'a, T: Target, P: Pacer, W: Watch> Cycle<'a, T, P, W> {
    /// Reserves all memory that the loop will need, for a run from `start` on.
    pub(super) fn new(
        target: &'a mut T,
        job: Job<'a>,
        start: Time,
        pacer: P,
        requests: Requests,
        watch: &'a mut W,
    ) -> Self {
        let depth = job.workload.pace.iodepth();
        let stamped_together = match job.stamp {
            Stamp::Batch => u32::MAX,
            Stamp::Io if target.holds_back() && !P::OPEN => STAMPED_TOGETHER,
            Stamp::Io => 1,
        };
        let cycle = Self {
            target,
            pacer,
            requests,
            held: None,
            slots: Slots::new(depth),
            batching: Batching::new(job.workload.batches),
            meter: Meter::new(job.workload, start),
            watch,
            flow: job.flow,
            depth: job.latency.map(|goal| Depth::new(goal, depth, start)),
            measured: false,
            searched: [0; 3],
            completed: Vec::with_capacity(depth as usize),
            stamp: job.stamp,
            stamped_together,
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
        // The time of the drain does not belong to a run that a number of requests ends.
        if end == End::NumberIos {
            self.meter.cut_at_last();
        }
        if let Some(flow) = &mut self.flow {
            flow.leave();
        }
        let unanswered = self.slots.in_use() as u64;
        self.enter_undone();
        let mut tally = self.meter.finish(self.clock);
        tally.depth_found = self.depth.as_ref().map(Depth::current);
        tally.stamp = self.stamp;
        tally.unanswered = unanswered;
        JobOutcome { tally, end }
    }

    /// Ends the measured time; returns until when the requests that an open loop owes are sent.
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

    /// Sends the requests that an open loop owes, and waits for all outstanding ones, however long
    /// that takes.
    fn drain(&mut self, last: Time) -> Result<Option<Time>, TargetError> {
        let sends = self.clock < last && self.owes();
        // An arrival that is still owed is sent late rather than dropped: its latency then contains
        // the stall.
        let wake = if sends { self.send_due()? } else { Time::MAX };
        let done = self.slots.in_use() == 0 && !sends;
        // Wakes up even while the target is silent, because Ctrl-C is noticed only between waits.
        Ok((!done).then_some(wake.min(self.clock + TICK)))
    }

    /// True if a stopped run has waited long enough for outstanding requests.
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

    /// Arrivals that were due in the run and have not been sent, within the number of requests.
    fn arrivals_owed(&self) -> u64 {
        if self.meter.end() <= self.meter.from() {
            return 0;
        }
        let asked = self.meter.done() + self.slots.in_use() as u64;
        self.pacer.owed(self.meter.end()).min(self.number_ios.saturating_sub(asked))
    }

    /// True if the next request must be sent in the drain: an arrival, or the flush after one.
    fn owes(&self) -> bool {
        let flush = self.flush_next();
        let due = self.pacer.due(flush).is_some_and(|due| due < self.meter.end());
        P::OPEN && self.phase == Phase::Drain && due && (flush || self.owed > 0)
    }

    /// Records requests that were not answered, or due and not even sent: otherwise a target that
    /// stalls at the end would have the figures of one that does not.
    fn enter_undone(&mut self) {
        let now = self.clock;
        for sent in self.slots.outstanding() {
            let InFlight { op, intended, issued, .. } = *sent;
            self.meter.enter_undone(UndoneRequest { op, intended, issued: Some(issued) }, now, 1);
        }
        // A rate far beyond the target may leave billions of arrivals: entries then stand for
        // several.
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

    /// The reason why sending has ended; `None` while it goes on.
    #[inline]
    fn over(&mut self) -> Option<End> {
        if self.watch.stop() {
            self.clock = self.clock.max(self.target.now());
            return Some(End::Stopped);
        }
        if self.clock >= self.meter.end() {
            return Some(End::Runtime);
        }
        // The last of them is flushed like the others, unless only those between are.
        if self.meter.done() >= self.number_ios && !self.must_flush() {
            return Some(End::NumberIos);
        }
        (self.steady || self.measured).then_some(End::Steady)
    }

    /// Follows the target for latencies; even one request at a time may miss it.
    #[cold]
    fn judge_depth(&mut self, missed: bool) -> Result<(), TargetError> {
        if missed {
            let source = std::io::ErrorKind::TimedOut.into();
            return Err(TargetError { operation: "keep `latency_target` at depth 1", source });
        }
        let Some(depth) = self.depth.as_mut().filter(|_| self.phase == Phase::Measure) else {
            return Ok(());
        };
        match depth.judge(self.clock) {
            Step::On | Step::Missed => {}
            Step::Begin => {
                // The requests of the search are among those that were asked for.
                self.number_ios = self.number_ios.saturating_sub(self.meter.done());
                let tally = self.meter.tally();
                self.searched = [tally.ios(), tally.bytes(), tally.errors];
                self.meter.restart(self.clock);
                self.watch.restart();
            }
            Step::Done => self.measured = true,
        }
        Ok(())
    }

    #[inline]
    fn flush_next(&self) -> bool {
        // A refused request goes before any new one.
        match &self.held {
            Some(held) => held.op == Op::Flush,
            None => self.requests.flush_next(),
        }
    }

    /// True if a flush is next that is sent even behind the last request.
    #[inline]
    fn must_flush(&self) -> bool {
        match &self.held {
            Some(held) => held.op == Op::Flush,
            None => self.requests.must_flush(),
        }
    }

    /// The time at which a job looks again that may not send, by its depth or its flow.
    #[inline]
    fn held_up(&mut self, now: Time, outstanding: usize) -> Option<Time> {
        if self.depth.as_mut().is_some_and(|depth| !depth.admits(outstanding)) {
            return Some(Time::MAX);
        }
        self.flow.as_mut()?.wait(now, outstanding)
    }

    /// Sends everything that is due and fits; returns when there is more to send.
    #[inline]
    fn send_due(&mut self) -> Result<Time, TargetError> {
        let (mut stamped, mut sent) = (None, 0);
        loop {
            let flush = self.flush_next();
            let (Some(id), Some(due)) = (self.slots.next_free(), self.pacer.due(flush)) else {
                return Ok(Time::MAX);
            };
            if sent == self.batching.fill() {
                // Does not wait, only looks.
                return Ok(Time::ZERO);
            }
            // A number of requests is met exactly: outstanding requests will be counted, too.
            let all = self.meter.done() + self.slots.in_use() as u64 >= self.number_ios;
            if all && !self.must_flush() {
                return Ok(Time::MAX);
            }
            let now = match stamped {
                Some(now) if sent % self.stamped_together != 0 => now,
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
            if let Some(again) = self.held_up(now, outstanding) {
                return Ok(again);
            }
            if self.target.holds_back() && self.batching.is_full(outstanding) {
                let ready = self.target.hand_over()?;
                self.batching.answered(ready, outstanding);
                // That took some time: the next request needs a new time stamp.
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
            if let Some(flow) = &mut self.flow {
                flow.sent();
            }
            self.owed = self.owed.saturating_sub(u64::from(!flush));
        }
    }

    /// Everything that need not be checked between any two requests.
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
        debug_assert!(self.phase != Phase::Drain, "the drain is the last phase");
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
        let counts = [tally.ios(), tally.bytes(), tally.errors];
        let [ios, bytes, errors] = [0, 1, 2].map(|at| counts[at] + self.searched[at]);
        let phase = self.phase;
        self.watch.tick(&Progress { phase, elapsed, whole, ios, bytes, errors });
        if let Some(question) = self.watch.question() {
            let tally = self.meter.so_far(self.clock);
            self.watch.answer(question, tally);
        }
    }
}
