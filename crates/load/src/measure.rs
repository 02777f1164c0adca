//! Counts what completed in the measured time.

use drivelab_core::record::{Plateau, Second, Tally};
use drivelab_core::request::{Completion, Op, ServedBy};
use drivelab_core::units::{Bytes, Span, Time};
use drivelab_core::workload::{Steady, Workload};

use super::slots::InFlight;

/// The per-second series contains the first day of a run: 86,400 entries, 2.6 MiB, are the maximum
/// ever reserved, and nothing is allocated while measuring, however long a run lasts.
const SECONDS_MAX: u64 = 86_400;
const NS_PER_S: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Success {
    at: Time,
    issued: Time,
    intended: Time,
    bytes: Bytes,
    op: Op,
    cached: bool,
}

/// A request that was due and is not done.
#[derive(Debug, Clone, Copy)]
pub(super) struct UndoneRequest {
    pub(super) op: Op,
    pub(super) intended: Time,
    pub(super) issued: Option<Time>,
}

/// Counts completions into a [`Tally`].
///
/// If a batch has one time stamp, its requests are equal in everything that is counted, so
/// consecutive ones are counted together: otherwise counting is a quarter of the loop's own time
/// (docs/internals/engine.md).
#[derive(Debug)]
pub(super) struct Meter {
    tally: Tally,
    ios: u64,
    /// The last success, and the number of equal ones that are not in the tally yet.
    alike: Option<Success>,
    times: u64,
    /// The measured time: after `from`, up to and including `end`.
    from: Time,
    end: Time,
    /// Without a ramp nothing precedes the measured time, so its first moment belongs to it.
    from_start: bool,
    last: Time,
    seconds_max: usize,
    steady: Option<Steady>,
    /// Complete seconds that were checked for steady state.
    judged: usize,
}

impl Meter {
    pub(super) fn new(workload: &Workload, start: Time) -> Self {
        let from = start + workload.ramp_time;
        // Without a runtime only a number of requests ends the run.
        let end = if workload.runtime.is_zero() { Time::MAX } else { from + workload.runtime };
        let seconds = end.since(from).ns().div_ceil(NS_PER_S).min(SECONDS_MAX);
        let seconds_max = usize::try_from(seconds).expect("at most SECONDS_MAX");
        let mut tally = Tally { seconds: Vec::with_capacity(seconds_max), ..Tally::default() };
        tally.series.reserve(seconds);
        Self {
            tally,
            ios: 0,
            alike: None,
            times: 0,
            from,
            end,
            from_start: workload.ramp_time.is_zero(),
            last: from,
            seconds_max,
            steady: workload.steady,
            judged: 0,
        }
    }

    pub(super) fn from(&self) -> Time {
        self.from
    }

    /// The end of measuring; far away if only the number of requests ends it.
    pub(super) fn end(&self) -> Time {
        self.end
    }

    /// Data requests that completed in the measured time, and all that failed.
    #[inline]
    pub(super) fn done(&self) -> u64 {
        let counts = self.alike.is_some_and(|it| it.op != Op::Flush && self.within(it.at));
        self.ios + self.tally.errors + if counts { self.times } else { 0 }
    }

    pub(super) fn tally(&mut self) -> &Tally {
        self.settle();
        &self.tally
    }

    /// Ends the measured time at `now`, earlier than planned.
    pub(super) fn cut(&mut self, now: Time) {
        self.settle();
        // A run that is stopped in its ramp measured for no time, not for a negative one.
        self.end = self.end.min(now).max(self.from);
    }

    pub(super) fn cut_at_last(&mut self) {
        self.cut(self.last);
    }

    /// True if the figures are steady, if requested: checked once per second.
    pub(super) fn steady(&mut self, now: Time) -> bool {
        let Some(steady) = self.steady else { return false };
        let whole = usize::try_from(now.since(self.from).ns() / NS_PER_S).unwrap_or(usize::MAX);
        let whole = whole.min(self.seconds_max);
        if whole <= self.judged {
            return false;
        }
        self.judged = whole;
        self.settle();
        // Seconds in which nothing completed are part of the series.
        if self.tally.seconds.len() < whole {
            self.tally.seconds.resize(whole, Second::default());
        }
        let seconds = &self.tally.seconds[..whole];
        let reached = steady.reached(seconds);
        if reached {
            self.tally.steady = Some(Plateau::of(seconds, steady.window as usize));
        }
        reached
    }

    /// True if a completion at `at` counts for throughput.
    #[inline]
    fn within(&self, at: Time) -> bool {
        (at > self.from || self.from_start) && at <= self.end
    }

    /// True if the latency of a request that was due at `intended` counts.
    #[inline]
    fn meant(&self, intended: Time) -> bool {
        intended >= self.from && intended < self.end
    }

    /// Counts one completion.
    #[inline]
    pub(super) fn count(&mut self, sent: &InFlight, done: &Completion) {
        let is_timely = self.within(done.at);
        if is_timely {
            self.last = self.last.max(done.at);
        }
        if done.result.is_err() {
            self.queued(sent.issued, done.at, 1);
            // A failure counts whenever it occurs: the drain must not hide it.
            self.tally.errors += u64::from(is_timely || self.meant(sent.intended));
            return;
        }
        let success = Success {
            at: done.at,
            issued: sent.issued,
            intended: sent.intended,
            bytes: sent.bytes,
            op: sent.op,
            cached: matches!(done.served_by, ServedBy::DriveReadCache | ServedBy::DriveWriteCache),
        };
        // Only consecutive equal completions are combined: one entry suffices, and order is kept.
        if self.alike != Some(success) {
            self.settle();
            self.alike = Some(success);
        }
        self.times += 1;
    }

