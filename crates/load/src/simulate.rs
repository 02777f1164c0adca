//! Jobs in virtual time: all of them share one modelled drive, as threads share a real one.
//!
//! Each job is the load loop of a real run. They take turns: each continues as far as it can
//! without waiting, then time jumps to the next moment at which one of them can continue.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use drivelab_core::control::{Control, Event, Progress};
use drivelab_core::record::{Mark, Stamp, Tally};
use drivelab_core::request::{Completion, Op, RequestId};
use drivelab_core::target::{Rejected, TargetError};
use drivelab_core::units::{Bytes, Sectors, Span, Time};
use drivelab_core::workload::Workload;
use drivelab_core::{Device, JobSchedule, Request, Target};

use crate::marks::{self, RunFacts};
use crate::sharing::{Sharing, seed_of};
use crate::virtual_target::VirtualTarget;
use crate::{End, Flows, Job, JobOutcome, LoadError, Stepped, Watch, begin};

/// Copies of a job over a modelled drive, or over a part of it.
#[derive(Debug, Clone, Copy)]
pub struct VirtualJobs<'a> {
    /// The workload of each.
    pub workload: &'a Workload,
    /// Number of copies.
    pub numjobs: u32,
    /// Their start, their shares of the drive and their end; there is no page cache.
    pub schedule: JobSchedule,
    /// Seed of all random choices in them.
    pub seed: u64,
    /// The first sector of their part of the device.
    pub first: Sectors,
    /// Its size; default: the whole device.
    pub capacity: Option<Bytes>,
}

impl<'a> VirtualJobs<'a> {
    /// One job over the whole device.
    pub fn one(workload: &'a Workload, seed: u64) -> Self {
        let (first, schedule) = (Sectors::ZERO, JobSchedule::default());
        Self { workload, numjobs: 1, schedule, seed, first, capacity: None }
    }
}

/// The results of the copies of a job.
#[derive(Debug)]
pub struct Simulation {
    /// The counts of each.
    pub jobs: Vec<Tally>,
    /// Why they ended; `Stopped` if any of them was stopped.
    pub end: End,
}

impl Simulation {
    /// The counts of all together.
    pub fn total(&self) -> Tally {
        let (first, others) = self.jobs.split_first().expect("a job or several");
        let mut total = first.clone();
        for job in others {
            total.merge(job);
        }
        total
    }

    /// The meaning of the figures, and reasons to doubt them.
    pub fn marks(&self, workload: &Workload, total: &Tally) -> Vec<Mark> {
        let numjobs = u32::try_from(self.jobs.len()).expect("at most JOBS_MAX");
        let end = self.end;
        marks::of_simulation(RunFacts { workload, numjobs, total, waited: Span::ZERO, end })
    }
}

/// Runs all `sets` of jobs against a modelled drive in virtual time, started together.
///
/// The same device, jobs and seeds give exactly the same counts. A device that answers in no time
/// never reaches the end of a run by time; give such a run a number of requests.
///
/// # Errors
/// A workload does not fit the drive.
pub fn simulate<D: Device>(
    target: &mut VirtualTarget<D>,
    sets: &[VirtualJobs<'_>],
    control: &Control<'_>,
) -> Result<Vec<Simulation>, LoadError> {
    let loaded = match sets {
        [only] if is_alone(only) => {
            let (workload, seed, latency) = (only.workload, only.seed, only.schedule.latency);
            let job = Job { workload, seed, stamp: Stamp::Io, flow: None, latency };
            vec![crate::run(target, job, &mut { *control })?]
        }
        _ => take_turns(target, sets, control)?,
    };
    let mut loaded = loaded.into_iter();
    let simulations = sets.iter().map(|set| {
        let jobs: Vec<JobOutcome> = loaded.by_ref().take(set.numjobs as usize).collect();
        let stopped = jobs.iter().any(|job| job.end == End::Stopped);
        // One job that was stopped leaves the figures of the whole set incomplete.
        let end = jobs.first().filter(|_| !stopped).map_or(End::Stopped, |job| job.end);
        Simulation { jobs: jobs.into_iter().map(|job| job.tally).collect(), end }
    });
    let simulations = simulations.collect();
    debug_assert!(loaded.next().is_none(), "every job belongs to a set");
    Ok(simulations)
}

/// True if the loop can use the whole device alone from now on.
fn is_alone(set: &VirtualJobs<'_>) -> bool {
    let VirtualJobs { numjobs, schedule, first, capacity, .. } = set;
    let whole = *first == Sectors::ZERO && capacity.is_none();
    *numjobs == 1 && whole && schedule.start_delay.is_zero() && !schedule.end_fsync
}

/// A device that several jobs share.
struct Shared<'a, D> {
    target: &'a mut VirtualTarget<D>,
    /// Completions of each job that were not yet fetched.
    inboxes: Vec<Vec<Completion>>,
    /// Requests for which the device had no space, in order.
    backlog: VecDeque<Request>,
    found: Vec<Completion>,
}

