//! Tests the loop to the nanosecond, in virtual time.

mod batches;
mod due;

use std::cell::Cell;
use std::collections::VecDeque;

use drivelab_core::control::{Phase, Progress};
use drivelab_core::record::{Stamp, Tally};
use drivelab_core::request::{Completion, IoError, Op, Request, RequestId, ServedBy};
use drivelab_core::target::{Rejected, Target, TargetError};
use drivelab_core::units::{Bytes, Lba, Ratio, Sectors, Span, Time};
use drivelab_core::workload::{Batches, LatencyGoal, Rw, Workload, WorkloadOptions};
use drivelab_core::{Device, Histogram};

use super::{End, Job, JobOutcome, LoadError, Watch, run};
use crate::virtual_target::VirtualTarget;

/// A drive that takes the same time for every request, one at a time or in parallel.
#[derive(Debug, Clone)]
struct Steady {
    latency: Span,
    /// Requests are served in sequence instead of in parallel.
    serial: bool,
    queue: usize,
    /// Nothing completes within this time; completions are delayed to its end.
    frozen: (Time, Time),
    /// Every n-th request fails; 0 for none.
    fail_every: u64,
    in_flight: VecDeque<(Time, Request)>,
    most_in_flight: usize,
    taken: Vec<Lba>,
}

impl Steady {
    fn new(latency: Span) -> Self {
        Self {
            latency,
            serial: false,
            queue: usize::MAX,
            frozen: (Time::MAX, Time::MAX),
            fail_every: 0,
            in_flight: VecDeque::new(),
            most_in_flight: 0,
            taken: Vec::new(),
        }
    }
}

impl Device for Steady {
    fn capacity(&self) -> Sectors {
        Sectors::holding(Bytes::gib(1))
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        if self.in_flight.len() >= self.queue {
            return Err(request);
        }
        let begin = self.in_flight.back().filter(|_| self.serial).map_or(now, |(at, _)| *at);
        let done = begin + self.latency;
        let thawed =
            if self.frozen.0 <= done && done < self.frozen.1 { self.frozen.1 } else { done };
        self.in_flight.push_back((thawed, request));
        self.most_in_flight = self.most_in_flight.max(self.in_flight.len());
        self.taken.push(request.lba);
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.in_flight.front().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        let Some((at, request)) = self.in_flight.front().copied() else { return };
        assert!(now <= at, "the target jumped over an event");
        if now < at {
            return;
        }
        self.in_flight.pop_front();
        let number = self.taken.len() - self.in_flight.len();
        let failed = self.fail_every > 0 && (number as u64).is_multiple_of(self.fail_every);
        let result = if failed { Err(IoError::Medium) } else { Ok(()) };
        let served_by = ServedBy::DriveReadCache;
        completed.push(Completion { id: request.id, at, result, served_by });
    }
}

/// Records what is reported; stops at a given time, if any.
#[derive(Default)]
struct Notes {
    phases: Vec<Phase>,
    ticks: Vec<Progress>,
    stop_after_ticks: Option<usize>,
}

impl Watch for Notes {
    fn stop(&mut self) -> bool {
        self.stop_after_ticks.is_some_and(|count| self.ticks.len() >= count)
    }

    fn enter(&mut self, phase: Phase) {
        self.phases.push(phase);
    }

    fn tick(&mut self, progress: &Progress) {
        self.ticks.push(*progress);
    }
}

fn workload(options: WorkloadOptions) -> Workload {
    options.check().unwrap()
}

fn closed(iodepth: u32, runtime: Span) -> WorkloadOptions {
    let (iodepth, runtime) = (Some(iodepth), Some(runtime));
    WorkloadOptions { iodepth, runtime, ..Default::default() }
}

fn open(per_s: u64, iodepth: u32, runtime: Span) -> WorkloadOptions {
    WorkloadOptions { rate_iops: Some(per_s), ..closed(iodepth, runtime) }
}

