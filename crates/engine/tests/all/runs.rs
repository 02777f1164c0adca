//! Whole runs on a real file.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use drivelab_core::control::{Control, Event, Phase};
use drivelab_core::record::{MarkId, Tally};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::usage::{
    Census, Counters, DeviceNumber, Identity, Machine, Opener, Process, Usage,
};
use drivelab_core::workload::{Rw, WorkloadOptions};
use drivelab_core::{IoEngine, JobSchedule, Op};
use drivelab_engine::{OpenError, RunError, RunOutcome, RunPlan, run, run_together};
use drivelab_load::End;

use crate::left_out;
use crate::quiet::Quiet;
use crate::scratch::Scratch;

const QUIET: Quiet = Quiet(Vec::new());

fn plan(path: PathBuf, options: WorkloadOptions) -> RunPlan {
    RunPlan { direct: false, ..RunPlan::new(path, options.check().unwrap()) }
}

/// So many requests, so that no test depends on how fast the machine is.
fn requests(rw: Rw, number: u64) -> WorkloadOptions {
    WorkloadOptions {
        rw: Some(rw),
        number_ios: Some(number),
        size: Some(Bytes::mib(8)),
        ..Default::default()
    }
}

fn quietly(plan: &RunPlan) -> Result<RunOutcome, RunError> {
    let stop = AtomicBool::new(false);
    run(plan, &QUIET, &Control::silent(&stop))
}

/// Whether a run was refused because this machine has no direct I/O or no ring; anything else is a
/// failure.
fn cannot(error: &RunError) -> bool {
    matches!(
        error,
        RunError::Open(OpenError::NoDirect { .. } | OpenError::InMemory { .. })
            | RunError::IoEngine(_)
    )
}

#[test]
fn every_kind_of_run_lays_its_file_out_and_counts_exactly() {
    for rw in [Rw::Read, Rw::RandRead, Rw::Write, Rw::RandWrite, Rw::RandRw] {
        let engines = [
            IoEngine::IoUring,
            IoEngine::Libaio,
            IoEngine::Psync,
            IoEngine::Pvsync,
            IoEngine::Pvsync2,
        ];
        for ioengine in engines {
            for direct in [false, true] {
                let scratch = Scratch::new("run");
                let iodepth = Some(if ioengine.is_synchronous() { 1 } else { 8 });
                let options = WorkloadOptions { iodepth, ..requests(rw, 500) };
                let plan = RunPlan {
                    ioengine: Some(ioengine),
                    direct,
                    ..plan(scratch.path("new"), options)
                };
                let what = format!("{rw} {ioengine} direct={direct}");
                let outcome = match quietly(&plan) {
                    Err(error) if cannot(&error) => {
                        left_out(&what, error);
                        continue;
                    }
                    outcome => outcome.expect(&what),
                };
                let total = &outcome.total;
                assert_eq!((total.ios(), total.errors), (500, 0), "{what}");
                assert_eq!((total.lat().n(), total.bytes()), (500, 500 * 4096), "{what}");
                assert_eq!(total.of(Op::Read).ios > 0, rw.reads(), "{what}");
                assert_eq!(total.of(Op::Read).ios < total.ios(), rw.writes(), "{what}");
                assert!(total.service().max() <= total.lat().max(), "{what}");
                assert_eq!((outcome.end, outcome.ioengine), (End::NumberIos, ioengine), "{what}");
                assert_eq!(fs::metadata(scratch.path("new")).unwrap().len(), 8 << 20, "{what}");
            }
        }
    }
}

#[test]
fn jobs_merge_exactly() {
    let scratch = Scratch::new("run");
    let plan = RunPlan { numjobs: 3, ..plan(scratch.path("new"), requests(Rw::RandRead, 300)) };
    let outcome = quietly(&plan).unwrap();
    assert_eq!(outcome.jobs.iter().map(Tally::ios).collect::<Vec<_>>(), [300; 3]);
    assert_eq!((outcome.total.ios(), outcome.total.lat().n()), (900, 900));
    let longest = outcome.jobs.iter().map(|job| job.elapsed).max();
    assert_eq!(Some(outcome.total.elapsed), longest);
    assert!(outcome.total.cpu > Some(Span::ZERO));
    assert!(outcome.jobs.iter().all(|job| job.cpu.is_none()));
}

#[test]
fn an_open_loop_on_a_file_keeps_its_rate() {
    let scratch = Scratch::new("run");
    let options = WorkloadOptions { rate_iops: Some(2000), ..requests(Rw::RandRead, 200) };
    let outcome = quietly(&plan(scratch.path("new"), options)).unwrap();
    // The 200th request is due after 99.5 ms and none is sent before it is due.
    assert_eq!(outcome.total.ios(), 200);
    assert!(outcome.total.elapsed >= Span::from_us(99_500), "{}", outcome.total.elapsed);
}

