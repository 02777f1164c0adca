//! Several jobs at once: one thread each, pinned, started together, merged exactly.

mod edges;
mod gate;
mod process;
mod watch;

pub use process::page_size;
pub(crate) use process::{process_cpu, waited};

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use drivelab_core::Control;
use drivelab_core::record::Mark;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::usage::Census;
use drivelab_core::workload::{Requests, Workload};
use drivelab_core::{IoEngine, Target};
use drivelab_load::marks::TargetFacts;
use drivelab_load::{self as load, End, Flows, Job, JobOutcome, LoadError, Sharing, seed_of};
use rustix::thread::CpuSet;

use self::edges::JobEdges;
use self::process::usable_cpus;
use self::watch::{JobWatch, RunState};
use crate::conditions::CountersAround;
use crate::error::RunError;
use crate::file::{Calls, FileLocks, Null, Psync, TargetSetup};
use crate::open::OpenTarget;
use crate::plan::RunPlan;
use crate::sys::aio::Aio;
use crate::sys::descriptors;
use crate::sys::ring::Ring;
use crate::sys::usage;
use crate::verify::{JobAccount, State};

/// The jobs of a plan whose target is open.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    pub(crate) plan: &'a RunPlan,
    pub(crate) ioengine: IoEngine,
    /// The mark that explains why that differs from the request.
    pub(crate) fallback: Option<Mark>,
    pub(crate) target: OpenTarget,
    pub(crate) state: Option<Arc<State>>,
}

impl Group<'_> {
    /// The facts about its target, on a machine with this much `memory`.
    pub(crate) fn facts(&self, memory: Bytes) -> TargetFacts<'_> {
        let target = &self.target;
        TargetFacts {
            direct: self.plan.direct,
            file_system: target.file_system,
            capacity: target.capacity,
            memory,
            holes: target.holes,
            laid_out: target.laid_out.is_some(),
            write_back: target.disk.as_ref().is_some_and(|disk| disk.write_back),
            stand_in: target.stand_in.as_deref(),
        }
    }

    fn workload_of(&self, index: u32) -> Workload {
        let sharing = Sharing {
            capacity: self.target.capacity,
            numjobs: self.plan.numjobs,
            schedule: self.plan.conduct,
            verified: self.state.is_some(),
        };
        sharing.part(&self.plan.workload, index)
    }

    /// Refuses a workload whose requests do not fit the target, as each job would.
    pub(crate) fn check_requests(&self) -> Result<(), LoadError> {
        assert!(self.plan.numjobs > 0, "a plan has jobs");
        let last = self.workload_of(self.plan.numjobs - 1);
        Requests::new(&last, self.target.capacity, self.plan.seed)?;
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct GroupsOutcome {
    pub(crate) groups: Vec<Vec<JobOutcome>>,
    pub(crate) cpu: CpuTime,
    /// The delay after the start line until the last job began.
    pub(crate) late: Span,
    /// The machine's counters when each group began to measure and when it ended.
    pub(crate) counters: Vec<Option<CountersAround>>,
}

/// Processor time of the process, from the start of the first job's measurement to the end of the
/// last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuTime {
    pub(crate) used: Span,
    /// The time in which all jobs together were runnable but had no processor.
    pub(crate) waited: Span,
}

/// Decides when a run begins whose jobs are ready: other hosts may have to be ready, too.
pub trait StartLine {
    /// The instant at which they begin, which may lie a little ahead; `None` where they must not.
    /// Called once, when all jobs have set up, from the thread that asked for the run.
    fn ready(&mut self) -> Option<Instant>;
}

