//! Several jobs at once: a thread each, pinned, started together, merged exactly.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use drivelab_core::record::Stamp;
use drivelab_core::target::TargetError;
use drivelab_core::units::{Bytes, SECTOR_BYTES, Span};
use drivelab_core::workload::{Requests, Workload};
use drivelab_core::{Conduct, IoEngine, Op, Polling, Rng, Target};
use rustix::thread::CpuSet;

use crate::conditions::{Counters, Noted};
use crate::file::{Clock, FileJob, Null, Psync};
use crate::host::{process_cpu, usable_cpus, waited};
use crate::load::{self, Control, End, Job, LoadError, Loaded, Phase, Progress, Watch};
use crate::open::Opened;
use crate::uring::Ring;
use crate::verify::{Books, State};

/// How often a job that waits for its turn looks whether the run is over.
const LOOK_UP: Span = Span::from_ms(100);

/// What the jobs of one group share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jobs<'a> {
    pub(crate) opened: &'a Opened,
    pub(crate) ioengine: IoEngine,
    pub(crate) workload: &'a Workload,
    pub(crate) numjobs: u32,
    pub(crate) conduct: Conduct,
    pub(crate) seed: u64,
    pub(crate) stamp: Stamp,
    pub(crate) polling: Polling,
    /// The account of a verified run.
    pub(crate) state: Option<&'a Arc<State>>,
}

impl Jobs<'_> {
    /// What the job of this number does.
    fn workload_of(&self, index: u32) -> Workload {
        let parted = self.state.is_some() || !self.workload.rw.is_random();
        let numjobs = if parted { self.numjobs } else { 1 };
        match self.conduct.offset_increment {
            Some(step) => behind(self.workload, self.opened.capacity, step, index),
            None => share(self.workload, self.opened.capacity, index, numjobs),
        }
    }
}

/// What the jobs left.
#[derive(Debug)]
pub(crate) struct Done {
    /// One entry a job, by groups.
    pub(crate) groups: Vec<Vec<Loaded>>,
    /// Processor time of the process from the first job's beginning to measure to the last's end.
    pub(crate) cpu: Span,
    /// How long all jobs together had to wait for a processor.
    pub(crate) waited: Span,
    /// What the machine counted when each group began to measure and when it ended.
    pub(crate) counters: Vec<Option<(Counters, Counters)>>,
}

/// Why a job could not be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("cannot set up {0}")]
    Setup(IoEngine, #[source] io::Error),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

/// Runs all jobs of all `groups` to their end, started together; gives what each group left.
///
/// # Errors
/// That of the first job that has one; the others are then stopped.
pub(crate) fn run(groups: &[Jobs<'_>], control: &Control<'_>) -> Result<Done, JobError> {
    let all = groups.iter().map(|jobs| jobs.numjobs).sum();
    let shared = Shared::new(control, all, groups.len());
    let cpus = usable_cpus();
    let places: Vec<(usize, u32)> = groups
        .iter()
        .enumerate()
        .flat_map(|(group, jobs)| (0..jobs.numjobs).map(move |index| (group, index)))
        .collect();
    let results = on_threads(all, &shared, |thread| {
        settle(&cpus, thread, all);
        let (group, index) = places[thread as usize];
        let loaded = one(groups[group], (index, thread, group), &shared)?;
        Ok(loaded.map(|loaded| (group, loaded)))
    });
    let mut done: Vec<Vec<Loaded>> = groups.iter().map(|_| Vec::new()).collect();
    for result in results {
        if let Some((group, loaded)) = result? {
            done[group].push(loaded);
        }
    }
    let (begin, end) = *shared.cpu.lock().expect("no job panics while it holds the lock");
    let counters = shared.counters.into_inner().expect("no job panics while it holds the lock");
    let counters = counters.around();
    let waited = Span::from_ns(shared.waited.into_inner());
    Ok(Done { groups: done, cpu: end.saturating_sub(begin), waited, counters })
}

/// Does `work` on each of `count` threads, and gives what they left in their order.
fn on_threads<T: Send>(
    count: u32,
    shared: &Shared<'_>,
    work: impl Fn(u32) -> Result<T, JobError> + Sync,
) -> Vec<Result<T, JobError>> {
    thread::scope(|scope| {
        let work = &work;
        let start = |number: u32| {
            let work = move || {
                let _ends_the_others = Dying(shared);
                let result = work(number);
                if result.is_err() {
                    shared.failed.store(true, Ordering::Relaxed);
                }
                result
            };
            thread::Builder::new().spawn_scoped(scope, work).map_err(|error| {
                shared.gate.give_up();
                JobError::Thread(error)
            })
        };
        let threads: Vec<_> = (0..count).map(start).collect();
        let join = |thread: Result<thread::ScopedJoinHandle<'_, _>, JobError>| {
            thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect::<Vec<_>>()
    })
}

/// Ends the run where a job's thread panics: the others would wait for it at the start for ever.
struct Dying<'a>(&'a Shared<'a>);

impl Drop for Dying<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
            self.0.gate.give_up();
        }
    }
}

