//! A run on this machine, from a path to figures.

use std::path::PathBuf;
use std::sync::Arc;

use drivelab_core::JOBS_MAX;
use drivelab_core::record::{Mark, Stamp, Tally};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::usage::{Census, Counters, Machine};
use drivelab_core::workload::{Workload, WorkloadError};
use drivelab_core::{IoEngine, JobSchedule, Polling};

use crate::conditions;
use crate::file::Trim;
use crate::file::buffers::Buffers;
use crate::ioengine::{self, IoEngineError};
use crate::jobs::{self, JobError, Jobs};
use crate::load::{Control, End, LoadError, Loaded};
use crate::marks::{self, RunFacts, TargetFacts};
use crate::open::{self, Ask, OpenError, Opened, Writers};
use crate::sys::discard::ring_discards;
use crate::sys::ring;
use crate::verify::{State, StateError};

/// Everything a run on this machine needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct RunPlan {
    /// A regular file or a block device. A file that does not exist is laid out, as large as the
    /// workload's offset and size say.
    pub path: PathBuf,
    /// What each job does.
    pub workload: Workload,
    /// Jobs that run together.
    pub numjobs: u32,
    /// How they begin, share the target, and end.
    pub conduct: JobSchedule,
    /// Seed of everything random.
    pub seed: u64,
    /// How I/O is done; the best there is where absent.
    pub ioengine: Option<IoEngine>,
    /// Who looks for requests and completions, on a ring.
    pub polling: Polling,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// The file's contents may be destroyed, whoever wrote them.
    pub allow_overwrite: bool,
    /// Block devices that may be written, by the names the user repeated: exactly as in `path`.
    pub allow_destructive: Vec<PathBuf>,
    /// How often latency stamps are taken.
    pub stamp: Stamp,
    /// Label everything written, and keep account of it in this file.
    pub verify_state: Option<PathBuf>,
}

impl RunPlan {
    /// One job of `workload` past the page cache, which destroys nothing.
    pub fn new(path: PathBuf, workload: Workload) -> Self {
        Self {
            path,
            workload,
            numjobs: 1,
            conduct: JobSchedule::default(),
            seed: 1,
            ioengine: None,
            polling: Polling::default(),
            direct: true,
            allow_overwrite: false,
            allow_destructive: Vec::new(),
            stamp: Stamp::Io,
            verify_state: None,
        }
    }

    /// Where the region of the last job begins.
    fn last_offset(&self) -> u64 {
        let step = self.conduct.offset_increment.unwrap_or_default().get();
        let behind = step.saturating_mul(u64::from(self.numjobs.saturating_sub(1)));
        self.workload.offset.get().saturating_add(behind)
    }

    /// Bytes of memory that its requests' buffers take.
    pub fn buffers(&self) -> u64 {
        let workload = &self.workload;
        let sets = u64::from(workload.rw.reads()) + u64::from(workload.rw.sends());
        let one = Buffers::size(workload.pace.iodepth(), workload.blocks.largest(), sets);
        one.get().saturating_mul(u64::from(self.numjobs))
    }
}

/// What a run left.
#[derive(Debug)]
pub struct RunOutcome {
    /// One entry a job.
    pub jobs: Vec<Tally>,
    /// All jobs together.
    pub total: Tally,
    /// Why it ended; stopped, where any job was.
    pub end: End,
    /// What the figures are, and what casts doubt on them.
    pub marks: Vec<Mark>,
    /// How I/O was done.
    pub ioengine: IoEngine,
    /// Bytes that could be addressed.
    pub capacity: Bytes,
}

/// Why a run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The target cannot be measured so.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The way of doing I/O cannot be had.
    #[error(transparent)]
    IoEngine(#[from] IoEngineError),
    /// No account can be kept of what is written.
    #[error(transparent)]
    Verify(#[from] StateError),
    /// The workload does not fit the target, or the target broke.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No thread, or too many.
    #[error("`numjobs` is {numjobs}, which is not from 1 to {JOBS_MAX}")]
    Numjobs {
        /// What was asked for.
        numjobs: u64,
    },
    /// Jobs that would each end at a time of their own.
    #[error("`ss` looks for the steady state of one job, but `numjobs` is {numjobs}")]
    SteadyTogether {
        /// What was asked for.
        numjobs: u64,
    },
    /// The buffers alone would fill the memory.
    #[error(
        "buffers for this workload need {}, more than half of the {} of memory",
        .needed.about(), .memory.about()
    )]
    Memory {
        /// What they take.
        needed: Bytes,
        /// What there is.
        memory: Bytes,
    },
    /// A thread or a ring was refused, most often because a limit was met.
    #[error("cannot set up {what}")]
    Setup {
        /// What was refused.
        what: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl RunError {
    /// What to type next, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open(error) => error.hint(),
            Self::IoEngine(error) => Some(error.hint()),
            Self::Memory { .. } => Some("lower `--bs`, `--iodepth` or `--numjobs`".into()),
            Self::Setup { .. } => {
                Some("lower `--iodepth` or `--numjobs`, or use `--ioengine=psync`".into())
            }
            Self::SteadyTogether { .. } => Some("raise `iodepth` instead of `numjobs`".into()),
            Self::Load(LoadError::Workload(WorkloadError::RegionBeyondTarget { .. })) => {
                Some("lower `size`, or remove the file: it is then laid out at that size".into())
            }
            Self::Verify(StateError::Foreign { .. }) => {
                Some("name another file with `--verify-state`".into())
            }
            Self::Verify(_) | Self::Load(_) | Self::Numjobs { .. } => None,
        }
    }
}