fn load_watched(
    device: Steady,
    options: WorkloadOptions,
    watch: &mut Notes,
) -> (JobOutcome, Steady) {
    let workload = workload(options);
    let mut target = VirtualTarget::new(device);
    let job = Job { workload: &workload, seed: 1, stamp: Stamp::Io, flow: None, latency: None };
    let loaded = run(&mut target, job, watch).unwrap();
    (loaded, target.into_device())
}

fn load(device: Steady, options: WorkloadOptions) -> (Tally, Steady) {
    let (loaded, device) = load_watched(device, options, &mut Notes::default());
    (loaded.tally, device)
}

const MS: Span = Span::from_ms(1);
const SECOND: Span = Span::from_secs(1);

fn only(histogram: &Histogram) -> Option<Span> {
    histogram.min().filter(|least| Some(*least) == histogram.max())
}

#[test]
fn a_closed_loop_keeps_exactly_its_depth_outstanding() {
    for depth in [1_u32, 4, 32] {
        let (tally, device) = load(Steady::new(MS), closed(depth, SECOND));
        // By Little's law nothing was outstanding less than all the time.
        assert_eq!(tally.ios(), 1000 * u64::from(depth));
        assert_eq!(device.most_in_flight, depth as usize);
        assert_eq!(tally.elapsed, SECOND);
        assert_eq!(only(&tally.lat()), Some(MS));
        assert_eq!(only(&tally.service()), Some(MS));
        assert_eq!(only(&tally.late), Some(Span::ZERO));
        assert_eq!(tally.of(Op::Read).ios, tally.ios());
        assert_eq!(tally.from_drive_cache, tally.ios());
        assert_eq!(tally.bytes(), tally.ios() * 4096);
    }
}

#[test]
fn behind_one_server_latency_grows_with_depth_and_throughput_does_not() {
    let serial = Steady { serial: true, ..Steady::new(MS) };
    let (tally, _) = load(serial, closed(4, SECOND));
    assert_eq!(tally.ios(), 1000);
    assert_eq!((tally.lat().min(), tally.lat().max()), (Some(MS), Some(MS * 4)));
    // Three requests are outstanding when the time is up; their latency counts, their completion
    // does not.
    assert_eq!(tally.lat().n(), 1003);
}

#[test]
fn think_time_precedes_every_request_and_is_no_lateness() {
    let think = WorkloadOptions { thinktime: Some(MS * 3), ..closed(1, SECOND) };
    let (tally, _) = load(Steady::new(MS), think);
    assert_eq!(tally.ios(), 250);
    assert_eq!(only(&tally.lat()), Some(MS));
    assert_eq!(only(&tally.late), Some(Span::ZERO));
}

#[test]
fn the_ramp_is_run_but_not_measured() {
    let ramp = WorkloadOptions { ramp_time: Some(SECOND / 2), ..closed(2, SECOND) };
    let mut notes = Notes::default();
    let (loaded, device) = load_watched(Steady::new(MS), ramp, &mut notes);
    assert_eq!((loaded.tally.ios(), loaded.tally.elapsed), (2000, SECOND));
    assert_eq!(device.taken.len(), 3000);
    assert_eq!(notes.phases, [Phase::Ramp, Phase::Measure, Phase::Drain]);
}

#[test]
fn a_number_of_requests_is_met_exactly_and_ends_the_measured_time() {
    let check = |depth, number, ms| {
        let number_ios = WorkloadOptions { number_ios: Some(number), ..closed(depth, SECOND) };
        let (loaded, device) = load_watched(Steady::new(MS), number_ios, &mut Notes::default());
        assert_eq!((loaded.tally.ios(), loaded.end), (number, End::NumberIos));
        assert_eq!(loaded.tally.elapsed, MS * ms);
        assert_eq!(device.taken.len() as u64, number);
    };
    check(1, 1, 1);
    check(1, 10, 10);
    check(4, 10, 3);
    check(16, 3, 1);
}

