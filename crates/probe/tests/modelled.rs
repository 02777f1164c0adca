//! Modelled drives, measured through nothing but a target.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use drivelab_core::control::{Control, Event};
use drivelab_core::measurements::{DriveKind, FlashState, Position};
use drivelab_core::record::MarkId;
use drivelab_core::target::{Rejected, TargetError};
use drivelab_core::units::{Bytes, Span, Time};
use drivelab_core::{Completion, Device, IoError, Op, Request, Target};
use drivelab_model::Drive;
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_probe::{Measured, ProbeError, Settings, measure, steps};

/// A device in virtual time, which counts what it is asked and may fail.
struct Jumping {
    drive: Drive,
    now: Time,
    writes: u64,
    fails: fn(u64) -> bool,
    /// From when on answers come late, and by how much.
    late: (Time, Span),
    held: Vec<(Time, Completion)>,
    asked: u64,
    /// Requests and waits so far, and the one that asks the measurement to stop.
    steps: u64,
    stops_at: u64,
    stop: Arc<AtomicBool>,
}

impl Jumping {
    fn step(&mut self) {
        self.steps += 1;
        if self.steps == self.stops_at {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Target for Jumping {
    fn now(&mut self) -> Time {
        self.now
    }

    fn capacity(&self) -> Bytes {
        self.drive.capacity().bytes()
    }

    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        self.step();
        self.asked += 1;
        self.writes += u64::from(request.op == Op::Write);
        self.drive.submit(self.now, request).map_err(Rejected::Full)
    }

    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        self.step();
        let event = self.drive.next_event().unwrap_or(Time::MAX);
        let held = self.held.first().map_or(Time::MAX, |(at, _)| *at);
        self.now = self.now.max(event.min(held).min(until));
        let mut answers = Vec::new();
        self.drive.advance(self.now, &mut answers);
        let (since, late) = self.late;
        for answer in answers {
            let late = if answer.at < since { Span::ZERO } else { late };
            self.held.push((answer.at + late, answer));
        }
        self.held.sort_by_key(|(at, _)| *at);
        while self.held.first().is_some_and(|(at, _)| *at <= self.now) {
            let (at, answer) = self.held.remove(0);
            completed.push(Completion { at, ..answer });
        }
        if (self.fails)(self.asked) {
            for answer in completed {
                answer.result = Err(IoError::Medium);
            }
        }
        Ok(())
    }
}

fn target(profile: &str) -> Jumping {
    let text = profile.to_owned();
    let profile = Profile::parse("t.toml", &text, &|_| None).expect("a profile");
    let drive = drivelab_model::build(&profile, &Options::default(), 1).expect("a drive");
    let late = (Time::MAX, Span::ZERO);
    Jumping {
        drive,
        now: Time::ZERO,
        writes: 0,
        fails: |_| false,
        late,
        held: Vec::new(),
        asked: 0,
        steps: 0,
        stops_at: u64::MAX,
        stop: Arc::default(),
    }
}

const READ: Settings =
    Settings { seed: 1, writes: false, rpm: None, solid_state: false, state: None };

fn whole(profile: &str, settings: Settings) -> (Measured, Jumping) {
    let mut target = target(profile);
    let (stop, seen) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let observer = |event: Event<'_>| {
        let Event::Time { done, of, .. } = event else { panic!("{event:?}") };
        seen.lock().expect("no assertion fails under it").push((done, of));
    };
    let measured = measure(&mut target, settings, &Control::new(&stop, &observer));
    let measured = measured.expect("nothing fails");
    // Progress never runs back or beyond its estimate.
    let seen = seen.into_inner().expect("no assertion fails under it");
    let at: Vec<Span> = seen.iter().map(|(done, _)| *done).collect();
    assert!(seen.iter().all(|(done, of)| done <= of));
    assert!(at.is_sorted_by(|left, right| left <= right || left.saturating_sub(*right) < SLACK));
    (measured, target)
}

/// The requests that a step leaves behind may end a little after it.
const SLACK: Span = Span::from_secs(4);