impl From<JobError> for RunError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Load(error) => Self::Load(error),
            JobError::Target(error) => Self::Load(LoadError::Target(error)),
            JobError::Setup(ioengine, source) => Self::Setup { what: ioengine.to_string(), source },
            JobError::Thread(source) => {
                Self::Setup { what: "a thread for each job".into(), source }
            }
        }
    }
}

/// Makes a run: opens or lays out the target, starts the jobs, merges what they did.
///
/// # Errors
/// As [`RunError`]. Failed requests are no error: they are counted and marked.
pub fn run(
    plan: &RunPlan,
    census: &dyn Census,
    control: &Control<'_>,
) -> Result<RunOutcome, RunError> {
    let mut outcomes = run_together(std::slice::from_ref(plan), census, control)?;
    Ok(outcomes.pop().expect("one outcome a plan"))
}

/// Makes several runs at the same time, started together when all are ready: one outcome a plan.
///
/// The processor time of the process cannot be told apart by plan, so with several none has it.
///
/// # Errors
/// As [`RunError`]; of the first that has one.
pub fn run_together(
    plans: &[RunPlan],
    census: &dyn Census,
    control: &Control<'_>,
) -> Result<Vec<RunOutcome>, RunError> {
    let machine = census.machine();
    fits(plans, machine.memory)?;
    let mut ready = Vec::new();
    for plan in plans {
        ready.push(Ready::new(plan, census, control)?);
    }
    let groups: Vec<Jobs<'_>> = ready.iter().map(Ready::jobs).collect();
    let done = jobs::run(&groups, census, control)?;
    let cpu = (plans.len() == 1).then_some((done.cpu, done.waited));
    let moved = |device| -> u64 {
        let same = ready.iter().zip(&done.groups).filter(|(it, _)| it.opened.number() == device);
        same.flat_map(|(_, loaded)| loaded).map(|job| job.tally.bytes()).sum()
    };
    let around: Vec<Vec<Mark>> = ready
        .iter()
        .zip(&done.counters)
        .map(|(ready, counters)| ready.around(*counters, moved(ready.opened.number()), &machine))
        .collect();
    let outcomes = ready.iter().zip(done.groups).zip(around);
    Ok(outcomes
        .map(|((ready, loaded), around)| ready.outcome(loaded, cpu, around, machine.memory))
        .collect())
}

/// Refuses what [`run`] would refuse, one plan after the other: opens each target as the run would,
/// laying it out where it is missing, and lets go of it again. No state file is touched.
///
/// # Errors
/// As [`RunError`]; of the first that has one.
pub fn try_out(
    plans: &[RunPlan],
    census: &dyn Census,
    control: &Control<'_>,
) -> Result<(), RunError> {
    let memory = census.machine().memory;
    for plan in plans {
        fits(std::slice::from_ref(plan), memory)?;
        let plan = RunPlan { verify_state: None, ..plan.clone() };
        let ready = Ready::new(&plan, census, control)?;
        jobs::requests_fit(&ready.jobs())?;
    }
    Ok(())
}

/// A plan whose target is open.
struct Ready<'a> {
    plan: &'a RunPlan,
    ioengine: IoEngine,
    fallback: Option<Mark>,
    opened: Opened,
    state: Option<Arc<State>>,
}

impl<'a> Ready<'a> {
    fn new(
        plan: &'a RunPlan,
        census: &dyn Census,
        control: &Control<'_>,
    ) -> Result<Self, RunError> {
        let RunPlan { workload, seed, .. } = plan;
        let asked = (plan.ioengine, plan.polling);
        let probe = || ring::probe(plan.polling);
        let (ioengine, fallback) = ioengine::choose(asked, workload.pace, probe)?;
        let ask = Ask {
            path: &plan.path,
            workload,
            size: workload.size.map(|size| Bytes::new(plan.last_offset() + size.get())),
            direct: plan.direct,
            conduct: plan.conduct,
            polled: plan.polling.completions,
            allow_overwrite: plan.allow_overwrite,
            writers: if plan.verify_state.is_some() { Writers::One } else { Writers::Several },
            allow_destructive: &plan.allow_destructive,
            seed: *seed,
            census,
        };
        let opened = if ioengine == IoEngine::Null {
            let system = |source| RunError::Setup { what: ioengine.to_string(), source };
            open::nothing(ask.size).map_err(system)?
        } else {
            open::open(ask, control)?
        };
        let in_memory = opened.file_system.in_memory;
        let ioengine = if in_memory && plan.polling == Polling::default() {
            ioengine::in_memory(ioengine, plan.ioengine, workload.pace)
        } else {
            ioengine
        };
        let discards = workload.rw.trims() && opened.trim == Trim::Discard;
        let discards = discards && ioengine == IoEngine::IoUring;
        let (ioengine, fallback) = if discards && !ring_discards(&opened.file) {
            ioengine::without_discards(plan.ioengine, workload.pace)?
        } else {
            (ioengine, fallback)
        };
        let of = (workload, opened.capacity);
        let state = plan.verify_state.as_deref();
        let state = state.map(|path| State::create(path, &plan.path, of, (*seed, plan.numjobs)));
        let state = state.transpose()?.map(Arc::new);
        Ok(Self { plan, ioengine, fallback, opened, state })
    }