#[test]
fn seconds_hold_every_completion_and_the_last_may_be_partial() {
    let (tally, _) = load(Steady::new(MS), closed(1, Span::from_ms(2500)));
    let ios: Vec<u64> = tally.seconds.iter().map(|second| second.ios).collect();
    assert_eq!(ios, [1000, 1000, 500]);
    assert_eq!(tally.seconds[0].lat_sum_ns, SECOND.ns());
    assert_eq!(tally.seconds[2].lat_max_ns, MS.ns());
    assert_eq!(tally.seconds.iter().map(|second| second.bytes).sum::<u64>(), tally.bytes());
}

#[test]
fn an_open_loop_sends_on_time_whatever_completes() {
    let (tally, _) = load(Steady::new(SECOND / 10), open(1000, 1024, SECOND));
    // Arrivals at 0 to 999 ms; those after 900 ms complete after the end.
    assert_eq!((tally.ios(), tally.lat().n()), (901, 1000));
    assert_eq!(only(&tally.lat()), Some(SECOND / 10));
    assert_eq!(only(&tally.late), Some(Span::ZERO));
}

#[test]
fn poisson_arrivals_keep_their_rate() {
    let poisson = WorkloadOptions { poisson: Some(true), ..open(100_000, 1024, SECOND) };
    let (tally, _) = load(Steady::new(Span::from_us(10)), poisson);
    // Standard deviation of a Poisson count of 100,000: 316; five of them.
    assert!((98_420..101_580).contains(&tally.ios()), "seed 1: {}", tally.ios());
    assert_eq!(only(&tally.late), Some(Span::ZERO));
}

#[test]
fn a_frozen_drive_shows_up_whole_in_the_tail() {
    let frozen = (Time::ZERO + SECOND, Time::ZERO + SECOND * 2);
    let p99 = |histogram: &Histogram| histogram.quantile(Ratio::percent(99)).unwrap();
    let freezing = || Steady { frozen, ..Steady::new(MS / 10) };
    let (deep, _) = load(freezing(), open(1000, 4096, SECOND * 5));
    assert!(p99(&deep.lat()) >= SECOND * 9 / 10, "{}", p99(&deep.lat()));
    assert!(p99(&deep.service()) >= SECOND * 9 / 10);
    assert_eq!(deep.late.max(), Some(Span::ZERO));
    // With one request outstanding the stall is one long service and a thousand late ones.
    let (shallow, _) = load(freezing(), open(1000, 1, SECOND * 5));
    assert!(p99(&shallow.lat()) >= SECOND * 9 / 10);
    assert!(p99(&shallow.late) >= SECOND * 9 / 10);
    assert!(p99(&shallow.service()) < MS);
    assert_eq!(shallow.lat().max(), Some(SECOND));
}

#[test]
fn a_stall_at_the_very_end_is_drained_and_counted() {
    let frozen = (Time::from_ns(900_000_000), Time::ZERO + SECOND * 5);
    let (tally, _) = load(Steady { frozen, ..Steady::new(MS) }, closed(1, SECOND));
    assert_eq!((tally.ios(), tally.elapsed), (899, SECOND));
    assert_eq!(tally.lat().max(), Some(Span::from_ms(4101)));
}

#[test]
fn a_full_queue_delays_requests_but_loses_and_reorders_none() {
    let narrow = Steady { queue: 2, ..Steady::new(MS) };
    let (tally, narrow) = load(narrow, closed(4, SECOND));
    let (_, wide) = load(Steady::new(MS), closed(4, SECOND));
    assert_eq!(tally.ios(), 2000);
    assert_eq!(narrow.most_in_flight, 2);
    assert_eq!(narrow.taken[..], wide.taken[..narrow.taken.len()]);
    assert_eq!(only(&tally.service()), Some(MS));
    assert_eq!(tally.late.max(), Some(MS));
}

#[test]
fn failures_are_counted_apart_and_the_run_goes_on() {
    let failing = Steady { fail_every: 4, ..Steady::new(MS) };
    let (tally, _) = load(failing, closed(1, SECOND));
    assert_eq!((tally.ios(), tally.errors, tally.lat().n()), (750, 250, 750));
}