    /// Adds to the depth of the queue the share of `times` requests in the measured time.
    #[inline]
    fn queued(&mut self, issued: Time, at: Time, times: u64) {
        let span = at.min(self.end).ns().saturating_sub(issued.max(self.from).ns());
        self.tally.queued_ns += u128::from(span) * u128::from(times);
    }

    /// The target had no space for a request.
    #[cold]
    pub(super) fn target_full(&mut self) {
        self.tally.target_full = true;
    }

    /// Records `times` requests that were not done at `now`, with the time that they had waited so
    /// far.
    pub(super) fn enter_undone(&mut self, undone: UndoneRequest, now: Time, times: u64) {
        let UndoneRequest { op, intended, issued } = undone;
        if let Some(issued) = issued {
            self.queued(issued, now, times);
        }
        if !self.meant(intended) {
            return;
        }
        let of = self.tally.of_mut(op);
        of.lat.record_times(now.since(intended), times);
        if let Some(issued) = issued {
            of.service.record_times(now.since(issued), times);
        } else if op != Op::Flush {
            // A flush is not an arrival: it belongs to the write before it.
            self.tally.unsent += times;
        }
        if op != Op::Flush {
            self.tally.late.record_times(issued.unwrap_or(now).since(intended), times);
        }
    }

    #[inline]
    fn settle(&mut self) {
        let times = std::mem::take(&mut self.times);
        let Some(it) = self.alike.filter(|_| times > 0) else { return };
        let (within, meant) = (self.within(it.at), self.meant(it.intended));
        let flush = it.op == Op::Flush;
        let tally = &mut self.tally;
        if meant {
            let of = tally.of_mut(it.op);
            of.lat.record_times(it.at.since(it.intended), times);
            of.service.record_times(it.at.since(it.issued), times);
            if !flush {
                tally.late.record_times(it.issued.since(it.intended), times);
            }
        }
        if within && meant {
            // None of it lies outside.
            tally.queued_ns += u128::from(it.at.since(it.issued).ns()) * u128::from(times);
        } else {
            self.queued(it.issued, it.at, times);
        }
        let tally = &mut self.tally;
        if !within {
            return;
        }
        let of = tally.of_mut(it.op);
        of.ios += times;
        of.bytes += times * it.bytes.get();
        tally.from_drive_cache += if it.cached { times } else { 0 };
        if flush {
            return;
        }
        self.ios += times;
        let (index, latency) = (self.second_of(it.at), it.at.since(it.intended));
        self.tally.series.record(index, latency, times);
        let latency = latency.ns();
        if let Some(second) = self.second(index) {
            second.ios += times;
            second.bytes += times * it.bytes.get();
            second.lat_sum_ns = second.lat_sum_ns.saturating_add(latency.saturating_mul(times));
            second.lat_max_ns = second.lat_max_ns.max(latency);
        }
    }

    /// The second that contains `at`, counted from the beginning of the measured time.
    #[inline]
    fn second_of(&self, at: Time) -> u64 {
        // The measured time includes its end but not its beginning, and so does each second.
        at.since(self.from).ns().saturating_sub(1) / NS_PER_S
    }

    /// The entry of a second; `None` beyond the first day.
    #[inline]
    fn second(&mut self, index: u64) -> Option<&mut Second> {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let seconds = &mut self.tally.seconds;
        if index >= seconds.len() && index < self.seconds_max {
            seconds.resize(index + 1, Second::default());
        }
        seconds.get_mut(index)
    }

    /// The counts, once everything is drained.
    pub(super) fn finish(&mut self, now: Time) -> Tally {
        self.cut(now);
        let tally = std::mem::take(&mut self.tally);
        self.closed(tally, self.end)
    }

    /// Forgets what was counted: the measured time begins `now`.
    pub(super) fn restart(&mut self, now: Time) {
        self.settle();
        let seconds = Vec::with_capacity(self.seconds_max);
        self.tally = Tally { seconds, ..Tally::default() };
        (self.from, self.from_start, self.last) = (now, false, now);
        (self.ios, self.judged, self.alike) = (0, 0, None);
    }

    /// The counts of a run that goes on, as if it ended `now`.
    pub(super) fn so_far(&mut self, now: Time) -> Tally {
        self.settle();
        self.closed(self.tally.clone(), now.min(self.end))
    }

    /// Counts whose measured time ends at `end`.
    fn closed(&self, mut tally: Tally, end: Time) -> Tally {
        debug_assert!(end <= self.end, "nothing is measured after the end");
        tally.elapsed = end.since(self.from);
        // Seconds in which nothing completed are part of the series.
        let whole = tally.elapsed.ns().div_ceil(NS_PER_S);
        tally.series.finish(whole);
        let whole = usize::try_from(whole).unwrap_or(usize::MAX).min(self.seconds_max);
        tally.seconds.resize(whole, Second::default());
        tally
    }

    /// Time since measuring began, and how long it lasts.
    pub(super) fn elapsed(&self, now: Time) -> (Span, Option<Span>) {
        let whole = (self.end < Time::MAX).then(|| self.end.since(self.from));
        (now.since(self.from), whole)
    }
}
