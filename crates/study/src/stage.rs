//! A place where the runs of a study are made.

use std::fmt::Display;

use drivelab_core::config::Choice;
use drivelab_core::outline::Risk;
use drivelab_core::plan::Step;
use drivelab_core::record::RunRecord;
use drivelab_core::units::Bytes;
use drivelab_core::{Refusal, choice_as_text};
use serde::{Deserialize, Serialize};

/// Where a study runs, as files and commands spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StageName {
    /// Virtual time over a modelled drive.
    #[default]
    Simulate,
    /// Virtual time over a modelled drive under a real Linux kernel.
    Kernel,
    /// A modelled drive served in real time to this kernel.
    Emulate,
    /// A real file or device.
    Hardware,
}

impl Choice for StageName {
    const WHAT: &'static str = "stage";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("simulate", Self::Simulate),
        ("kernel", Self::Kernel),
        ("emulate", Self::Emulate),
        ("hardware", Self::Hardware),
    ];
}
choice_as_text!(StageName);

impl StageName {
    /// Whether time there is virtual: each block is then another specimen of its drive, and the
    /// same run made twice is the same.
    pub fn is_virtual(self) -> bool {
        matches!(self, Self::Simulate | Self::Kernel)
    }
}

/// Makes the runs of a study.
pub trait Stage {
    /// Why a run could not be made.
    type Error: From<Refusal> + Display;

    /// What is measured, in words that are equal exactly when the target is.
    fn target(&self) -> String;

    /// The boot this machine is in, where no two blocks may share one.
    fn boot(&self) -> Option<String> {
        None
    }

    /// Puts the arm in place anew, whatever was in place before; where that fails nothing of it
    /// stays.
    fn enter(&mut self, _arm: usize) -> Result<Entered, Self::Error> {
        Ok(Entered::Ready)
    }

    /// Undoes what [`Stage::enter`] did.
    fn leave(&mut self, _arm: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Undoes an arm that an earlier session entered and did not leave.
    fn undo(&mut self, arm: usize) -> Result<(), Self::Error> {
        self.leave(arm)
    }

    /// Whether nothing of an arm is in force, by all that is known: what could not be undone is.
    fn is_reverted(&self) -> bool {
        true
    }

    /// Makes one run of the arm in place.
    fn run(&mut self, request: Request) -> Result<RunRecord, Self::Error>;

    /// Makes several, whose records come in the order of `requests` and are what each would be
    /// alone.
    fn run_all(&mut self, requests: &[Request]) -> Result<Vec<RunRecord>, Self::Error> {
        requests.iter().map(|request| self.run(*request)).collect()
    }

    /// What the command of the last run printed, where one ran; whether or not that succeeded.
    fn printed(&mut self) -> Option<String> {
        None
    }

    /// What the last run left beside its record, for a check that the same run made twice is the
    /// same.
    fn evidence(&mut self) -> Vec<Evidence> {
        Vec::new()
    }

    /// Why no further run can be made here, although those that were made stand: a host of many no
    /// longer answers.
    fn lost(&self) -> Option<String> {
        None
    }

    /// How many runs it is given at a time. All of them are made again where one is cut short.
    fn at_once(&self) -> usize {
        1
    }

    /// The settings in force in each arm, for the report.
    fn settings(&self) -> Vec<Vec<(String, String)>>;

    /// What the settings risk when power fails, by what is known here and what `runs` saw.
    fn risks(&self, runs: &[StoredRun]) -> Vec<Risk>;

    /// What the reader must know about this place and where `runs` were made.
    fn notes(&self, runs: &[StoredRun]) -> Vec<String>;

    /// How much of the target is used, where the workloads do not say it.
    fn size(&self) -> Option<Bytes> {
        None
    }
}

/// Whether an arm could be put in place.
#[derive(Debug)]
pub enum Entered {
    /// It is in place.
    Ready,
    /// The user must do something first, often reboot; runs so far are kept.
    Waiting(String),
}

/// A text that a run left beside its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// What it is: `trace`.
    pub name: &'static str,
    /// Its lines.
    pub text: String,
}

/// A run that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The arm in place.
    pub arm: usize,
    /// What is run.
    pub task: Task,
    /// Seed of everything random in it.
    pub seed: u64,
    /// Which of the study's specimens, the same for all arms of a block; `None` for the median
    /// drive.
    pub specimen: Option<u32>,
}

/// What one run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// The workload at this place.
    Workload(usize),
    /// The point of the depth curve at this place.
    Curve(usize),
    /// The cell of the matrix at this place, whose record has a job for each of its targets.
    Cell(usize),
}

/// One finished run and its place in the experiment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredRun {
    /// The arm and block it belongs to.
    pub step: Step,
    /// What was run.
    pub task: Task,
    /// The boot it was made in, where that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// What it measured.
    pub record: RunRecord,
}
