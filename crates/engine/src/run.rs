//! A run on this machine, from a path to figures.

use std::path::PathBuf;
use std::sync::Arc;

use drivelab_core::record::{Mark, Stamp, Tally};
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;

use crate::file::buffers::Buffers;
use crate::ioengine::{self, IoEngine, IoEngineError};
use crate::jobs::{self, JobError, Jobs};
use crate::load::{Control, End, LoadError};
use crate::marks::{self, Course, Place};
use crate::open::{self, Ask, OpenError};
use crate::verify::{State, StateError};
use crate::{host, uring};

/// More threads than any machine has processors to pin them to.
const NUMJOBS_MAX: u32 = 1024;

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
    /// Seed of everything random.
    pub seed: u64,
    /// How I/O is done; the best there is where absent.
    pub ioengine: Option<IoEngine>,
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
            seed: 1,
            ioengine: None,
            direct: true,
            allow_overwrite: false,
            allow_destructive: Vec::new(),
            stamp: Stamp::Io,
            verify_state: None,
        }
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
    #[error("`numjobs` is {numjobs}, which is not from 1 to {NUMJOBS_MAX}")]
    Numjobs {
        /// What was asked for.
        numjobs: u32,
    },
    /// The buffers alone would fill the memory.
    #[error(
        "buffers for this workload take {needed} bytes, more than half of the memory of \
        {memory} bytes"
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
            Self::Verify(StateError::Foreign { .. }) => {
                Some("give another place with `--verify-state`".into())
            }
            Self::Verify(_) | Self::Load(_) | Self::Numjobs { .. } => None,
        }
    }
}

impl From<JobError> for RunError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Load(error) => Self::Load(error),
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
pub fn run(plan: &RunPlan, control: &Control<'_>) -> Result<RunOutcome, RunError> {
    check(plan)?;
    let (ioengine, fallback) = ioengine::choose(plan.ioengine, plan.workload.pace, uring::probe)?;
    let ask = Ask {
        path: &plan.path,
        workload: &plan.workload,
        size: plan.workload.size.map(|size| Bytes::new(plan.workload.offset.get() + size.get())),
        direct: plan.direct,
        allow_overwrite: plan.allow_overwrite,
        allow_destructive: &plan.allow_destructive,
        seed: plan.seed,
    };
    let opened = open::open(ask, control)?;
    let RunPlan { workload, numjobs, seed, stamp, .. } = plan;
    let (numjobs, seed, stamp) = (*numjobs, *seed, *stamp);
    let state = plan.verify_state.as_deref().map(|path| {
        State::create(path, &plan.path, (workload, opened.capacity), (seed, numjobs)).map(Arc::new)
    });
    let state = state.transpose()?;
    let state = state.as_ref();
    let jobs = Jobs { opened: &opened, ioengine, workload, numjobs, seed, stamp, state };
    let done = jobs::run(jobs, control)?;
    let stopped = done.jobs.iter().find(|job| job.end == End::Stopped);
    let end = stopped.or(done.jobs.first()).map_or(End::Stopped, |job| job.end);
    let mut jobs: Vec<Tally> = done.jobs.into_iter().map(|job| job.tally).collect();
    let mut total = Tally::default();
    for job in &jobs {
        total.merge(job);
    }
    total.cpu = Some(done.cpu);
    if let [only] = &mut jobs[..] {
        only.cpu = total.cpu;
    }
    let course = Course { workload, numjobs, total: &total, end };
    let place = Place {
        direct: plan.direct,
        file_system: opened.file_system,
        capacity: opened.capacity,
        memory: host::memory(),
        holes: opened.holes,
        laid_out: opened.laid_out,
        stand_in: opened.stand_in.as_deref(),
    };
    let marks = marks::of_run(course, place).into_iter().chain(fallback).collect();
    Ok(RunOutcome { jobs, total, end, marks, ioengine, capacity: opened.capacity })
}

/// What can be refused before anything is touched.
fn check(plan: &RunPlan) -> Result<(), RunError> {
    let RunPlan { workload, numjobs, .. } = plan;
    if !(1..=NUMJOBS_MAX).contains(numjobs) {
        return Err(RunError::Numjobs { numjobs: *numjobs });
    }
    let sets = u64::from(workload.rw.reads()) + u64::from(workload.rw.writes());
    let one = Buffers::size(workload.pace.iodepth(), workload.blocks.largest(), sets);
    let needed = Bytes::new(one.get().saturating_mul(u64::from(*numjobs)));
    let memory = host::memory();
    if memory.get() > 0 && needed.get() > memory.get() / 2 {
        return Err(RunError::Memory { needed, memory });
    }
    Ok(())
}
