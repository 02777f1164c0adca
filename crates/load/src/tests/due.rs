//! The requests that an open loop owes at its end: sent late, or recorded with the least time that
//! they waited.

use drivelab_core::workload::Arrivals;

use super::*;

/// Requests due before `end` in an open loop of this pace, computed from its arrivals alone.
fn due_before(options: &WorkloadOptions, end: Time) -> u64 {
    let pace = options.clone().check().unwrap().pace;
    let mut arrivals = Arrivals::new(pace, 1).unwrap();
    let mut due = 0;
    while arrivals.next_at() < end {
        due += 1;
    }
    due
}

fn p999(histogram: &Histogram) -> Span {
    histogram.quantile(Ratio::from_billionths(999_000_000)).unwrap()
}

#[test]
fn what_was_due_before_the_end_of_an_open_loop_is_in_its_figures() {
    // Frozen for the last 900 ms: 900 of 100,000 requests are due and 32 fit the queue.
    let end = Time::ZERO + SECOND * 100;
    let frozen = (Time::from_ns(99_100_000_000), end);
    for poisson in [false, true] {
        let options = WorkloadOptions { poisson: Some(poisson), ..open(1000, 32, SECOND * 100) };
        let (tally, device) = load(Steady { frozen, ..Steady::new(MS) }, options.clone());
        let due = due_before(&options, end);
        assert_eq!((tally.lat().n(), tally.unsent), (due, 0), "poisson: {poisson}");
        assert_eq!((tally.late.n(), tally.service().n()), (due, due));
        assert!(p999(&tally.lat()) >= Span::from_ms(750), "{}", p999(&tally.lat()));
        // Drained requests are not throughput of the measured time.
        assert_eq!(tally.elapsed, SECOND * 100);
        let completed = tally.ios();
        assert!((due - 940..due - 850).contains(&completed), "{completed} of {due}");
        assert_eq!(device.taken.len() as u64, due);
    }
}

#[test]
fn what_was_due_before_a_stop_is_in_the_figures_of_an_open_loop() {
    // Frozen from 500 ms on; stopped at 900 ms.
    let frozen = (Time::from_ns(500_000_000), Time::from_ns(u64::MAX - 1));
    let mut notes = Notes { stop_after_ticks: Some(10), ..Notes::default() };
    let device = Steady { frozen, ..Steady::new(MS) };
    let (loaded, _) = load_watched(device, open(1000, 32, SECOND * 60), &mut notes);
    let tally = loaded.tally;
    assert_eq!((loaded.end, tally.elapsed), (End::Stopped, Span::from_ms(900)));
    // Of the 900 due requests, 499 were answered in time and 32 wait in the queue.
    assert_eq!((tally.ios(), tally.unanswered, tally.unsent), (499, 32, 900 - 499 - 32));
    assert_eq!((tally.lat().n(), tally.late.n()), (900, 900));
    // The drain lasts a second; the first of them was due at 499 ms.
    assert!(tally.lat().max().unwrap() >= Span::from_ms(1401), "{:?}", tally.lat().max());
    let waited = notes.ticks.last().unwrap().elapsed;
    assert!(waited < SECOND * 2, "{waited}");
}

#[test]
fn a_drain_is_bounded_and_what_it_does_not_send_is_entered_with_what_it_waited() {
    let frozen = (Time::from_ns(500_000_000), Time::ZERO + SECOND * 60);
    let (tally, _) = load(Steady { frozen, ..Steady::new(MS) }, open(1000, 32, SECOND));
    assert_eq!((tally.lat().n(), tally.unanswered, tally.unsent), (1000, 0, 1000 - 499 - 32));
    // Those in the queue are awaited; the last due request, at 999 ms, waited 59 s, too.
    assert_eq!(tally.lat().max(), Some(Span::from_ms(59_501)));
    let waited = tally.lat().quantile(Ratio::percent(55)).unwrap();
    // Within the width of a bucket of the histogram.
    assert!(waited >= Span::from_ms(58_700), "{waited}");
}

#[test]
fn an_open_loop_far_beyond_its_target_ends_and_counts_every_request_due() {
    for poisson in [false, true] {
        let options = WorkloadOptions {
            poisson: Some(poisson),
            rw: Some(Rw::RandRw),
            ..open(1_000_000_000, 1, SECOND)
        };
        let (tally, device) = load(Steady::new(MS), options);
        // Within a hundredth for a Poisson process, whose last arrivals are not drawn one by one.
        let n = tally.lat().n();
        let exact = 1_000_000_000;
        assert!(if poisson { n.abs_diff(exact) < exact / 100 } else { n == exact }, "{n}");
        assert_eq!(tally.unsent, n - device.taken.len() as u64);
        assert!((999..=1000).contains(&tally.ios()), "{}", tally.ios());
        let reads = tally.of(Op::Read).lat.n();
        assert!(reads.abs_diff(n / 2) < n / 100, "{reads} reads of {n}");
    }
}

#[test]
fn a_number_of_requests_is_not_exceeded_by_the_drain() {
    let frozen = (Time::from_ns(500_000_000), Time::from_ns(1_200_000_000));
    let options = WorkloadOptions { number_ios: Some(700), ..open(1000, 1, SECOND) };
    let (loaded, device) =
        load_watched(Steady { frozen, ..Steady::new(MS) }, options, &mut Notes::default());
    assert_eq!((loaded.end, device.taken.len()), (End::Runtime, 700));
    assert_eq!((loaded.tally.lat().n(), loaded.tally.unsent), (700, 0));
}

#[test]
fn a_stop_in_the_ramp_of_an_open_loop_sends_nothing_more() {
    let mut notes = Notes { stop_after_ticks: Some(3), ..Notes::default() };
    let ramp = WorkloadOptions { ramp_time: Some(SECOND), ..open(1000, 1, SECOND) };
    let (loaded, device) = load_watched(Steady::new(MS * 10), ramp, &mut notes);
    assert_eq!((loaded.tally.lat().n(), loaded.tally.unsent), (0, 0));
    assert!(device.taken.len() <= 21, "{}", device.taken.len());
}
