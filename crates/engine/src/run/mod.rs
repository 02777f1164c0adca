//! A run on this machine, from a path to figures.

mod lend;

pub use lend::lend;

use std::sync::Arc;

use drivelab_core::Control;
use drivelab_core::JOBS_MAX;
use drivelab_core::record::{Mark, MarkId, Tally};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::usage::{Census, Machine};
use drivelab_core::{IoEngine, Polling};
use drivelab_load::marks::{self, RunFacts};
use drivelab_load::{End, JobOutcome};

use crate::conditions::{self, CountersAround};
use crate::error::RunError;
use crate::file::Trim;
use crate::ioengine;
use crate::jobs::{self, CpuTime, Group, StartLine};
use crate::open::{self, LaidOut};
use crate::plan::RunPlan;
use crate::sys::discard::ring_discards;
use crate::sys::ring;
use crate::verify::State;

/// The results of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// One entry per job.
    pub jobs: Vec<Tally>,
    /// All jobs together.
    pub total: Tally,
    /// Why it ended; `Stopped` if any job was.
    pub end: End,
    /// The nature of the figures, and reasons to doubt them.
    pub marks: Vec<Mark>,
    /// The way in which I/O was done.
    pub ioengine: IoEngine,
    /// Number of addressable bytes.
    pub capacity: Bytes,
}

/// Makes a run: opens or lays out the target, starts the jobs, merges their results.
///
/// # Errors
/// As [`RunError`]. Failed requests are not errors: they are counted and marked.
pub fn run(
    plan: &RunPlan,
    census: &dyn Census,
    control: &Control<'_>,
) -> Result<RunOutcome, RunError> {
    let mut outcomes = run_together(std::slice::from_ref(plan), census, control)?;
    Ok(outcomes.pop().expect("one outcome a plan"))
}

/// Makes several runs at the same time, started together when all are ready: one outcome per plan.
///
/// The processor time of the process cannot be divided among plans, so with several none has it.
pub fn run_together(
    plans: &[RunPlan],
    census: &dyn Census,
    control: &Control<'_>,
) -> Result<Vec<RunOutcome>, RunError> {
    let begun = begin(plans, census, control, None)?;
    let (outcomes, _) = begun.expect("no start line refuses");
    debug_assert_eq!(outcomes.len(), plans.len(), "one outcome a plan");
    Ok(outcomes)
}

/// Makes a run that begins when `line` says, and says how much later than that its last job began;
/// nothing where the line refuses.
///
/// # Errors
/// As [`run`]. Where it fails before all jobs are ready the line is never asked.
pub fn run_from(
    plan: &RunPlan,
    census: &dyn Census,
    control: &Control<'_>,
    line: &mut dyn StartLine,
) -> Result<Option<(RunOutcome, Span)>, RunError> {
    let begun = begin(std::slice::from_ref(plan), census, control, Some(line))?;
    Ok(begun.map(|(mut outcomes, late)| (outcomes.pop().expect("one outcome a plan"), late)))
}

/// Runs that began together, and how much later than their start line said.
type Begun = (Vec<RunOutcome>, Span);

fn begin(
    plans: &[RunPlan],
    census: &dyn Census,
    control: &Control<'_>,
    line: Option<&mut dyn StartLine>,
) -> Result<Option<Begun>, RunError> {
    let machine = census.machine();
    fits(plans, machine.memory)?;
    let mut groups = Vec::new();
    for plan in plans {
        groups.push(prepare(plan, census, control)?);
    }
    let done = jobs::run(&groups, census, control, line)?;
    for group in &mut groups {
        group.target.keep_file();
    }
    let Some(done) = done else { return Ok(None) };
    let late = done.late;
    let cpu = (plans.len() == 1).then_some(done.cpu);
    let moved = |device| -> u64 {
        let same = groups.iter().zip(&done.groups);
        let same = same.filter(|(group, _)| group.target.number() == device);
        same.flat_map(|(_, jobs)| jobs).map(|job| job.tally.bytes()).sum()
    };
    let moved: Vec<u64> = groups.iter().map(|group| moved(group.target.number())).collect();
    // Looking at a file whose file system does not answer would never end.
    let answers = done.groups.iter().flatten().all(|job| job.tally.unanswered == 0);
    let changes: Vec<Option<Mark>> =
        groups.iter().map(|group| answers.then(|| changed(group, &groups)).flatten()).collect();
    let left = groups.iter().zip(done.groups).zip(done.counters).zip(moved).zip(changes);
    let mut outcomes = Vec::new();
    for ((((group, jobs), counters), ours), changed) in left {
        let mut marks = around(group.plan, counters, ours, &machine);
        marks.extend(changed);
        outcomes.push(outcome(group, jobs, cpu, marks, machine.memory));
    }
    Ok(Some((outcomes, late)))
}