/// Keeps this thread on one processor, and its timers exact. Where the system does not let us, the
/// run is a little less even and no less right.
///
/// A single job goes where the scheduler wants it: beside one other busy process on two processors,
/// pinning it to the first took 15 % of its requests at depth 1, because it could not move away.
/// Several jobs would be moved onto one another, and are pinned.
fn settle(cpus: &[usize], thread: u32, threads: u32) {
    if threads > 1 && !cpus.is_empty() {
        let mut set = CpuSet::new();
        set.set(cpus[thread as usize % cpus.len()]);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
    // By default a timer may ring up to 50 us late (`man 2 prctl`, PR_SET_TIMERSLACK).
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// One job on its own thread; `None` where another failed before the start.
fn one(
    jobs: Jobs<'_>,
    (index, thread, group): (u32, u32, usize),
    shared: &Shared<'_>,
) -> Result<Option<Loaded>, JobError> {
    let workload = jobs.workload_of(index);
    let books = jobs.state.map(|state| Books { state: state.clone(), job: index });
    let seed = seed_of(jobs.seed, index);
    let file = FileJob {
        file: jobs.opened.file.clone(),
        capacity: jobs.opened.capacity,
        clock: shared.clock,
        stamp: jobs.stamp,
        polling: jobs.polling,
        iodepth: workload.pace.iodepth(),
        largest: workload.blocks.largest(),
        memory_align: jobs.opened.memory_align,
        reads: workload.rw.reads(),
        writes: workload.rw.sends(),
        trim: jobs.opened.trim,
        flush_data_only: workload.fdatasync,
        seed,
        books,
    };
    let job = Job { workload: &workload, seed, stamp: jobs.stamp };
    let around = Around { conduct: jobs.conduct, file: &jobs.opened.file };
    let device = jobs.opened.device;
    let watch = JobWatch { shared, thread, group, device, told: [0; 3], waited: Span::ZERO };
    match jobs.ioengine {
        IoEngine::IoUring => {
            let ring = Ring::new(file).map_err(|error| JobError::Setup(jobs.ioengine, error));
            together(ring, job, (around, watch))
        }
        IoEngine::Psync => together(Ok(Psync::new(file)), job, (around, watch)),
        IoEngine::Null => {
            let null = Null::new(file.clock, file.stamp, file.capacity, file.iodepth);
            together(Ok(null), job, (around, watch))
        }
    }
}

/// Starts when all have set up, or not at all.
fn together<T: Target>(
    target: Result<T, JobError>,
    job: Job<'_>,
    (around, mut watch): (Around<'_>, JobWatch<'_>),
) -> Result<Option<Loaded>, JobError> {
    let shared = watch.shared;
    let mut target = match target {
        Ok(target) if shared.gate.pass() => target,
        Ok(_) => return Ok(None),
        Err(error) => {
            shared.gate.give_up();
            return Err(error);
        }
    };
    around.delay(&mut target, &mut watch)?;
    let mut loaded = load::run(&mut target, job, &mut watch)?;
    if shared.over.load(Ordering::Relaxed) && !shared.control.stopped() {
        // Its time was that of the first to be done.
        loaded.end = End::Runtime;
    }
    shared.over.fetch_or(around.conduct.exit_all, Ordering::Relaxed);
    if around.conduct.end_fsync && job.workload.rw.sends() {
        around.flush(&mut target, &mut loaded);
    }
    Ok(Some(loaded))
}

/// What a job does before its first request and after its last.
#[derive(Clone, Copy)]
struct Around<'a> {
    conduct: Conduct,
    file: &'a File,
}

impl Around<'_> {
    /// Waits until it is this job's turn, or nobody's any more.
    fn delay<T: Target>(self, target: &mut T, watch: &mut JobWatch<'_>) -> Result<(), TargetError> {
        let due = target.now() + self.conduct.start_delay;
        // There is nothing that could complete.
        let mut completed = Vec::new();
        while target.now() < due && !watch.stop() {
            let soon = target.now() + LOOK_UP;
            target.wait(due.min(soon), &mut completed)?;
        }
        Ok(())
    }

    /// Brings what was written to the medium. The bytes then took so much longer; a flush that
    /// fails is one request that did.
    fn flush<T: Target>(self, target: &mut T, loaded: &mut Loaded) {
        let before = target.now();
        let failed = self.file.sync_all().is_err();
        let took = target.now().since(before);
        loaded.tally.elapsed += took;
        if failed {
            loaded.tally.errors += 1;
            return;
        }
        let flushes = loaded.tally.of_mut(Op::Flush);
        flushes.ios += 1;
        flushes.lat.record(took);
        flushes.service.record(took);
    }
}