fn flushed(options: WorkloadOptions) -> WorkloadOptions {
    WorkloadOptions { rw: Some(Rw::RandWrite), fsync: Some(1), ..options }
}

#[test]
fn flushes_are_timed_but_are_no_work_done() {
    let (tally, _) = load(Steady::new(MS), flushed(closed(1, SECOND)));
    let (writes, flushes) = (tally.of(Op::Write), tally.of(Op::Flush));
    assert_eq!((tally.ios(), writes.ios, flushes.ios), (500, 500, 500));
    assert_eq!((tally.bytes(), flushes.bytes), (500 * 4096, 0));
    assert_eq!((tally.lat().n(), tally.late.n(), only(&flushes.lat)), (500, 500, Some(MS)));
    assert_eq!(tally.seconds.iter().map(|second| second.ios).sum::<u64>(), 500);
    let record = tally.record();
    assert_eq!((record.iops, record.write.unwrap().ios), (500.0, 500));
    assert_eq!((record.read, record.trim, record.flush.unwrap().lat_ns.p50), (None, None, MS.ns()));
    // A number of requests is one of writes, and the last is flushed too.
    for iodepth in [1, 2, 3, 16] {
        let ten = WorkloadOptions { number_ios: Some(10), ..flushed(closed(iodepth, SECOND)) };
        let (tally, _) = load(Steady::new(MS), ten);
        assert_eq!((tally.ios(), tally.of(Op::Flush).ios), (10, 10), "depth {iodepth}");
    }
}

#[test]
fn a_flush_is_no_arrival_and_is_waited_for_from_when_its_write_was_due() {
    for (iodepth, waited) in [(1, MS * 2), (4, MS)] {
        let (tally, _) = load(Steady::new(MS), flushed(open(100, iodepth, SECOND)));
        let (writes, flushes) = (tally.of(Op::Write), tally.of(Op::Flush));
        assert_eq!((writes.ios, flushes.ios), (100, 100), "depth {iodepth}");
        assert_eq!(only(&writes.lat), Some(MS));
        assert_eq!((only(&flushes.lat), only(&flushes.service)), (Some(waited), Some(MS)));
    }
}

#[test]
fn stopping_keeps_what_is_done() {
    let mut notes = Notes { stop_after_ticks: Some(5), ..Notes::default() };
    let (loaded, _) = load_watched(Steady::new(MS), closed(2, SECOND * 60), &mut notes);
    // The first tick is at once, the fifth after 400 ms.
    assert_eq!(loaded.end, End::Stopped);
    assert_eq!((loaded.tally.ios(), loaded.tally.elapsed), (800, Span::from_ms(400)));
    assert_eq!(loaded.tally.seconds.len(), 1);
}

#[test]
fn stopping_in_the_ramp_measures_nothing() {
    let mut notes = Notes { stop_after_ticks: Some(2), ..Notes::default() };
    let ramp = WorkloadOptions { ramp_time: Some(SECOND), ..closed(2, SECOND) };
    let (loaded, _) = load_watched(Steady::new(MS), ramp, &mut notes);
    assert_eq!((loaded.tally.ios(), loaded.tally.elapsed), (0, Span::ZERO));
}

#[test]
fn progress_comes_every_tenth_of_a_second_and_tells_the_phase() {
    let ramp = WorkloadOptions { ramp_time: Some(SECOND / 2), ..closed(1, SECOND) };
    let mut notes = Notes::default();
    load_watched(Steady::new(MS), ramp, &mut notes);
    assert!((15..=17).contains(&notes.ticks.len()), "{} ticks", notes.ticks.len());
    let middle = notes.ticks.iter().find(|tick| tick.elapsed == SECOND / 2).unwrap();
    assert_eq!((middle.phase, middle.whole, middle.ios), (Phase::Measure, Some(SECOND), 500));
}