/// Refuses what [`run`] would refuse, one plan after the other: opens each target as the run would,
/// lays it out if it is missing, and closes it again. No state file is touched.
pub fn try_out(
    plans: &[RunPlan],
    census: &dyn Census,
    control: &Control<'_>,
) -> Result<(), RunError> {
    let memory = census.machine().memory;
    // Of plans of which a later one is refused, none is run.
    let mut laid_out = Vec::new();
    for plan in plans {
        fits(std::slice::from_ref(plan), memory)?;
        let plan = RunPlan { verify_state: None, ..plan.clone() };
        let mut group = prepare(&plan, census, control)?;
        group.check_requests()?;
        laid_out.extend(group.target.laid_out.take());
    }
    laid_out.iter_mut().for_each(LaidOut::keep);
    Ok(())
}

/// Opens the target of `plan` and chooses how I/O is done on it.
fn prepare<'a>(
    plan: &'a RunPlan,
    census: &dyn Census,
    control: &Control<'_>,
) -> Result<Group<'a>, RunError> {
    let (asked, pace) = (plan.ioengine, plan.workload.pace);
    let probe = || ring::probe(plan.polling);
    let (mut ioengine, mut fallback) = ioengine::choose(asked, plan.polling, pace, probe)?;
    let target = if ioengine == IoEngine::Null {
        let system = |source| RunError::Setup { what: ioengine.to_string(), source };
        open::nothing(plan.file_size()).map_err(system)?
    } else {
        open::open(plan, census, control)?
    };
    if target.file_system.in_memory && plan.polling == Polling::default() {
        ioengine = ioengine::in_memory(ioengine, asked, pace);
    }
    let discards = plan.workload.rw.trims() && target.trim == Trim::Discard;
    if discards && ioengine == IoEngine::IoUring && !ring_discards(&target.file) {
        (ioengine, fallback) = ioengine::without_discards(asked, pace)?;
    }
    // Last, because it empties the account of an earlier run.
    let state = plan.verify_state.as_deref();
    let state = state.map(|path| State::create(path, plan, target.capacity)).transpose()?;
    Ok(Group { plan, ioengine, fallback, target, state: state.map(Arc::new) })
}

/// The marks for activity around a run, in which the runs on its device moved `ours` bytes.
fn around(
    plan: &RunPlan,
    counters: Option<CountersAround>,
    ours: u64,
    machine: &Machine,
) -> Vec<Mark> {
    let ours = Some(ours).filter(|_| plan.direct);
    let marks = counters.map(|counters| conditions::marks(counters, ours));
    let governor = machine.cpu_governor.as_deref().and_then(conditions::governed);
    marks.into_iter().flatten().chain(governor).collect()
}

/// The mark of a target that was not the same during the whole run.
fn changed(group: &Group<'_>, groups: &[Group<'_>]) -> Option<Mark> {
    let identity = group.target.identity?;
    let is_same = |other: &&Group<'_>| {
        other.target.identity.is_some_and(|it| it.number() == identity.number())
    };
    let mut same = groups.iter().filter(is_same);
    let is_ours = same.any(|other| other.plan.workload.rw.writes());
    let message = identity.change(&group.plan.path, &group.target.file, is_ours)?;
    Some(Mark { id: MarkId::Changed, message })
}

/// The results of the jobs of a group together.
fn outcome(
    group: &Group<'_>,
    done: Vec<JobOutcome>,
    cpu: Option<CpuTime>,
    around: Vec<Mark>,
    memory: Bytes,
) -> RunOutcome {
    let Group { plan, target, .. } = group;
    let stopped = done.iter().find(|job| job.end == End::Stopped);
    let end = stopped.or(done.first()).map_or(End::Stopped, |job| job.end);
    let mut jobs: Vec<Tally> = done.into_iter().map(|job| job.tally).collect();
    let mut total = Tally::default();
    for job in &jobs {
        total.merge(job);
    }
    total.cpu = cpu.map(|cpu| cpu.used);
    if total.unanswered > 0 {
        // A file system that does not answer would not answer to closing the file either, and the
        // figures would never be printed: it stays open until the process ends.
        std::mem::forget(target.file.clone());
    }
    if let [only] = &mut jobs[..] {
        only.cpu = total.cpu;
    }
    let facts = RunFacts {
        workload: &plan.workload,
        numjobs: plan.numjobs,
        total: &total,
        waited: cpu.map_or(Span::ZERO, |cpu| cpu.waited),
        end,
    };
    let marks = marks::of_run(facts, group.facts(memory)).into_iter();
    let marks = marks.chain(group.fallback.clone()).chain(around).collect();
    RunOutcome { jobs, total, end, marks, ioengine: group.ioengine, capacity: target.capacity }
}

/// Refuses what can be refused before anything is touched: too many jobs, or buffers that do not
/// fit into memory.
pub fn fits(plans: &[RunPlan], memory: Bytes) -> Result<(), RunError> {
    let mut numjobs = plans.iter().map(|plan| u64::from(plan.numjobs)).sum();
    // A plan without jobs would not show in the sum.
    if plans.iter().any(|plan| plan.numjobs == 0) {
        numjobs = 0;
    }
    if !(1..=u64::from(JOBS_MAX)).contains(&numjobs) {
        return Err(RunError::Numjobs { numjobs });
    }
    let needed = plans.iter().map(RunPlan::buffers).fold(0, u64::saturating_add);
    let needed = Bytes::new(needed);
    if memory.get() > 0 && needed.get() > memory.get() / 2 {
        return Err(RunError::Memory { needed, memory });
    }
    Ok(())
}