#[test]
fn two_minutes_of_reads_show_a_disk() {
    let (measured, target) = whole("base = \"seagate-st31000333as\"\n", READ);
    assert_eq!(target.writes, 0, "it only reads");
    assert!(measured.took < Span::from_secs(130), "{}", measured.took);
    let found = &measured.measurements;
    assert_eq!(found.rpm, Some(7200.0));
    let outer = found.stream_at(false, Position::Outer).unwrap();
    assert!((outer / 123.0 - 1.0).abs() < 0.03, "{outer}");
    assert_eq!(found.loads.len(), 7);
    let rate = |iodepth| found.whole(false, iodepth).unwrap().iops().unwrap();
    assert!((rate(1) / 71.0 - 1.0).abs() < 0.03 && rate(32) > 1.4 * rate(1), "{found:?}");
    assert!(found.loads.iter().all(|load| load.rate_error.unwrap() < 0.03), "{found:?}");
    let expected = steps(Bytes::new(found.capacity_bytes), READ);
    assert_eq!(expected.iter().filter(|step| step.what.contains("the first 32 GB")).count(), 4);
    assert_eq!(measured.marks, []);
}

#[test]
fn a_solid_state_drive_is_read_at_every_depth() {
    let settings = Settings { solid_state: true, ..READ };
    let (measured, target) = whole("base = \"crucial-mx200\"\nscale = \"1/512\"\n", settings);
    assert_eq!(target.writes, 0, "it only reads");
    assert!(measured.took < Span::from_secs(60), "{}", measured.took);
    let found = &measured.measurements;
    assert_eq!((found.kind, found.rpm), (Some(DriveKind::Ssd), None));
    let rate = |iodepth| found.whole(false, iodepth).unwrap().iops().unwrap();
    let rates = [1, 2, 4, 8, 16, 32].map(rate);
    assert!(rates.is_sorted() && rates[5] > 5.0 * rates[0], "{rates:?}");
    assert_eq!(found.loads.len(), 6);
    assert_eq!(measured.marks, []);
}

#[test]
fn speeds_of_rotation_are_found_and_never_invented() {
    let check = |profile: &str, rpm: Option<f64>| {
        let (measured, _) = whole(profile, READ);
        assert_eq!(measured.measurements.rpm, rpm, "{profile}");
    };
    check("base = \"generic-5400\"\n", Some(5400.0));
    check("base = \"generic-10k\"\n", Some(10_000.0));
    check("base = \"seagate-st31000333as\"\nrpm = 5900\n", Some(5900.0));
    // Every request takes as long as a revolution would.
    check("base = \"fixed\"\nservice = \"8333us\"\n", None);
}

#[test]
fn writes_and_flushes_are_measured_only_where_they_are_allowed() {
    let profile = "base = \"seagate-st31000333as\"\n";
    let (measured, target) = whole(profile, Settings { writes: true, ..READ });
    assert!(target.writes > 1000);
    let found = measured.measurements;
    let flush: Vec<(u32, f64)> =
        found.flushes.iter().map(|one| (one.writes, one.mean_ms)).collect();
    let [(8, few), (64, many)] = flush[..] else { panic!("{flush:?}") };
    assert!(few > 20.0 && many > 3.0 * few, "{flush:?}");
    let [reads, writes] = [false, true].map(|write| found.whole(write, 1).unwrap().iops().unwrap());
    assert!(writes > 1.3 * reads, "the cache sorts: {writes} for {reads}");
}

#[test]
fn writes_of_a_solid_state_drive_are_those_of_a_state() {
    let measured = |profile: &str, state| {
        let settings = Settings { writes: true, solid_state: true, state, ..READ };
        let (measured, _) = whole(profile, settings);
        assert_eq!(measured.marks, [], "{state:?}");
        measured.measurements
    };
    let drive = "base = \"crucial-mx200\"\nscale = \"1/64\"\n";
    let full = measured(drive, Some(FlashState::Full));
    let [burst] = full.bursts[..] else { panic!("{full:?}") };
    // A write of the buffer: its data over the wire at 6 Gb/s, 3.3 us of command, the controller.
    assert!(burst.p50_ms > 0.012 && burst.p50_ms < 0.06, "{burst:?}");
    let [stream] = full.streams.iter().filter(|it| it.write).collect::<Vec<_>>()[..] else {
        panic!("{full:?}")
    };
    assert_eq!((stream.position, stream.state), (None, Some(FlashState::Full)));
    assert!(full.loads.iter().all(|load| !load.write), "{full:?}");
    assert_eq!(full.flushes.len(), 2);

    let steady = measured(&format!("{drive}precondition = \"steady\"\n"), Some(FlashState::Steady));
    let load = steady.whole(true, 32).expect("it was measured");
    assert_eq!(load.state, Some(FlashState::Steady));
    // Both pieces are of the state that lasts, with the buffer full.
    let bytes = load.iops().unwrap() * 4096.0;
    assert!(bytes < 0.7e6 * stream.mb_per_s, "{bytes} B/s for {stream:?}");
    assert!(load.rate_error.unwrap() < 0.02, "{load:?}");
    assert!(steady.streams.iter().all(|it| !it.write), "{steady:?}");

    let unknown = Settings { writes: true, solid_state: true, ..READ };
    let unknown = steps(Bytes::new(500_000_000_000), unknown);
    let of = |word: &str| unknown.iter().filter(|step| step.what.contains(word)).count();
    assert_eq!((of("sustained"), of("the buffer takes over"), of("flushes after")), (0, 1, 2));
}

