//! A run that is asked for, and how it is performed: any work, on any target, here or in a guest.

use std::path::{Path, PathBuf};

use drivelab_core::record::{RunRecord, Stamp};
use drivelab_core::units::Span;
use drivelab_core::workload::Workload;
use drivelab_core::{Control, IoEngine, JobSchedule, Polling, Refusal};
use drivelab_engine::RunPlan;
use drivelab_engine::verify::Promise;
use drivelab_guest::kernel::Kernel;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_study::file::{Needs, Suite};
use serde::{Deserialize, Serialize};

use crate::stage::cells;
use crate::stage::kernel::{Has, Inside};
use crate::stage::program::Step;
use crate::stage::suite;
use crate::target::{self, Target};
use crate::{measure, verification};

/// A run that is asked for.
///
/// The program inside a guest gets one as JSON; its target is a path there, and its environment the
/// guest itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// The target.
    pub target: Target,
    /// The modelled drive, if it is not the one that the options of the target name.
    #[serde(skip)]
    pub specimen: Option<Box<Profile>>,
    /// The work.
    pub work: Work,
    /// The environment in which it is done.
    #[serde(skip)]
    pub environment: Environment,
    /// Seed of all random choices.
    pub seed: u64,
    /// Permissions to destroy contents.
    pub permissions: Permissions,
}

/// The work of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Work {
    /// Requests of the load loop.
    Load(Box<Load>),
    /// The tests of a suite: a recipe, a benchmark of files or a shape.
    Suite(Box<Suite>),
    /// A cell of a matrix: loads on one or several targets, started together.
    Cell(Vec<CellLoad>),
    /// The commands of a study, with the programs of this machine that they call.
    Commands {
        /// The commands, in their order.
        steps: Vec<Step>,
        /// The programs.
        programs: Vec<String>,
    },
}

/// A load and how it is applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The workload of each job.
    pub workload: Workload,
    /// Jobs that run together.
    pub numjobs: u32,
    /// The way in which they begin, share the target, and end.
    pub schedule: JobSchedule,
    /// The way in which I/O is done; default: the best available one.
    pub ioengine: Option<IoEngine>,
    /// Polling for requests and completions, on a ring.
    pub polling: Polling,
    /// The rate of time stamps.
    pub stamp: Stamp,
    /// Bypasses the page cache (`O_DIRECT`).
    pub direct: bool,
    /// The state file by which everything written is verified afterwards.
    pub verify: Option<PathBuf>,
}

impl Load {
    /// One job of `workload` without the page cache.
    pub fn new(workload: Workload) -> Self {
        Self {
            workload,
            numjobs: 1,
            schedule: JobSchedule::default(),
            ioengine: None,
            polling: Polling::default(),
            stamp: Stamp::Io,
            direct: true,
            verify: None,
        }
    }

    /// The load on a file or a device.
    pub fn plan(&self, path: PathBuf, seed: u64, permissions: &Permissions) -> RunPlan {
        RunPlan {
            numjobs: self.numjobs,
            conduct: self.schedule,
            seed,
            ioengine: self.ioengine,
            polling: self.polling,
            stamp: self.stamp,
            direct: self.direct,
            allow_overwrite: permissions.overwrite,
            allow_destructive: permissions.allow_destructive.clone(),
            verify_state: self.verify.clone(),
            ..RunPlan::new(path, self.workload.clone())
        }
    }
}

/// The load of a cell on one of its targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellLoad {
    /// The target.
    pub path: PathBuf,
    /// The load.
    pub load: Load,
    /// Its seed.
    pub seed: u64,
}

/// The environment in which a run is made.
#[derive(Debug, Clone, Default)]
pub enum Environment {
    /// This process.
    #[default]
    Here,
    /// A real Linux kernel in virtual time.
    Guest(Box<GuestOptions>),
}

/// A guest, and what is kept of it.
#[derive(Debug, Clone)]
pub struct GuestOptions {
    /// The kernel; the one in the user's cache if absent.
    pub kernel: Option<Kernel>,
    /// Its equipment.
    pub has: Has,
    /// Real time after which it is ended.
    pub limit: Span,
    /// The file that takes the trace of its requests.
    pub trace: Option<PathBuf>,
    /// The file that takes what it prints.
    pub console: Option<PathBuf>,
}

/// The permissions of a run on its target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// A file's contents may be destroyed, no matter who wrote them.
    pub overwrite: bool,
    /// Block devices whose contents may be destroyed.
    pub allow_destructive: Vec<PathBuf>,
}