/// The seed of copy `index` of a job: the first draws what a single one would, the others something
/// else.
pub fn seed_of(seed: u64, index: u32) -> u64 {
    // Parts 0 to 4 of a seed belong to the workload and to what is written.
    if index == 0 { seed } else { Rng::for_part(seed, 1000 + u64::from(index)).bits() }
}

/// What job `index` of `numjobs` does that each take their own part of the region: sequential ones,
/// because a second one over the same blocks would find them in a cache, and verified ones, because
/// of two writers nobody could say which was the last. Random ones share it otherwise.
pub(crate) fn share(workload: &Workload, capacity: Bytes, index: u32, numjobs: u32) -> Workload {
    let mut own = workload.clone();
    if numjobs == 1 {
        return own;
    }
    let whole = workload
        .size
        .unwrap_or_else(|| Bytes::new(capacity.get().saturating_sub(workload.offset.get())));
    let block = workload.blocks.largest().get().max(SECTOR_BYTES);
    let part = whole.get() / u64::from(numjobs) / block * block;
    own.offset = Bytes::new(workload.offset.get() + part * u64::from(index));
    own.size = Some(Bytes::new(part));
    own
}

/// Refuses a workload whose requests do not fit the open target, as each job would.
pub(crate) fn requests_fit(jobs: &Jobs<'_>) -> Result<(), LoadError> {
    let last = jobs.workload_of(jobs.numjobs - 1);
    Requests::new(&last, jobs.opened.capacity, jobs.seed)?;
    Ok(())
}

/// What job `index` does where each begins `step` behind the one before, overlapping or not; what
/// would lie beyond the end of the target is left out.
fn behind(workload: &Workload, capacity: Bytes, step: Bytes, index: u32) -> Workload {
    let offset = workload.offset.get().saturating_add(step.get().saturating_mul(index.into()));
    let rest = Bytes::new(capacity.get().saturating_sub(offset));
    let size = workload.size.map(|size| if index > 0 { size.min(rest) } else { size });
    Workload { offset: Bytes::new(offset), size, ..workload.clone() }
}

/// Lets all jobs start together, or none.
struct Gate {
    numjobs: u32,
    /// Jobs that are ready, and whether one never will be.
    state: Mutex<(u32, bool)>,
    changed: Condvar,
}

impl Gate {
    fn new(numjobs: u32) -> Self {
        Self { numjobs, state: Mutex::new((0, false)), changed: Condvar::new() }
    }