#[test]
fn a_drive_that_is_not_in_its_state_is_marked() {
    // It was written once, in sequence: random writes slow down as its spare space fills.
    let settings =
        Settings { writes: true, solid_state: true, state: Some(FlashState::Steady), ..READ };
    let (measured, _) = whole("base = \"crucial-mx200\"\nscale = \"1/16\"\n", settings);
    let [mark] = &measured.marks[..] else { panic!("{:?}", measured.marks) };
    assert_eq!(mark.id, MarkId::Unsteady);
    assert!(mark.message.contains("had not reached the state that was said"), "{mark:?}");
    let load = measured.measurements.whole(true, 32).cloned().unwrap();
    assert!(load.rate_error.unwrap() > 0.05, "{load:?}");
}

#[test]
fn what_was_measured_before_an_interruption_is_kept() {
    let mut target = target("base = \"seagate-st31000333as\"\n");
    let stop = AtomicBool::new(false);
    let observer = |event: Event<'_>| {
        let Event::Time { done, of, .. } = event else { panic!("{event:?}") };
        stop.store(done.ns() > of.ns() / 4, Ordering::Relaxed);
    };
    let measured = measure(&mut target, READ, &Control::new(&stop, &observer));
    let measured = measured.expect("nothing fails");
    assert!(measured.stopped);
    let loads = measured.measurements.loads.len();
    assert!((1..7).contains(&loads), "{loads}");
}

#[test]
fn a_measurement_can_be_stopped_at_any_request() {
    let slow = "base = \"fixed\"\nservice = \"50ms\"\n";
    let run = |settings: Settings, stops_at: u64| {
        let mut target = Jumping { stops_at, ..target(slow) };
        let stop = Arc::clone(&target.stop);
        let measured = measure(&mut target, settings, &Control::silent(&stop));
        (measured.expect("nothing fails").stopped, target.steps)
    };
    let check = |settings: Settings| {
        let (_, steps) = run(settings, u64::MAX);
        // Each request of the first stream, also the first one that is counted, and some of all.
        for at in (1..100).chain((1..50).map(|part| part * steps / 50)) {
            assert!(run(settings, at).0, "{settings:?} at step {at} of {steps}");
        }
    };
    check(READ);
    let writes = Settings { writes: true, ..READ };
    check(writes);
    check(Settings { solid_state: true, state: Some(FlashState::Full), ..writes });
}

#[test]
fn a_measurement_that_something_disturbs_is_marked() {
    // From the middle on, every answer is 4 ms late.
    let mut target = target("base = \"seagate-st31000333as\"\n");
    target.late = (Time::ZERO + Span::from_secs(60), Span::from_ms(4));
    let measured = measure(&mut target, READ, &Control::unattended()).expect("nothing fails");
    let [mark] = &measured.marks[..] else { panic!("{:?}", measured.marks) };
    assert_eq!(mark.id, MarkId::Unsteady);
    assert!(mark.message.contains("depth 1") && mark.message.contains("IOPS"), "{mark:?}");
    let found = measured.measurements;
    let alone = found.whole(false, 1).unwrap();
    assert!(alone.rate_error.unwrap() > 0.05, "{alone:?}");
}

#[test]
fn a_failing_drive_ends_the_measurement() {
    let mut target = target("base = \"seagate-st31000333as\"\n");
    target.fails = |asked| asked > 2000;
    let error = measure(&mut target, READ, &Control::unattended()).unwrap_err();
    assert!(matches!(error, ProbeError::Failing { failed: 20.., .. }), "{error}");
}

#[test]
fn a_target_too_small_for_spans_is_refused() {
    let profile = "base = \"fixed\"\ncapacity_bytes = 33554432\n";
    let error = measure(&mut target(profile), READ, &Control::unattended()).unwrap_err();
    assert!(matches!(error, ProbeError::Small { .. }), "{error}");
}