#[test]
fn a_seed_gives_the_same_tally_twice() {
    let mixed = || WorkloadOptions {
        rw: Some(Rw::RandRw),
        fsync: Some(8),
        poisson: Some(true),
        ..open(5000, 8, SECOND)
    };
    let serial = || Steady { serial: true, ..Steady::new(MS / 4) };
    let (first, device) = load(serial(), mixed());
    let (second, again) = load(serial(), mixed());
    assert_eq!(first, second);
    assert_eq!(device.taken, again.taken);
    assert!(first.of(Op::Read).ios < first.ios() && first.late.max() > Some(Span::ZERO));
}

/// Counts how often a measurement began again.
#[derive(Default)]
struct Restarts(u32);

impl Watch for Restarts {
    fn stop(&mut self) -> bool {
        false
    }

    fn restart(&mut self) {
        self.0 += 1;
    }
}

#[test]
fn figures_are_those_of_the_depth_that_was_found() {
    // Of requests that take 1 ms each, one after the other, four at once take 4 ms.
    let goal = LatencyGoal {
        target: Span::from_ms(4),
        window: Span::from_ms(100),
        share: Ratio::ONE,
        endless: false,
    };
    let workload = workload(closed(16, SECOND * 60));
    let latency = Some(goal);
    let job = Job { workload: &workload, seed: 1, stamp: Stamp::Io, flow: None, latency };
    let mut target = VirtualTarget::new(Steady { serial: true, ..Steady::new(MS) });
    let mut restarts = Restarts::default();
    let outcome = run(&mut target, job, &mut restarts).unwrap();
    assert_eq!((outcome.tally.depth_found, restarts.0), (Some(4), 1));
    assert!(outcome.tally.elapsed < SECOND, "{:?}", outcome.tally.elapsed);
    assert_eq!(outcome.tally.queue_depth_mean().map(f64::round), Some(4.0));
}

#[test]
fn a_workload_that_does_not_fit_is_refused() {
    let workload = workload(WorkloadOptions { size: Some(Bytes::gib(2)), ..closed(1, SECOND) });
    let mut target = VirtualTarget::new(Steady::new(MS));
    let job = Job { workload: &workload, seed: 1, stamp: Stamp::Io, flow: None, latency: None };
    let error = run(&mut target, job, &mut Notes::default()).unwrap_err();
    assert!(error.to_string().contains("past the end"), "{error}");
}

/// A target with an expensive clock: it counts the readings, and breaks after some requests.
struct Breaking {
    now: Cell<u64>,
    left: u32,
    holds_back: bool,
    done: Vec<Completion>,
}

impl Target for Breaking {
    fn holds_back(&self) -> bool {
        self.holds_back
    }

    fn now(&mut self) -> Time {
        self.now.set(self.now.get() + 1);
        Time::from_ns(self.now.get())
    }

    fn capacity(&self) -> Bytes {
        Bytes::gib(1)
    }

    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        assert_eq!(request.op, Op::Read);
        if self.left == 0 {
            let source = std::io::Error::from_raw_os_error(5);
            return Err(Rejected::Broken(TargetError { operation: "submit", source }));
        }
        self.left -= 1;
        let (at, served_by) = (self.now(), ServedBy::Unknown);
        self.done.push(Completion { id: request.id, at, result: Ok(()), served_by });
        Ok(())
    }

    fn wait(&mut self, _: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        completed.append(&mut self.done);
        Ok(())
    }
}

#[test]
fn a_broken_target_ends_the_run_with_its_error() {
    let workload = workload(closed(4, SECOND));
    let job = Job { workload: &workload, seed: 1, stamp: Stamp::Io, flow: None, latency: None };
    let (now, done) = (Cell::new(0), Vec::new());
    let mut target = Breaking { now, left: 10, holds_back: false, done };
    let error = run(&mut target, job, &mut Notes::default()).unwrap_err();
    assert!(matches!(error, LoadError::Target(TargetError { operation: "submit", .. })));
}