/// Runs all jobs of all `groups` to their end, started together; returns the results of each group.
/// `None` if the start line refuses.
pub(crate) fn run(
    groups: &[Group<'_>],
    census: &dyn Census,
    control: &Control<'_>,
    line: Option<&mut dyn StartLine>,
) -> Result<Option<GroupsOutcome>, RunError> {
    let all = groups.iter().map(|group| group.plan.numjobs).sum();
    let flows = Flows::of(groups.iter().map(|group| (group.plan.conduct, group.plan.numjobs)));
    let locked = groups.iter().filter(|group| !group.plan.conduct.lock.is_none());
    let locks = FileLocks::of(locked.filter_map(|group| Some(group.target.identity?.number())));
    let shared = RunState::new(control, census, all, groups.len(), flows, locks);
    let cpus = usable_cpus();
    let seats: Vec<Seat> = (0..groups.len())
        .flat_map(|group| (0..groups[group].plan.numjobs).map(move |job| Seat { group, job }))
        .collect();
    debug_assert_eq!(seats.len(), all as usize, "one thread a job");
    // Before any thread is started: the last job to come opens a gate that is not held.
    if line.is_some() {
        shared.gate.hold();
    }
    let work = |thread| {
        settle(&cpus, thread, all);
        one(groups, seats[thread as usize], thread, &shared)
    };
    let mut refused = false;
    let meanwhile = || {
        let Some(line) = line.filter(|_| shared.gate.all_ready()) else { return };
        if let Some(at) = line.ready() {
            shared.gate.open(at);
        } else {
            refused = true;
            shared.gate.give_up();
        }
    };
    let results = on_threads(all, &shared, work, meanwhile);
    let mut done: Vec<Vec<JobOutcome>> = groups.iter().map(|_| Vec::new()).collect();
    for (result, seat) in results.into_iter().zip(seats) {
        done[seat.group].extend(result?);
    }
    if refused {
        return Ok(None);
    }
    let counters = shared.counters.into_inner().expect("no job panics while it holds the lock");
    let [begin, end, waited] =
        [shared.cpu_begin, shared.cpu_end, shared.waited].map(|ns| Span::from_ns(ns.into_inner()));
    let cpu = CpuTime { used: end.saturating_sub(begin), waited };
    let late = shared.gate.late();
    Ok(Some(GroupsOutcome { groups: done, cpu, late, counters: counters.around() }))
}

/// Runs `work` on each of `count` threads and `meanwhile` on this one, and returns their results in
/// order.
fn on_threads<T: Send>(
    count: u32,
    shared: &RunState<'_>,
    work: impl Fn(u32) -> Result<T, RunError> + Sync,
    meanwhile: impl FnOnce(),
) -> Vec<Result<T, RunError>> {
    thread::scope(|scope| {
        let work = &work;
        let threads = (0..count).map(|number| {
            let work = move || {
                let _ends_the_others = PanicGuard(shared);
                let result = work(number);
                if result.is_err() {
                    shared.failed.store(true, Ordering::Relaxed);
                }
                result
            };
            thread::Builder::new().spawn_scoped(scope, work).map_err(|error| {
                shared.gate.give_up();
                RunError::Setup { what: "a thread for each job".into(), source: error }
            })
        });
        // All are started before the first is waited for.
        let threads: Vec<_> = threads.collect();
        let ends_the_others = PanicGuard(shared);
        meanwhile();
        drop(ends_the_others);
        let results = threads
            .into_iter()
            .map(|thread| thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        results.collect::<Vec<_>>()
    })
}

/// Ends the run if a job's thread panics: the others would wait for it at the start forever.
struct PanicGuard<'a>(&'a RunState<'a>);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
            self.0.gate.give_up();
        }
    }
}