impl Permissions {
    /// The permissions of a study, which writes to no block device.
    pub const fn of_study(overwrite: bool) -> Self {
        Self { overwrite, allow_destructive: Vec::new() }
    }
}

impl Request {
    /// A run on a file, a device or a folder of this machine, which destroys nothing.
    pub fn on_path(path: PathBuf, work: Work, seed: u64) -> Self {
        Self {
            target: Target::Path(path),
            specimen: None,
            work,
            environment: Environment::Here,
            seed,
            permissions: Permissions::default(),
        }
    }

    /// A run on a modelled drive, in virtual time.
    pub fn on_drive(spec: DriveSpec, work: Work, seed: u64) -> Self {
        Self { target: Target::Drive(Box::new(spec)), ..Self::on_path(PathBuf::new(), work, seed) }
    }

    /// The same on a drive of this profile.
    #[must_use]
    pub fn with_profile(self, profile: Profile) -> Self {
        Self { specimen: Some(Box::new(profile)), ..self }
    }

    /// The same with these permissions.
    #[must_use]
    pub fn permitting(self, permissions: Permissions) -> Self {
        Self { permissions, ..self }
    }

    /// The same in a guest.
    #[must_use]
    pub fn in_guest(self, guest: GuestOptions) -> Self {
        Self { environment: Environment::Guest(Box::new(guest)), ..self }
    }

    /// The load, if it is one.
    pub fn load(&self) -> Option<&Load> {
        match &self.work {
            Work::Load(load) => Some(load),
            _ => None,
        }
    }

    pub(crate) fn profile(&self, spec: &DriveSpec) -> Result<Profile, Refusal> {
        self.specimen.as_deref().map_or_else(|| target::profile(spec), |it| Ok(it.clone()))
    }
}

/// Performs a run.
///
/// # Errors
/// It cannot be made on this target or this machine; a run whose requests fail is a record.
pub fn run(request: &Request, control: &Control<'_>) -> Result<RunRecord, Refusal> {
    match (&request.environment, &request.target) {
        (Environment::Guest(_), _) => Inside::new(request)?.run(),
        (Environment::Here, Target::Drive(spec)) => on_model(request, spec, control),
        (Environment::Here, Target::Path(path)) => on_path(request, path, control),
    }
}

/// Performs a run on a modelled drive that nothing was asked of before.
fn on_model(
    request: &Request,
    spec: &DriveSpec,
    control: &Control<'_>,
) -> Result<RunRecord, Refusal> {
    match &request.work {
        Work::Load(load) => {
            let (numjobs, seed) = (load.numjobs, request.seed);
            let plan = RunPlan::new(PathBuf::new(), load.workload.clone());
            let plan = RunPlan { numjobs, seed, ..plan };
            target::simulate(spec, &request.profile(spec)?, &plan, control)
        }
        Work::Suite(suite) if suite.needs == Needs::Tree => {
            let message = format!("`{spec}` is a modelled drive, and `{}` needs files", suite.name);
            Err(Refusal::request(message)
                .hint("name a folder")
                .hint("on a file system of a guest: --in kernel --filesystem ext4"))
        }
        Work::Suite(suite) => suite::on_model(suite, spec, &request.profile(spec)?, request.seed),
        Work::Cell(_) | Work::Commands { .. } => Err(Refusal::bug(
            "cells and commands on a bare model are made by the stage of their study",
        )),
    }
}

/// Performs a run on a file, a device or a folder of this machine.
fn on_path(request: &Request, path: &Path, control: &Control<'_>) -> Result<RunRecord, Refusal> {
    let Request { seed, permissions, .. } = request;
    match &request.work {
        Work::Load(load) => {
            let mut record = measure::file(&load.plan(path.into(), *seed, permissions), control)?;
            // After an interruption there is no time to read everything back: the state is kept.
            if let Some(state) = load.verify.as_ref().filter(|_| !control.stopped()) {
                let verified = verification::check(path, state, Promise::Acknowledged)?;
                record.verification = Some(verified);
            }
            Ok(record)
        }
        Work::Suite(suite) => suite::on_path(suite, path, *seed, permissions, control),
        Work::Cell(loads) => {
            Ok(cells::record(measure::together(&cells::plans(loads, permissions), control)?))
        }
        Work::Commands { .. } => {
            Err(Refusal::bug("commands are judged by the stage of their study"))
        }
    }
}
