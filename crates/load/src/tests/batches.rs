//! The cost of batches, and the mean depth of the queue, on targets whose times are known.

use super::*;

const US: Span = Span::from_us(1);

fn batches(
    submit: Option<u32>,
    complete_min: Option<u32>,
    complete_max: Option<u32>,
) -> WorkloadOptions {
    WorkloadOptions {
        iodepth_batch_submit: submit,
        iodepth_batch_complete_min: complete_min,
        iodepth_batch_complete_max: complete_max,
        ..closed(32, SECOND)
    }
}

/// A disk behind a path with a cost: 1 us per call, and 1 us more for each request in it; all of
/// them reach the disk at the end of the call. The disk takes 10 us per request, one at a time.
struct Host {
    now: Time,
    held_back: Vec<Request>,
    /// Completion times of the requests, in order.
    at_disk: VecDeque<(Time, Request)>,
    /// It reports a completion only when it has no requests left, as a virtual machine's disk may.
    tells_when_dry: bool,
    calls: u64,
}

const SERVICE: Span = Span::from_us(10);

impl Host {
    fn new(tells_when_dry: bool) -> Self {
        let (held_back, at_disk) = (Vec::new(), VecDeque::new());
        Self { now: Time::ZERO, held_back, at_disk, tells_when_dry, calls: 0 }
    }

    fn enter(&mut self) {
        self.calls += 1;
        self.now += US + US * self.held_back.len() as u64;
        for request in self.held_back.drain(..) {
            let begin = self.at_disk.back().map_or(self.now, |(done, _)| self.now.max(*done));
            self.at_disk.push_back((begin + SERVICE, request));
        }
    }
}

impl Target for Host {
    fn holds_back(&self) -> bool {
        true
    }

    fn now(&mut self) -> Time {
        self.now
    }

    fn capacity(&self) -> Bytes {
        Bytes::gib(1)
    }

    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        self.held_back.push(request);
        Ok(())
    }

    fn hand_over(&mut self) -> Result<usize, TargetError> {
        self.enter();
        Ok(0)
    }

    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        self.enter();
        let told = if self.tells_when_dry { self.at_disk.back() } else { self.at_disk.front() };
        let Some(told) = told.map(|(done, _)| *done).filter(|done| *done <= until) else {
            self.now = self.now.max(until.min(Time::from_ns(u64::MAX - 1)));
            return Ok(());
        };
        self.now = self.now.max(told);
        while let Some((_, request)) = self.at_disk.pop_front_if(|(done, _)| *done <= self.now) {
            let (id, at, served_by) = (request.id, self.now, ServedBy::Unknown);
            completed.push(Completion { id, at, result: Ok(()), served_by });
        }
        Ok(())
    }
}

/// Requests per second, and calls per hundred of them.
fn on_host(tells_when_dry: bool, options: WorkloadOptions) -> (u64, u64) {
    let workload = workload(options);
    let mut host = Host::new(tells_when_dry);
    let job = Job { workload: &workload, seed: 1, stamp: Stamp::Io, flow: None, latency: None };
    let tally = run(&mut host, job, &mut Notes::default()).unwrap().tally;
    (tally.ios(), host.calls * 100 / tally.ios())
}

#[test]
fn a_disk_that_ran_dry_gets_its_next_request_before_the_others_are_sent() {
    let default = || batches(None, None, None);
    // All 32 in one call: the disk waits for 33 us in every 353.
    assert_eq!(on_host(true, batches(Some(32), None, None)), (90_624, 3));
    // One by one it waits for 2 us, as by default, with a call for each three requests.
    assert_eq!(on_host(true, batches(Some(1), None, None)).0, 99_360);
    assert_eq!(on_host(true, default()), (99_360, 31));
}

#[test]
fn a_disk_with_work_to_do_gets_requests_together() {
    // It reports each request at once: one call carries the next one and waits.
    assert_eq!(on_host(false, batches(None, None, None)), (99_999, 100));
    // Refilled one by one in separate calls: twice as many.
    let one = batches(Some(1), Some(8), None);
    let eight = batches(None, Some(8), None);
    assert!(on_host(false, one).1 > on_host(false, eight).1);
}

/// Serves any number in parallel, for 1 to 4 ms each.
#[derive(Default)]
struct Uneven {
    in_flight: std::collections::BTreeMap<(Time, RequestId), Request>,
}