    fn jobs(&self) -> Jobs<'_> {
        let RunPlan { workload, numjobs, seed, stamp, polling, .. } = self.plan;
        Jobs {
            opened: &self.opened,
            ioengine: self.ioengine,
            workload,
            numjobs: *numjobs,
            conduct: self.plan.conduct,
            seed: *seed,
            stamp: *stamp,
            polling: *polling,
            state: self.state.as_ref(),
        }
    }

    /// What went on around the run, in which the runs on its device moved `ours` bytes.
    fn around(
        &self,
        counters: Option<(Counters, Counters)>,
        ours: u64,
        machine: &Machine,
    ) -> Vec<Mark> {
        let ours = Some(ours).filter(|_| self.plan.direct);
        let marks = counters.map(|(begin, end)| conditions::marks(begin, end, ours));
        let governor = machine.cpu_governor.as_deref().and_then(conditions::governed);
        marks.into_iter().flatten().chain(governor).collect()
    }

    fn outcome(
        &self,
        loaded: Vec<Loaded>,
        cpu: Option<(Span, Span)>,
        around: Vec<Mark>,
        memory: Bytes,
    ) -> RunOutcome {
        let RunPlan { workload, numjobs, .. } = self.plan;
        let stopped = loaded.iter().find(|job| job.end == End::Stopped);
        let end = stopped.or(loaded.first()).map_or(End::Stopped, |job| job.end);
        let mut jobs: Vec<Tally> = loaded.into_iter().map(|job| job.tally).collect();
        let mut total = Tally::default();
        for job in &jobs {
            total.merge(job);
        }
        total.cpu = cpu.map(|(used, _)| used);
        let waited = cpu.map_or(Span::ZERO, |(_, waited)| waited);
        if total.unanswered > 0 {
            // A file system that does not answer would not answer to closing the file either, and
            // nobody would ever see the figures: it stays open until the process ends.
            std::mem::forget(self.opened.file.clone());
        }
        if let [only] = &mut jobs[..] {
            only.cpu = total.cpu;
        }
        let facts = RunFacts { workload, numjobs: *numjobs, total: &total, waited, end };
        let opened = &self.opened;
        let target = TargetFacts {
            direct: self.plan.direct,
            file_system: opened.file_system,
            capacity: opened.capacity,
            memory,
            holes: opened.holes,
            laid_out: opened.laid_out,
            write_back: opened.disk.as_ref().is_some_and(|disk| disk.write_back),
            stand_in: opened.stand_in.as_deref(),
        };
        let marks = marks::of_run(facts, target).into_iter();
        let marks = marks.chain(self.fallback.clone()).chain(around).collect();
        let (ioengine, capacity) = (self.ioengine, opened.capacity);
        RunOutcome { jobs, total, end, marks, ioengine, capacity }
    }
}

/// Refuses more jobs than run together.
fn count_fits(numjobs: u64) -> Result<(), RunError> {
    if (1..=u64::from(JOBS_MAX)).contains(&numjobs) {
        Ok(())
    } else {
        Err(RunError::Numjobs { numjobs })
    }
}

/// Refuses what can be refused before anything is touched: too many jobs, or buffers that do not
/// fit the memory.
///
/// # Errors
/// As [`RunError`].
pub fn fits(plans: &[RunPlan], memory: Bytes) -> Result<(), RunError> {
    let numjobs = plans.iter().map(|plan| u64::from(plan.numjobs)).sum();
    let none = plans.iter().any(|plan| plan.numjobs == 0);
    count_fits(if none { 0 } else { numjobs })?;
    if numjobs > 1 && plans.iter().any(|plan| plan.workload.steady.is_some()) {
        return Err(RunError::SteadyTogether { numjobs });
    }
    let needed = plans.iter().map(RunPlan::buffers).fold(0, u64::saturating_add);
    let needed = Bytes::new(needed);
    if memory.get() > 0 && needed.get() > memory.get() / 2 {
        return Err(RunError::Memory { needed, memory });
    }
    Ok(())
}