#[test]
fn requests_are_stamped_before_they_are_handed_over_one_by_one_or_a_batch_at_a_time() {
    let stamps = |stamp, holds_back, number: u32| {
        let batches = Batches { submit: Some(number), ..Batches::default() };
        let number_ios = Some(u64::from(number));
        let options = WorkloadOptions { number_ios, ..closed(number, SECOND) };
        let workload = Workload { batches, ..workload(options) };
        let (now, done) = (Cell::new(0), Vec::new());
        let mut target = Breaking { now, left: number, holds_back, done };
        let job = Job { workload: &workload, seed: 1, stamp, flow: None, latency: None };
        let tally = run(&mut target, job, &mut Notes::default()).unwrap().tally;
        (tally.service().min().unwrap().ns(), tally.service().max().unwrap().ns(), tally.stamp)
    };
    // The clock advances with each reading, and the target reads it once per request.
    assert_eq!(stamps(Stamp::Io, false, 16), (1, 1, Stamp::Io));
    // Eight at most that leave together have one stamp.
    assert_eq!(stamps(Stamp::Io, true, 16), (1, 8, Stamp::Io));
    assert_eq!(stamps(Stamp::Batch, true, 16), (1, 16, Stamp::Batch));
    assert_eq!(stamps(Stamp::Batch, false, 4), (1, 4, Stamp::Batch));
}

#[test]
fn a_target_that_never_answers_is_given_up_once_the_run_is_told_to_stop() {
    // Frozen from 500 ms on; stopped after a second.
    let frozen = (Time::from_ns(500_000_000), Time::from_ns(u64::MAX - 1));
    let device = Steady { frozen, ..Steady::new(MS) };
    let mut notes = Notes { stop_after_ticks: Some(10), ..Notes::default() };
    let (loaded, _) = load_watched(device, closed(4, Span::from_secs(60)), &mut notes);
    assert_eq!(loaded.end, End::Stopped);
    let tally = loaded.tally;
    // Four per millisecond are kept until then. The four that are missing are reported, and
    // recorded with the 1.4 s that they had waited since they were sent at 499 ms.
    assert_eq!((tally.ios(), tally.unanswered, tally.lat().n()), (4 * 499, 4, 4 * 500));
    assert!(tally.lat().max() >= Some(Span::from_ms(1401)), "{:?}", tally.lat().max());
    let waited = notes.ticks.last().unwrap().elapsed;
    assert!(waited >= SECOND && waited < SECOND * 2, "{waited}");
}

#[test]
fn a_target_that_is_slow_to_answer_is_waited_for_without_a_stop() {
    let frozen = (Time::from_ns(500_000_000), Time::from_ns(60_000_000_000));
    let device = Steady { frozen, ..Steady::new(MS) };
    let (loaded, _) = load_watched(device, closed(4, SECOND), &mut Notes::default());
    let tally = loaded.tally;
    assert_eq!((loaded.end, tally.unanswered), (End::Runtime, 0));
    assert_eq!(tally.lat().max().unwrap(), Span::from_ms(59_501));
}

#[test]
fn a_run_ends_when_its_figures_hold_still() {
    let steady = |frozen| {
        let options = WorkloadOptions {
            ss: Some("iops:2%".parse().unwrap()),
            ss_dur: Some(Span::from_secs(5)),
            ss_ramp: Some(SECOND),
            ..closed(1, Span::from_secs(30))
        };
        let device = Steady { frozen, ..Steady::new(MS) };
        load_watched(device, options, &mut Notes::default()).0
    };
    let never = (Time::MAX, Time::MAX);
    let still = steady(never);
    assert_eq!((still.end, still.tally.elapsed), (End::Steady, Span::from_secs(6)));
    let plateau = still.tally.steady.unwrap();
    assert_eq!((plateau.from_s, plateau.seconds, plateau.lat_mean_ns), (1, 5, 1_000_000));
    // A pause of 300 ms in the fourth second puts it off until that second has left the window.
    let paused = steady((Time::from_ns(3_200_000_000), Time::from_ns(3_500_000_000)));
    assert_eq!((paused.end, paused.tally.elapsed), (End::Steady, Span::from_secs(9)));
    assert_eq!(paused.tally.steady.unwrap().from_s, 4);
}