#[test]
fn buffered_reads_of_a_fresh_file_are_marked_as_the_page_caches() {
    let scratch = Scratch::new("run");
    let outcome = quietly(&plan(scratch.path("new"), requests(Rw::RandRead, 100))).unwrap();
    let ids: Vec<MarkId> = outcome.marks.iter().map(|mark| mark.id).collect();
    assert!(ids.contains(&MarkId::PageCache) || ids.contains(&MarkId::NotDisk), "{ids:?}");
    assert!(ids.contains(&MarkId::FewRequests), "{ids:?}");
}

#[test]
fn holes_are_told() {
    let scratch = Scratch::new("run");
    let path = scratch.path("sparse");
    fs::File::create(&path).unwrap().set_len(64 << 20).unwrap();
    let outcome = quietly(&plan(path, requests(Rw::RandRead, 100))).unwrap();
    let mark = outcome.marks.iter().find(|mark| mark.id == MarkId::NotDisk);
    let message = &mark.expect("a mark for the holes").message;
    assert!(message.contains("never written"), "{message}");
}

#[test]
fn stopping_a_run_keeps_what_is_done() {
    let scratch = Scratch::new("run");
    let endless = WorkloadOptions {
        number_ios: None,
        runtime: Some(Span::from_secs(3600)),
        ..requests(Rw::RandRead, 1)
    };
    let stop = AtomicBool::new(false);
    let ticks = AtomicU64::new(0);
    let stop_soon = |event: Event<'_>| {
        let Event::Load(progress) = event else { return };
        let measured = progress.phase == Phase::Measure && progress.ios > 0;
        ticks.fetch_add(1, Ordering::Relaxed);
        stop.store(measured, Ordering::Relaxed);
    };
    let control = Control::new(&stop, &stop_soon);
    let outcome = run(&plan(scratch.path("new"), endless), &QUIET, &control).unwrap();
    assert_eq!(outcome.end, End::Stopped);
    assert!(outcome.total.ios() > 0 && ticks.load(Ordering::Relaxed) > 1);
    assert!(outcome.marks.iter().any(|mark| mark.id == MarkId::Interrupted));
}

#[test]
fn what_a_run_wrote_may_be_written_again() {
    let scratch = Scratch::new("run");
    let path = scratch.path("new");
    for _ in 0..3 {
        let outcome = quietly(&plan(path.clone(), requests(Rw::RandWrite, 3000))).unwrap();
        assert_eq!(outcome.total.errors, 0);
    }
}

#[test]
fn a_verified_run_is_good_whatever_moves_its_data_and_a_missing_end_is_found() {
    use drivelab_core::record::Damage;
    use drivelab_engine::verify::{Promise, verify};
    for (ioengine, numjobs, stopped) in
        [(IoEngine::IoUring, 2, false), (IoEngine::Psync, 1, false), (IoEngine::IoUring, 1, true)]
    {
        let scratch = Scratch::new("verified");
        let (path, state) = (scratch.path("data"), scratch.path("state"));
        let options = WorkloadOptions {
            iodepth: Some(if ioengine == IoEngine::IoUring { 16 } else { 1 }),
            bssplit: Some("4k/1:16k/1".parse().unwrap()),
            fsync: Some(100),
            ..requests(Rw::RandWrite, 4000)
        };
        let plan = RunPlan {
            numjobs,
            ioengine: Some(ioengine),
            direct: false,
            verify_state: Some(state.clone()),
            ..RunPlan::new(path.clone(), options.check().unwrap())
        };
        let stop = AtomicBool::new(stopped);
        // A run that is stopped at once lays nothing out: the file is made before.
        let layout = RunPlan { verify_state: None, direct: false, ..plan.clone() };
        let once = WorkloadOptions { number_ios: Some(1), ..requests(Rw::RandRead, 1) };
        if let Err(error) = quietly(&RunPlan { workload: once.check().unwrap(), ..layout }) {
            assert!(cannot(&error), "{error}");
            left_out("a verified run", error);
            continue;
        }
        run(&plan, &QUIET, &Control::silent(&stop)).unwrap();
        let found = verify(&path, &state, Promise::Acknowledged, &QUIET).unwrap();
        assert!(found.is_good() && found.good == found.promised, "{ioengine}: {found:?}");
        assert_eq!(found.promised > 1000, !stopped, "{found:?}");
        assert!(verify(&path, &state, Promise::Flushed, &QUIET).unwrap().is_good());
        let data = fs::read(&path).unwrap();
        fs::write(&path, &data[..data.len() / 2]).unwrap();
        let found = verify(&path, &state, Promise::Acknowledged, &QUIET).unwrap();
        assert_eq!(found.faults.contains_key(&Damage::Truncated), !stopped, "{found:?}");
    }
}