/// A request's name is its slot, with its job in the upper bits.
const JOB_SHIFT: u32 = 32;
/// The name of a job's last flush; no slot has this number.
const LAST_FLUSH: RequestId = RequestId((1 << JOB_SHIFT) - 1);

impl<D: Device> Shared<'_, D> {
    /// Submits as many requests as fit.
    fn send_backlog(&mut self) {
        while let Some(request) = self.backlog.pop_front() {
            if self.target.submit(request).is_err() {
                self.backlog.push_front(request);
                return;
            }
        }
    }

    /// Moves time to the next completion, or to `until`. Returns the jobs that have completions,
    /// the last one first: the order in which a loop uses freed slots.
    fn wait(&mut self, until: Time) -> Result<Vec<usize>, TargetError> {
        self.target.wait(until, &mut self.found)?;
        let mut jobs = Vec::new();
        for done in self.found.drain(..) {
            let job = usize::try_from(done.id.0 >> JOB_SHIFT).expect("a job's number");
            let id = RequestId(done.id.0 & ((1 << JOB_SHIFT) - 1));
            self.inboxes[job].push(Completion { id, ..done });
            jobs.retain(|known| *known != job);
            jobs.insert(0, job);
        }
        self.send_backlog();
        Ok(jobs)
    }
}

/// Each job submits from a separate processor.
fn submitter(job: usize) -> u16 {
    u16::try_from(job % (1 << u16::BITS)).expect("a remainder of 16 bits")
}

/// One job's part of a shared device; it never waits, because time moves for all jobs at once.
struct JobTarget<'a, 'b, D> {
    shared: &'a RefCell<Shared<'b, D>>,
    job: usize,
    first: Sectors,
    capacity: Bytes,
}

impl<D: Device> Target for JobTarget<'_, '_, D> {
    fn now(&mut self) -> Time {
        self.shared.borrow_mut().target.now()
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        debug_assert!(request.id.0 >> JOB_SHIFT == 0, "the loop names slots");
        let id = RequestId((self.job as u64) << JOB_SHIFT | request.id.0);
        let mut shared = self.shared.borrow_mut();
        // A flush has no address: it covers the whole device.
        let behind = if request.op == Op::Flush { Sectors::ZERO } else { self.first };
        let (lba, submitter) = (request.lba + behind, submitter(self.job));
        shared.backlog.push_back(Request { id, lba, submitter, ..request });
        shared.send_backlog();
        Ok(())
    }

    fn wait(&mut self, _: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        completed.append(&mut self.shared.borrow_mut().inboxes[self.job]);
        Ok(())
    }
}

/// One job's part in the progress that all jobs report.
struct JobWatch<'a> {
    control: &'a Control<'a>,
    /// A job that ends the others has finished.
    over: &'a Cell<bool>,
    /// Requests, bytes and errors of all jobs, as far as reported.
    counts: &'a Cell<[u64; 3]>,
    /// This job's share of them.
    reported: [u64; 3],
    job: usize,
}