impl Device for Uneven {
    fn capacity(&self) -> Sectors {
        Sectors::holding(Bytes::gib(1))
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        let done = now + MS * (1 + request.lba.get() / 8 % 4);
        self.in_flight.insert((done, request.id), request);
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.in_flight.keys().next().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        while let Some(entry) = self.in_flight.first_entry().filter(|it| it.key().0 <= now) {
            let ((at, id), _) = entry.remove_entry();
            let served_by = ServedBy::Unknown;
            completed.push(Completion { id, at, result: Ok(()), served_by });
        }
    }
}

fn on_uneven(options: WorkloadOptions) -> Tally {
    let workload = workload(options);
    let mut target = VirtualTarget::new(Uneven::default());
    let job = Job { workload: &workload, seed: 1, stamp: Stamp::Io, flow: None, latency: None };
    run(&mut target, job, &mut Notes::default()).unwrap().tally
}

#[test]
fn a_queue_is_full_all_the_time_unless_completions_are_waited_for_in_batches() {
    let depth = |tally: &Tally| tally.queue_depth_mean().unwrap();
    let full = on_uneven(batches(None, None, None));
    assert!((depth(&full) - 32.0).abs() < 1e-9, "{}", depth(&full));
    // 2.5 ms on average: 12,800 per second.
    assert!((12_600..13_000).contains(&full.ios()), "{}", full.ios());
    // A batch takes as long as its slowest request, 4 ms; its places are used for 2.5 ms of that.
    let convoy = on_uneven(batches(None, Some(32), None));
    assert_eq!(convoy.ios(), 32 * 250);
    assert!((depth(&convoy) - 20.0).abs() < 0.5, "{}", depth(&convoy));
    // A wait is never for more completions than requests are outstanding.
    assert_eq!(on_uneven(batches(None, Some(1000), None)).ios(), convoy.ios());
}

#[test]
fn completions_are_answered_a_few_at_a_time_or_looked_for_before_each_request() {
    let some = on_uneven(batches(Some(1), None, Some(3)));
    let full = on_uneven(batches(None, None, None));
    assert_eq!((some.ios(), some.errors), (full.ios(), 0));
    assert_eq!(on_uneven(batches(None, Some(0), None)).ios(), full.ios());
    let ten = |options| WorkloadOptions { number_ios: Some(10), ..options };
    for options in [batches(Some(4), Some(8), Some(8)), batches(Some(0), Some(3), Some(5))] {
        assert_eq!(on_uneven(ten(options)).ios(), 10);
    }
}

#[test]
fn a_batch_that_never_fills_ends_with_the_run() {
    let frozen = (Time::from_ns(500_000_000), Time::from_ns(60_000_000_000));
    let options = batches(None, Some(32), None);
    let (loaded, _) =
        load_watched(Steady { frozen, ..Steady::new(MS) }, options, &mut Notes::default());
    assert_eq!((loaded.end, loaded.tally.unanswered), (End::Runtime, 0));
    let mut notes = Notes { stop_after_ticks: Some(10), ..Notes::default() };
    let never = (Time::from_ns(500_000_000), Time::from_ns(u64::MAX - 1));
    let long = WorkloadOptions { runtime: Some(SECOND * 60), ..batches(None, Some(32), None) };
    let (loaded, _) = load_watched(Steady { frozen: never, ..Steady::new(MS) }, long, &mut notes);
    assert_eq!((loaded.end, loaded.tally.unanswered), (End::Stopped, 32));
}

#[test]
fn the_mean_depth_counts_the_measured_time_only() {
    let mean = |options| load(Steady::new(MS * 10), options).0.queue_depth_mean().unwrap();
    let ramp = WorkloadOptions { ramp_time: Some(SECOND / 2), ..closed(4, SECOND) };
    assert!((mean(ramp) - 4.0).abs() < 1e-9);
    // A request of 10 ms every 20.
    assert!((mean(open(50, 8, SECOND)) - 0.5).abs() < 1e-9);
    let thinking = WorkloadOptions { thinktime: Some(MS * 30), ..closed(1, SECOND) };
    assert!((mean(thinking) - 0.25).abs() < 1e-9);
    // The target's own queue is shorter.
    let narrow = Steady { queue: 2, ..Steady::new(MS) };
    let (tally, _) = load(narrow, closed(4, SECOND));
    assert!(tally.target_full && (tally.queue_depth_mean().unwrap() - 2.0).abs() < 1e-9);
}
