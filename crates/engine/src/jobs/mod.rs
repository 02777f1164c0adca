//! Several jobs at once: a thread each, pinned, started together, merged exactly.

mod edges;
mod gate;
mod region;
mod watch;

pub use region::seed_of;
pub(crate) use region::{Sharing, requests_fit};

use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use drivelab_core::record::Stamp;
use drivelab_core::target::TargetError;
use drivelab_core::units::Span;
use drivelab_core::usage::{Census, Counters};
use drivelab_core::workload::Workload;
use drivelab_core::{IoEngine, JobSchedule, Polling, Target};
use rustix::thread::CpuSet;

use self::edges::JobEdges;
use self::watch::{JobWatch, RunState};
use crate::file::{TargetSetup, Null, Psync};
use crate::load::{self, Control, End, Job, LoadError, JobOutcome};
use crate::open::OpenTarget;
use crate::process::usable_cpus;
use crate::sys::ring::Ring;
use crate::verify::{JobAccount, State};

/// What the jobs of one group share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jobs<'a> {
    pub(crate) opened: &'a OpenTarget,
    pub(crate) ioengine: IoEngine,
    pub(crate) workload: &'a Workload,
    pub(crate) numjobs: u32,
    pub(crate) conduct: JobSchedule,
    pub(crate) seed: u64,
    pub(crate) stamp: Stamp,
    pub(crate) polling: Polling,
    /// The account of a verified run.
    pub(crate) state: Option<&'a Arc<State>>,
}

impl Jobs<'_> {
    /// What the job of this number does.
    fn workload_of(&self, index: u32) -> Workload {
        let sharing = Sharing {
            capacity: self.opened.capacity,
            numjobs: self.numjobs,
            schedule: self.conduct,
            verified: self.state.is_some(),
        };
        sharing.part(self.workload, index)
    }
}

/// What the jobs left.
#[derive(Debug)]
pub(crate) struct Done {
    /// One entry a job, by groups.
    pub(crate) groups: Vec<Vec<JobOutcome>>,
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
pub(crate) fn run(
    groups: &[Jobs<'_>],
    census: &dyn Census,
    control: &Control<'_>,
) -> Result<Done, JobError> {
    let all = groups.iter().map(|jobs| jobs.numjobs).sum();
    let shared = RunState::new(control, census, all, groups.len());
    let cpus = usable_cpus();
    let jobs = groups.iter().enumerate();
    let jobs = jobs.flat_map(|(group, jobs)| (0..jobs.numjobs).map(move |index| (group, index)));
    let seats: Vec<Seat> =
        (0..).zip(jobs).map(|(thread, (group, index))| Seat { group, index, thread }).collect();
    let results = on_threads(all, &shared, |thread| {
        settle(&cpus, thread, all);
        let seat = seats[thread as usize];
        let loaded = one(groups[seat.group], seat, &shared)?;
        Ok(loaded.map(|loaded| (seat.group, loaded)))
    });
    let mut done: Vec<Vec<JobOutcome>> = groups.iter().map(|_| Vec::new()).collect();
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
    shared: &RunState<'_>,
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
struct Dying<'a>(&'a RunState<'a>);

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

/// Which job a thread does.
#[derive(Debug, Clone, Copy)]
struct Seat {
    group: usize,
    /// Of the job in its group.
    index: u32,
    /// Of the thread among all.
    thread: u32,
}

/// One job on its own thread; `None` where another failed before the start.
fn one(jobs: Jobs<'_>, seat: Seat, shared: &RunState<'_>) -> Result<Option<JobOutcome>, JobError> {
    let Seat { group, index, thread } = seat;
    let workload = jobs.workload_of(index);
    let books = jobs.state.map(|state| JobAccount { state: state.clone(), job: index });
    let seed = seed_of(jobs.seed, index);
    let file = TargetSetup {
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
    let edges = JobEdges { schedule: jobs.conduct, file: &jobs.opened.file };
    let device = jobs.opened.number();
    let watch = JobWatch { shared, thread, group, device, told: [0; 3], waited: Span::ZERO };
    match jobs.ioengine {
        IoEngine::IoUring => {
            let ring = Ring::new(file).map_err(|error| JobError::Setup(jobs.ioengine, error));
            together(ring, job, edges, watch)
        }
        IoEngine::Psync => together(Ok(Psync::new(file)), job, edges, watch),
        IoEngine::Null => {
            let null = Null::new(file.clock, file.stamp, file.capacity, file.iodepth);
            together(Ok(null), job, edges, watch)
        }
    }
}

/// Starts when all have set up, or not at all.
fn together<T: Target>(
    target: Result<T, JobError>,
    job: Job<'_>,
    edges: JobEdges<'_>,
    mut watch: JobWatch<'_>,
) -> Result<Option<JobOutcome>, JobError> {
    let shared = watch.shared;
    let mut target = match target {
        Ok(target) if shared.gate.pass() => target,
        Ok(_) => return Ok(None),
        Err(error) => {
            shared.gate.give_up();
            return Err(error);
        }
    };
    edges.delay(&mut target, &mut watch)?;
    let mut loaded = load::run(&mut target, job, &mut watch)?;
    if shared.over.load(Ordering::Relaxed) && !shared.control.stopped() {
        // Its time was that of the first to be done.
        loaded.end = End::Runtime;
    }
    shared.over.fetch_or(edges.schedule.exit_all, Ordering::Relaxed);
    if edges.schedule.end_fsync && job.workload.rw.sends() {
        edges.flush(&mut target, &mut loaded);
    }
    Ok(Some(loaded))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::quiet::Quiet;

    /// Runs three jobs of which the second panics, `before` or behind the start; gives what the
    /// panic said, or nothing where the run did not end.
    fn with_a_panic(before: bool) -> Option<String> {
        let (tell, told) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let stop = AtomicBool::new(false);
            let control = Control { stop: &stop, progress: &|_| () };
            let quiet = Quiet(Vec::new());
            let shared = RunState::new(&control, &quiet, 3, 1);
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
}