    /// Waits for the other jobs; false where one of them gave up.
    fn pass(&self) -> bool {
        let mut state = self.state.lock().expect("no job panics while it holds the lock");
        state.0 += 1;
        if state.0 == self.numjobs {
            // Not before: each of a thousand would wake all that wait already.
            self.changed.notify_all();
        }
        let waits = |state: &mut (u32, bool)| state.0 < self.numjobs && !state.1;
        let state = self.changed.wait_while(state, waits);
        !state.expect("no job panics while it holds the lock").1
    }

    fn give_up(&self) {
        self.state.lock().expect("no job panics while it holds the lock").1 = true;
        self.changed.notify_all();
    }
}

struct Shared<'a> {
    control: &'a Control<'a>,
    clock: Clock,
    gate: Gate,
    /// A job has failed, and the others may as well stop.
    failed: AtomicBool,
    /// A job is done that ends the others with it.
    over: AtomicBool,
    /// Requests, bytes and errors of all jobs, as far as they told.
    counts: [AtomicU64; 3],
    /// Processor time when the first job began to measure and when the last one ended.
    cpu: Mutex<(Span, Span)>,
    /// Nanoseconds that jobs waited for a processor while they measured.
    waited: AtomicU64,
    /// What the machine counted at a group's first beginning to measure and at its last end.
    counters: Mutex<Noted>,
}

impl<'a> Shared<'a> {
    fn new(control: &'a Control<'a>, jobs: u32, groups: usize) -> Self {
        Self {
            control,
            clock: Clock::start(),
            gate: Gate::new(jobs),
            failed: AtomicBool::new(false),
            over: AtomicBool::new(false),
            counts: [const { AtomicU64::new(0) }; 3],
            cpu: Mutex::new((Span::MAX, Span::ZERO)),
            waited: AtomicU64::new(0),
            counters: Mutex::new(Noted::new(groups)),
        }
    }
}

/// One job's part in what all jobs tell.
struct JobWatch<'a> {
    shared: &'a Shared<'a>,
    thread: u32,
    group: usize,
    device: Option<(u32, u32)>,
    told: [u64; 3],
    /// What it had waited for a processor when it began to measure.
    waited: Span,
}