#[test]
fn a_flush_after_the_last_request_leaves_the_counts_alone() {
    let scratch = Scratch::new("run");
    let conduct = JobSchedule { end_fsync: true, ..JobSchedule::default() };
    let plan = RunPlan { conduct, ..plan(scratch.path("data"), requests(Rw::Write, 8)) };
    let total = quietly(&plan).unwrap().total;
    assert_eq!((total.ios(), total.lat().n(), total.errors), (8, 8, 0));
    assert_eq!((total.of(Op::Flush).ios, total.of(Op::Flush).lat.n()), (1, 1));
}

#[test]
fn the_first_job_that_is_done_ends_the_others_where_that_is_asked_for() {
    let scratch = Scratch::new("run");
    let job = |number, exit_all| RunPlan {
        conduct: JobSchedule { exit_all, ..JobSchedule::default() },
        ..plan(scratch.path("data"), requests(Rw::RandRead, number))
    };
    let stop = AtomicBool::new(false);
    let control = Control::silent(&stop);
    let plans = [job(100, true), job(u64::MAX, false)];
    let outcomes = run_together(&plans, &QUIET, &control).unwrap();
    assert_eq!((outcomes[0].total.ios(), outcomes[0].end), (100, End::NumberIos));
    assert_eq!(outcomes[1].end, End::Runtime);
    assert!(outcomes.iter().flat_map(|it| &it.marks).all(|it| it.id != MarkId::Interrupted));
}

#[test]
fn a_job_that_begins_later_has_all_its_requests() {
    let scratch = Scratch::new("run");
    let conduct = JobSchedule { start_delay: Span::from_ms(1), ..JobSchedule::default() };
    let plan = RunPlan { conduct, ..plan(scratch.path("data"), requests(Rw::Read, 10)) };
    let total = quietly(&plan).unwrap().total;
    assert_eq!((total.ios(), total.lat().n()), (10, 10));
}

/// A quiet machine that counts how often everything that uses its disks is looked up.
#[derive(Debug, Default)]
struct Counted(AtomicU64);

impl Census for Counted {
    fn usage(&self) -> std::io::Result<Usage> {
        self.0.fetch_add(1, Ordering::Relaxed);
        QUIET.usage()
    }

    fn under(&self, number: DeviceNumber) -> Usage {
        QUIET.under(number)
    }

    fn openers(&self, devices: &[DeviceNumber]) -> std::io::Result<Vec<Opener>> {
        QUIET.openers(devices)
    }

    fn lock_holder(&self, file: Identity) -> Option<Process> {
        QUIET.lock_holder(file)
    }

    fn counters(&self, device: Option<DeviceNumber>) -> Counters {
        QUIET.counters(device)
    }

    fn machine(&self) -> Machine {
        QUIET.machine()
    }
}

#[test]
fn who_uses_the_disks_is_looked_up_once_before_a_write_and_never_before_a_read() {
    let scratch = Scratch::new("census");
    let check = |rw, expected| {
        let census = Counted::default();
        let stop = AtomicBool::new(false);
        let control = Control::silent(&stop);
        run(&plan(scratch.path("data"), requests(rw, 1)), &census, &control).unwrap();
        assert_eq!(census.0.into_inner(), expected, "{rw}");
    };
    check(Rw::RandRead, 0);
    check(Rw::RandWrite, 1);
}

/// A quiet machine that cuts a file to one block when a run begins.
#[derive(Debug)]
struct Cutting(Option<PathBuf>);

impl Census for Cutting {
    fn usage(&self) -> std::io::Result<Usage> {
        QUIET.usage()
    }

    fn under(&self, number: DeviceNumber) -> Usage {
        QUIET.under(number)
    }

    fn openers(&self, devices: &[DeviceNumber]) -> std::io::Result<Vec<Opener>> {
        QUIET.openers(devices)
    }

    fn lock_holder(&self, file: Identity) -> Option<Process> {
        QUIET.lock_holder(file)
    }

    fn counters(&self, device: Option<DeviceNumber>) -> Counters {
        if let Some(path) = &self.0 {
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(4096).unwrap();
        }
        QUIET.counters(device)
    }

    fn machine(&self) -> Machine {
        QUIET.machine()
    }
}

#[test]
fn a_target_that_changes_under_a_run_is_marked() {
    let scratch = Scratch::new("changed");
    let path = scratch.path("data");
    let check = |rw, cut: bool, expected: Option<&str>| {
        let stop = AtomicBool::new(false);
        let control = Control::silent(&stop);
        let census = Cutting(cut.then(|| path.clone()));
        let outcome = run(&plan(path.clone(), requests(rw, 20)), &census, &control);
        let marks = outcome.unwrap().marks;
        let found = marks.iter().find(|mark| mark.id == MarkId::Changed);
        assert_eq!(found.map(|mark| mark.message.as_str()), expected, "{rw}");
    };
    check(Rw::RandRead, false, None);
    check(Rw::RandWrite, false, None);
    check(Rw::RandRead, true, Some("its size went from 8388608 to 4096 bytes"));
}