impl Watch for JobWatch<'_> {
    fn stop(&mut self) -> bool {
        self.control.stopped() || self.over.get()
    }

    fn tick(&mut self, progress: &Progress) {
        let counts = [progress.ios, progress.bytes, progress.errors];
        let mut all = self.counts.get();
        for ((all, count), reported) in all.iter_mut().zip(counts).zip(self.reported) {
            debug_assert!(count >= reported, "counts of a job never fall");
            *all += count - reported;
        }
        self.reported = counts;
        self.counts.set(all);
        // The progress of all jobs is shown once, at the pace of one of them.
        if self.job == 0 {
            let [ios, bytes, errors] = all;
            let progress = Progress { ios, bytes, errors, ..*progress };
            self.control.report(Event::Load(progress));
        }
    }
}

/// The state of a job.
enum State<'a> {
    Loading(Box<dyn Stepped + 'a>),
    /// Its last flush has been in progress since this time.
    Flushing(JobOutcome, Time),
    Done(JobOutcome),
}

/// One job of all sets.
struct Planned<'a> {
    set: &'a VirtualJobs<'a>,
    workload: Workload,
    seed: u64,
    capacity: Bytes,
}

fn planned<'a>(sets: &'a [VirtualJobs<'a>], whole: Bytes) -> Vec<Planned<'a>> {
    let jobs = sets.iter().flat_map(|set| {
        let capacity = set.capacity.unwrap_or(whole);
        let VirtualJobs { numjobs, schedule, .. } = *set;
        let sharing = Sharing { capacity, numjobs, schedule, verified: false };
        (0..numjobs).map(move |index| {
            let workload = sharing.part(set.workload, index);
            Planned { set, workload, seed: seed_of(set.seed, index), capacity }
        })
    });
    jobs.collect()
}

/// Runs several jobs, each as far as it can go before the next.
fn take_turns<D: Device>(
    target: &mut VirtualTarget<D>,
    sets: &[VirtualJobs<'_>],
    control: &Control<'_>,
) -> Result<Vec<JobOutcome>, LoadError> {
    let start = target.now();
    let plan = planned(sets, target.capacity());
    let inboxes = plan.iter().map(|_| Vec::new()).collect();
    let (backlog, found) = (VecDeque::new(), Vec::new());
    let shared = RefCell::new(Shared { target, inboxes, backlog, found });
    let (over, counts) = (Cell::new(false), Cell::new([0; 3]));
    let flows = Flows::of(sets.iter().map(|set| (set.schedule, set.numjobs)));
    // The loops borrow these until the end, so all are complete before the first loop begins.
    let mut prepared = Vec::with_capacity(plan.len());
    for (job, planned) in plan.iter().enumerate() {
        let (first, capacity) = (planned.set.first, planned.capacity);
        let target = JobTarget { shared: &shared, job, first, capacity };
        let watch = JobWatch { control, over: &over, counts: &counts, reported: [0; 3], job };
        prepared.push((target, watch));
    }
    let mut states = Vec::new();
    for (planned, (target, watch)) in plan.iter().zip(&mut prepared) {
        let Planned { workload, seed, set, .. } = planned;
        let flow = flows.part(set.schedule);
        let latency = set.schedule.latency;
        let job = Job { workload, seed: *seed, stamp: Stamp::Io, flow, latency };
        let begins = start + planned.set.schedule.start_delay;
        states.push(Some(State::Loading(begin(target, job, begins, watch)?)));
    }
    let mut wakes = vec![Time::MAX; plan.len()];
    let mut turns: Vec<usize> = (0..plan.len()).collect();
    loop {
        for job in turns {
            let state = states[job].take().expect("a state is absent only during its turn");
            let (state, wake) = resume(state, job, wakes[job], &plan[job], &shared)?;
            if matches!(state, State::Done(_)) {
                over.set(over.get() || plan[job].set.schedule.exit_all);
            }
            (states[job], wakes[job]) = (Some(state), wake);
        }
        if states.iter().all(|state| matches!(state, Some(State::Done(_)))) {
            break;
        }
        let until = wakes.iter().copied().min().expect("there are jobs");
        let mut shared = shared.borrow_mut();
        turns = shared.wait(until)?;
        assert!(until < Time::MAX || !turns.is_empty(), "a device answers a flush");
        let now = shared.target.now();
        // Jobs with completions go first, as a loop that is woken by one would; then those whose
        // own time has come.
        let due = wakes.iter().enumerate().filter(|(_, wake)| **wake <= now);
        let due: Vec<usize> = due.map(|(job, _)| job).filter(|job| !turns.contains(job)).collect();
        turns.extend(due);
    }
    let finished = states.into_iter().map(|state| match state {
        Some(State::Done(loaded)) => loaded,
        _ => unreachable!("the loop ends when all are done"),
    });
    let mut finished: Vec<JobOutcome> = finished.collect();
    if over.get() && !control.stopped() {
        // Their time was that of the first to finish.
        let others = finished.iter_mut().filter(|job| job.end == End::Stopped);
        others.for_each(|job| job.end = End::Runtime);
    }
    Ok(finished)
}

/// Runs a job as far as it can go now; returns when it must continue.
fn resume<'a, D: Device>(
    state: State<'a>,
    job: usize,
    woken: Time,
    planned: &Planned<'_>,
    shared: &RefCell<Shared<'_, D>>,
) -> Result<(State<'a>, Time), LoadError> {
    match state {
        State::Loading(mut cycle) => {
            if woken < Time::MAX {
                cycle.wait(woken)?;
            }
            if let Some(until) = cycle.step()? {
                return Ok((State::Loading(cycle), until));
            }
            let (loaded, since) = (cycle.finish(), shared.borrow_mut().target.now());
            if !(planned.set.schedule.end_fsync && planned.workload.rw.sends()) {
                return Ok((State::Done(loaded), Time::MAX));
            }
            let flush = Request::flush((job as u64) << JOB_SHIFT | LAST_FLUSH.0);
            let flush = Request { submitter: submitter(job), ..flush };
            let mut shared = shared.borrow_mut();
            shared.backlog.push_back(flush);
            shared.send_backlog();
            Ok((State::Flushing(loaded, since), Time::MAX))
        }
        State::Flushing(mut loaded, since) => {
            // Requests that a stop abandoned may end before it.
            let mut ended = std::mem::take(&mut shared.borrow_mut().inboxes[job]).into_iter();
            let Some(done) = ended.find(|done| done.id == LAST_FLUSH) else {
                return Ok((State::Flushing(loaded, since), Time::MAX));
            };
            loaded.flushed(done.at.since(since), done.result.is_err());
            Ok((State::Done(loaded), Time::MAX))
        }
        done @ State::Done(_) => Ok((done, Time::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::rc::Rc;
    use std::sync::atomic::AtomicBool;

    use drivelab_core::workload::{Rw, WorkloadOptions};
    use drivelab_core::{Lba, ServedBy};

    use super::*;

    /// The first sector of one of several drives.
    fn base_of(drive: u64, capacity: Bytes) -> Lba {
        Lba::at_byte(Bytes::new(drive * capacity.get()))
    }

    /// The requests to a device, with their times.
    type Taken = Rc<RefCell<Vec<(Time, Lba)>>>;

    /// Each request takes a millisecond; addresses are recorded.
    struct Each {
        under_way: Vec<(Time, RequestId)>,
        taken: Taken,
        submitters: BTreeSet<u16>,
        room: usize,
    }

    impl Device for Each {
        fn capacity(&self) -> Sectors {
            Sectors::holding(Bytes::mib(20))
        }

        fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
            if self.under_way.len() >= self.room {
                return Err(request);
            }
            self.taken.borrow_mut().push((now, request.lba));
            self.submitters.insert(request.submitter);
            self.under_way.push((now + Span::from_ms(1), request.id));
            Ok(())
        }

        fn next_event(&self) -> Option<Time> {
            self.under_way.iter().map(|(at, _)| *at).min()
        }

        fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
            self.under_way.retain(|(at, id)| {
                if *at <= now {
                    let (result, served_by) = (Ok(()), ServedBy::Medium);
                    completed.push(Completion { id: *id, at: *at, result, served_by });
                }
                *at > now
            });
        }
    }

    static STOP: AtomicBool = AtomicBool::new(false);

    fn control() -> Control<'static> {
        Control::silent(&STOP)
    }

    fn workload(rw: Rw, iodepth: u32, runtime_ms: u64) -> Workload {
        let options = WorkloadOptions {
            rw: Some(rw),
            iodepth: Some(iodepth),
            runtime: Some(Span::from_ms(runtime_ms)),
            ..WorkloadOptions::default()
        };
        options.check().unwrap()
    }

    fn target() -> (VirtualTarget<Each>, Taken) {
        let taken = Rc::new(RefCell::new(Vec::new()));
        let (under_way, submitters) = (Vec::new(), BTreeSet::new());
        let each = Each { under_way, taken: taken.clone(), submitters, room: 64 };
        (VirtualTarget::new(each), taken)
    }

    /// Three outstanding on each of two drives: jobs of their own, or one in one place.
    fn run(numjobs: u32, rw: Rw) -> (Vec<(Time, Lba)>, Vec<u64>) {
        let workload = workload(rw, 3 / numjobs, 10);
        let (mut target, taken) = target();
        let capacity = Bytes::mib(10);
        let drive = |drive: u64| VirtualJobs {
            numjobs,
            first: Sectors::holding(Bytes::new(drive * capacity.get())),
            capacity: Some(capacity),
            ..VirtualJobs::one(&workload, drive + 1)
        };
        let made = simulate(&mut target, &[drive(0), drive(1)], &control()).unwrap();
        (taken.take(), made.iter().map(|drive| drive.total().ios()).collect())
    }

    #[test]
    fn every_job_keeps_its_requests_under_way_and_each_drive_is_counted() {
        // Three outstanding, ten milliseconds, a millisecond each.
        for numjobs in [1, 3] {
            assert_eq!(run(numjobs, Rw::Read).1, [30, 30], "{numjobs} jobs");
        }
    }

    #[test]
    fn every_job_of_all_sets_is_a_submitter_of_its_own() {
        let workload = workload(Rw::RandRead, 2, 10);
        let (mut target, _) = target();
        let end_fsync = JobSchedule { end_fsync: true, ..JobSchedule::default() };
        let of =
            |numjobs, schedule| VirtualJobs { numjobs, schedule, ..VirtualJobs::one(&workload, 1) };
        let sets = [of(2, JobSchedule::default()), of(3, end_fsync)];
        simulate(&mut target, &sets, &control()).unwrap();
        assert_eq!(target.device().submitters, BTreeSet::from([0, 1, 2, 3, 4]));
    }

    #[test]
    fn a_job_among_others_is_what_it_is_alone() {
        let workload = workload(Rw::RandRead, 4, 50);
        let (mut one, _) = target();
        let alone = simulate(&mut one, &[VirtualJobs::one(&workload, 7)], &control()).unwrap();
        let (mut one, _) = target();
        let sets = [VirtualJobs { numjobs: 2, ..VirtualJobs::one(&workload, 7) }];
        let both = simulate(&mut one, &sets, &control()).unwrap();
        assert_eq!(both[0].jobs[0], alone[0].jobs[0]);
        assert_eq!(both[0].total().ios(), 400);
    }

    #[test]
    fn a_full_device_keeps_nobody_out_and_loses_nothing() {
        let workload = workload(Rw::RandRead, 8, 100);
        let (mut target, _) = target();
        target = VirtualTarget::new(Each { room: 3, ..target.into_device() });
        let sets = [VirtualJobs { numjobs: 4, ..VirtualJobs::one(&workload, 1) }];
        let made = simulate(&mut target, &sets, &control()).unwrap();
        assert_eq!(made[0].total().ios(), 300, "three at a time");
        assert!(made[0].jobs.iter().all(|job| job.ios() > 60), "{:?}", made[0].end);
        assert_eq!(made[0].total().unanswered, 0);
    }

    #[test]
    fn jobs_begin_later_end_with_the_first_and_flush_behind_the_last_request() {
        let long = workload(Rw::Write, 1, 100);
        let short = Workload { runtime: Span::from_ms(20), ..long.clone() };
        let (mut target, _) = target();
        let with = |schedule| VirtualJobs { schedule, ..VirtualJobs::one(&long, 1) };
        let late = JobSchedule { start_delay: Span::from_ms(70), ..JobSchedule::default() };
        let flushed = JobSchedule { end_fsync: true, ..JobSchedule::default() };
        let made = simulate(&mut target, &[with(late), with(flushed)], &control()).unwrap();
        assert_eq!(target.now(), Time::ZERO + Span::from_ms(170));
        assert_eq!(made[1].total().of(Op::Flush).ios, 1);
        assert_eq!(made[1].total().elapsed, Span::from_ms(101));
        assert_eq!(made[1].total().queue_depth_mean(), Some(1.0), "the flush empties no place");
        let exit_all = JobSchedule { exit_all: true, ..JobSchedule::default() };
        let first = VirtualJobs { schedule: exit_all, ..VirtualJobs::one(&short, 1) };
        let made = simulate(&mut target, &[first, with(JobSchedule::default())], &control());
        let ended = &made.unwrap()[1];
        assert_eq!(ended.end, End::Runtime);
        assert!(ended.total().elapsed < Span::from_ms(100), "{:?}", ended.total().elapsed);
    }

    #[test]
    fn jobs_go_on_in_their_own_parts_or_in_one_place() {
        let first_of = |taken: &[(Time, Lba)], drive: u64| {
            let base = base_of(drive, Bytes::mib(10));
            let end = base_of(drive + 1, Bytes::mib(10));
            let mut lbas: Vec<u64> = taken
                .iter()
                .filter(|(at, lba)| *at < Time::from_ns(2_000_000) && *lba >= base && *lba < end)
                .map(|(_, lba)| (*lba - base).get())
                .collect();
            lbas.sort_unstable();
            lbas
        };
        // A third of 10 MiB in whole blocks of 4 KiB: 853 of eight sectors.
        let (own, _) = run(3, Rw::Read);
        let part = 853 * 8;
        let expected = [0, 8, part, part + 8, 2 * part, 2 * part + 8];
        assert_eq!((first_of(&own, 0), first_of(&own, 1)), (expected.into(), expected.into()));
        let (shared, _) = run(1, Rw::Read);
        let expected: Vec<u64> = (0..6).map(|block| block * 8).collect();
        assert_eq!((first_of(&shared, 0), first_of(&shared, 1)), (expected.clone(), expected));
    }

    #[test]
    fn random_jobs_draw_apart_from_each_other_and_on_every_drive() {
        let (taken, _) = run(3, Rw::RandRead);
        let first: Vec<Lba> = taken.iter().take(6).map(|(_, lba)| *lba).collect();
        let base = base_of(1, Bytes::mib(10));
        let within: Vec<u64> = first
            .iter()
            .map(|lba| if *lba >= base { (*lba - base).get() } else { lba.get() })
            .collect();
        let mut distinct = within.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 6, "{within:?}");
    }
}
