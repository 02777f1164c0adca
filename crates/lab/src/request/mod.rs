//! A run that is asked for, and how it is performed: any work, on any target, here or in a guest.

mod answer;
mod check;
mod filled;
pub mod jobs;
mod run;
pub mod verification;
mod written;

pub use answer::{Answer, answer};
pub use run::run;

use std::path::PathBuf;

use drivelab_core::record::Stamp;
use drivelab_core::units::Span;
use drivelab_core::workload::Workload;
use drivelab_core::{IoEngine, JobSchedule, Polling, Refusal};
use drivelab_engine::RunPlan;
use drivelab_guest::kernel::Kernel;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_study::file::Suite;
use serde::{Deserialize, Serialize};

use crate::stage::kernel::Has;
use crate::stage::program::Step;
use crate::target::{self, Target};

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
    /// Nothing is written, neither by requests nor by the layout of a missing file.
    #[serde(default)]
    pub readonly: bool,
}

impl Permissions {
    /// The permissions of a study, which writes to no block device.
    pub const fn of_study(overwrite: bool) -> Self {
        Self { overwrite, allow_destructive: Vec::new(), readonly: false }
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