/// Pins this thread to one processor and makes its timers exact. If the system does not allow this,
/// the run is slightly less even, but just as correct.
///
/// A single job is left to the scheduler: with one other busy process on two processors, pinning
/// the job to the first took 15 % of its requests at depth 1, because it could not move away.
/// Several jobs would be scheduled on the same processor, so they are pinned.
fn settle(cpus: &[usize], thread: u32, threads: u32) {
    if threads > 1 && !cpus.is_empty() {
        let mut set = CpuSet::new();
        set.set(cpus[thread as usize % cpus.len()]);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
    // By default a timer may expire up to 50 us late (`man 2 prctl`, PR_SET_TIMERSLACK).
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

#[derive(Debug, Clone, Copy)]
struct Seat {
    group: usize,
    job: u32,
}

fn one(
    groups: &[Group<'_>],
    seat: Seat,
    thread: u32,
    shared: &RunState<'_>,
) -> Result<Option<JobOutcome>, RunError> {
    let Group { plan, ioengine, target, state, .. } = &groups[seat.group];
    let workload = groups[seat.group].workload_of(seat.job);
    let account = state.as_ref().map(|state| JobAccount { state: state.clone(), job: seat.job });
    let seed = seed_of(plan.seed, seat.job);
    let file = target.identity.map(|identity| identity.number());
    let setup = TargetSetup {
        file: target.file.clone(),
        capacity: target.capacity,
        clock: shared.clock,
        polling: plan.polling,
        iodepth: workload.pace.iodepth(),
        complete_min: workload.batches.complete_min,
        largest: workload.blocks.largest(),
        memory_align: target.memory_align,
        reads: workload.rw.reads(),
        writes: workload.rw.sends(),
        trim: target.trim,
        flush_data_only: workload.fdatasync,
        seed,
        account,
        lock: shared.locks.job(file, plan.conduct.lock, *ioengine),
    };
    let flow = shared.flows.part(plan.conduct);
    let latency = plan.conduct.latency;
    let job = Job { workload: &workload, seed, stamp: plan.stamp, flow, latency };
    let edges = JobEdges { schedule: plan.conduct, file: &target.file };
    let (group, device) = (seat.group, target.number());
    let watch =
        JobWatch { shared, thread, group, device, told: [0; 3], answered: 0, waited: Span::ZERO };
    match ioengine {
        IoEngine::IoUring => {
            let what = ioengine.to_string();
            let ring = Ring::new(setup).map_err(|source| RunError::Setup { what, source });
            together(ring, job, edges, watch)
        }
        IoEngine::Libaio => {
            let what = ioengine.to_string();
            let aio = Aio::new(setup).map_err(|source| RunError::Setup { what, source });
            together(aio, job, edges, watch)
        }
        IoEngine::Psync | IoEngine::Pvsync | IoEngine::Pvsync2 => {
            // A ring has its file registered; psync looks it up in each call.
            descriptors::unshare();
            together(Ok(Psync::with(setup, Calls::of(*ioengine))), job, edges, watch)
        }
        IoEngine::Null => {
            let null = Null::new(setup.clock, setup.capacity, setup.iodepth);
            together(Ok(null), job, edges, watch)
        }
    }
}

/// Starts when all jobs have set up, or not at all.
fn together<T: Target>(
    target: Result<T, RunError>,
    job: Job<'_>,
    edges: JobEdges<'_>,
    mut watch: JobWatch<'_>,
) -> Result<Option<JobOutcome>, RunError> {
    let shared = watch.shared;
    let mut target = match target {
        Ok(target) if shared.gate.pass() => target,
        Ok(_) => return Ok(None),
        Err(error) => {
            shared.gate.give_up();
            return Err(error);
        }
    };
    edges.delay(&mut target, &mut watch).map_err(LoadError::from)?;
    // Around the load alone: waiting for other jobs and a start delay use nothing of note.
    let before = usage::of_this_thread();
    let mut loaded = load::run(&mut target, job, &mut watch)?;
    let after = usage::of_this_thread();
    loaded.tally.usage = after.zip(before).map(|(after, before)| after.since(before));
    if shared.over.load(Ordering::Relaxed) && !shared.control.stopped() {
        // Its time was that of the first to finish.
        loaded.end = End::Runtime;
    }
    shared.over.fetch_or(edges.schedule.exit_all, Ordering::Relaxed);
    if edges.schedule.end_fsync && job.workload.rw.sends() {
        edges.flush(&mut target, &mut loaded);
    }
    if let Some(snapshots) = shared.control.snapshots() {
        snapshots.end(watch.thread as usize, loaded.tally.clone());
    }
    Ok(Some(loaded))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::quiet::Quiet;

    /// Runs three jobs of which the second panics, `before` or after the start; returns the panic's
    /// message, or nothing if the run did not end.
    fn with_a_panic(before: bool) -> Option<String> {
        let (tell, told) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let stop = AtomicBool::new(false);
            let control = Control::silent(&stop);
            let quiet = Quiet(Vec::new());
            let (flows, locks) = (Flows::default(), FileLocks::default());
            let shared = RunState::new(&control, &quiet, 3, 1, flows, locks);
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
            let all = || on_threads(3, &shared, work, || ()).len();
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(all));
            let said =
                caught.map_err(|panic| panic.downcast_ref::<&str>().map(ToString::to_string));
            tell.send(said)
        });
        // This long only if it would last forever.
        let said = told.recv_timeout(std::time::Duration::from_secs(20)).ok()?;
        said.err().flatten()
    }

    #[test]
    fn a_job_that_dies_ends_the_others_and_the_run() {
        assert_eq!(with_a_panic(false).as_deref(), Some("the job died"));
        assert_eq!(with_a_panic(true).as_deref(), Some("the job died"));
    }
}