impl Watch for JobWatch<'_> {
    #[inline]
    fn stop(&mut self) -> bool {
        let flag = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        self.shared.control.stopped() || flag(&self.shared.failed) || flag(&self.shared.over)
    }

    fn enter(&mut self, phase: Phase) {
        let so_far = waited();
        if phase == Phase::Drain {
            let waited = so_far.saturating_sub(self.waited).ns();
            self.shared.waited.fetch_add(waited, Ordering::Relaxed);
        }
        self.waited = so_far;
        let now = process_cpu();
        let mut cpu = self.shared.cpu.lock().expect("no job panics while it holds the lock");
        match phase {
            Phase::Measure => cpu.0 = cpu.0.min(now),
            Phase::Drain => cpu.1 = cpu.1.max(now),
            Phase::LayOut | Phase::Ramp => return,
        }
        drop(cpu);
        let mut counters = self.shared.counters.lock();
        let counters = counters.as_mut().expect("no job panics while it holds the lock");
        counters.note(self.group, self.device, phase == Phase::Measure);
    }

    fn tick(&mut self, progress: &Progress) {
        let counts = [progress.ios, progress.bytes, progress.errors];
        for ((count, told), all) in counts.iter().zip(&mut self.told).zip(&self.shared.counts) {
            all.fetch_add(count - *told, Ordering::Relaxed);
            *told = *count;
        }
        if self.thread == 0 {
            let [ios, bytes, errors] = &self.shared.counts;
            let (ios, bytes) = (ios.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
            let errors = errors.load(Ordering::Relaxed);
            (self.shared.control.progress)(&Progress { ios, bytes, errors, ..*progress });
        }
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::Tally;
    use drivelab_core::target::Rejected;
    use drivelab_core::units::Time;
    use drivelab_core::workload::{Rw, WorkloadOptions};
    use drivelab_core::{Completion, Request};
    use rustix::fs::{Mode, OFlags};

    use super::*;
    use crate::testing::Scratch;

    #[test]
    fn jobs_with_parts_of_their_own_do_not_overlap() {
        let part = |rw, index| {
            let size = Some(Bytes::mib(10));
            let options = WorkloadOptions { rw: Some(rw), size, ..Default::default() };
            let own = share(&options.check().unwrap(), Bytes::gib(1), index, 3);
            (own.offset, own.size.unwrap())
        };
        // A third of 10 MiB, in whole blocks of 4 KiB.
        let third = 853 * 4096;
        assert_eq!(part(Rw::Read, 0), (Bytes::ZERO, Bytes::new(third)));
        assert_eq!(part(Rw::Read, 2), (Bytes::new(2 * third), Bytes::new(third)));
    }

    /// A clock that is a millisecond later each time it is read.
    struct Hurried(u64);

    impl Target for Hurried {
        fn now(&mut self) -> Time {
            self.0 += 1_000_000;
            Time::from_ns(self.0)
        }

        fn capacity(&self) -> Bytes {
            Bytes::mib(1)
        }

        fn submit(&mut self, _: Request) -> Result<(), Rejected> {
            unreachable!("nothing is asked of it")
        }

        fn wait(&mut self, _: Time, _: &mut Vec<Completion>) -> Result<(), TargetError> {
            Ok(())
        }
    }

    #[test]
    fn a_flush_after_the_end_takes_its_time_and_may_fail() {
        let scratch = Scratch::new("jobs");
        let good = File::open(scratch.file("data", b"data")).unwrap();
        // A file that is open by name only cannot be flushed.
        let bad = rustix::fs::open("/", OFlags::PATH, Mode::empty()).unwrap();
        for (file, errors) in [(good, 0), (bad.into(), 1)] {
            let around = Around { conduct: Conduct::default(), file: &file };
            let tally = Tally { elapsed: Span::from_ms(5), ..Tally::default() };
            let mut loaded = Loaded { tally, end: End::Runtime };
            around.flush(&mut Hurried(0), &mut loaded);
            assert_eq!((loaded.tally.elapsed, loaded.tally.errors), (Span::from_ms(6), errors));
        }
    }

    #[test]
    fn jobs_may_begin_behind_one_another_and_overlap() {
        let size = Some(Bytes::mib(10));
        let workload = WorkloadOptions { size, ..Default::default() }.check().unwrap();
        let third = behind(&workload, Bytes::mib(20), Bytes::mib(4), 2);
        assert_eq!((third.offset, third.size), (Bytes::mib(8), size));
        let last = behind(&workload, Bytes::mib(20), Bytes::mib(4), 3);
        assert_eq!((last.offset, last.size), (Bytes::mib(12), Some(Bytes::mib(8))));
    }

    /// Runs three jobs of which the second panics, `before` or behind the start; gives what the
    /// panic said, or nothing where the run did not end.
    fn with_a_panic(before: bool) -> Option<String> {
        let (tell, told) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let stop = AtomicBool::new(false);
            let control = Control { stop: &stop, progress: &|_| () };
            let shared = Shared::new(&control, 3, 1);
            let work = |number| {
                assert!(number != 1 || !before, "the job died");
                if !shared.gate.pass() {
                    return Ok(());
                }
                assert!(number != 1, "the job died");
                while !shared.failed.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                Ok(())
            };
            let all = || on_threads(3, &shared, work).len();
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(all));
            let said =
                caught.map_err(|panic| panic.downcast_ref::<&str>().map(ToString::to_string));
            tell.send(said)
        });
        // So long only where it would be for ever.
        let said = told.recv_timeout(std::time::Duration::from_secs(20)).ok()?;
        said.err().flatten()
    }

    #[test]
    fn a_job_that_dies_ends_the_others_and_the_run() {
        assert_eq!(with_a_panic(false).as_deref(), Some("the job died"));
        assert_eq!(with_a_panic(true).as_deref(), Some("the job died"));
    }

    #[test]
    fn jobs_draw_differently_and_the_first_as_if_alone() {
        assert_eq!(seed_of(7, 0), 7);
        assert_ne!(seed_of(7, 1), seed_of(7, 2));
        assert_ne!(seed_of(7, 1), seed_of(8, 1));
    }
}
