//! The stage on which the runs of a study are made.

use std::fmt::Display;

use drivelab_core::Refusal;
use drivelab_core::outline::Risk;
use drivelab_core::plan::Step;
use drivelab_core::record::RunRecord;
use drivelab_core::units::Bytes;
use serde::{Deserialize, Serialize};

/// Makes the runs of a study.
pub trait Stage {
    /// The reason why a run could not be made.
    type Error: From<Refusal> + Display;

    /// The measured target, in words that are equal exactly when the target is.
    fn target(&self) -> String;

    /// The boot this machine is in, where no two blocks may share one.
    fn boot(&self) -> Option<String> {
        None
    }

    /// Activates the arm from any state; where that fails nothing of it remains.
    fn enter(&mut self, _arm: usize) -> Result<Entered, Self::Error> {
        Ok(Entered::Ready)
    }

    /// Undoes [`Stage::enter`].
    fn leave(&mut self, _arm: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Undoes an arm that an earlier session entered and did not leave.
    fn undo(&mut self, arm: usize) -> Result<(), Self::Error> {
        self.leave(arm)
    }

    /// Makes the `reset` of a run that an earlier session did not end.
    fn undo_run(&mut self, _request: PlannedRun) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Returns true if the last run is undone: its `reset`, if its workload has one, succeeded.
    fn is_run_undone(&self) -> bool {
        true
    }

    /// True if nothing of an arm is in force, as far as is known: a failed undo counts as in force.
    fn is_reverted(&self) -> bool {
        true
    }

    /// Makes one run of the active arm.
    fn run(&mut self, request: PlannedRun) -> Result<RunRecord, Self::Error>;

    /// Makes several, whose records come in the order of `requests` and are the same as each alone.
    fn run_all(&mut self, requests: &[PlannedRun]) -> Result<Vec<RunRecord>, Self::Error> {
        requests.iter().map(|request| self.run(*request)).collect()
    }

    /// The output of the last run's command, where one ran; whether or not that succeeded.
    fn printed(&mut self) -> Option<String> {
        None
    }

    /// The evidence of the last run in addition to its record, for a check that the same run made
    /// twice is the same.
    fn evidence(&mut self) -> Vec<Evidence> {
        Vec::new()
    }

    /// The reason why no further run can be made here, although those that were made stand: a host
    /// of many no longer answers.
    fn lost(&self) -> Option<String> {
        None
    }

    /// The number of runs it is given at a time. All of them are made again where one is cut short.
    fn at_once(&self) -> usize {
        1
    }

    /// The settings in force in each arm, for the report.
    fn settings(&self) -> Vec<Vec<(String, String)>>;

    /// The risks of the settings in a power failure, by facts known here and those that `runs` saw.
    fn risks(&self, runs: &[StoredRun]) -> Vec<Risk>;

    /// Remarks for the reader on this stage and on the conditions of `runs`.
    fn notes(&self, runs: &[StoredRun]) -> Vec<String>;

    /// The size of the target that is used, where the workloads do not state it.
    fn size(&self) -> Option<Bytes> {
        None
    }
}

/// The result of activating an arm.
#[derive(Debug)]
pub enum Entered {
    /// It is active.
    Ready,
    /// The user must do something first, often reboot; runs so far are kept.
    Waiting(String),
}

/// A text that a run left in addition to its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Its kind: `trace`.
    pub name: &'static str,
    /// Its lines.
    pub text: String,
}

/// A run of the plan: one task of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// The active arm.
    pub arm: usize,
    /// The task.
    pub task: Task,
    /// Seed of everything random in it.
    pub seed: u64,
    /// Index of the study's specimen, the same for all arms of a block; `None` for the median
    /// drive.
    pub specimen: Option<u32>,
}

/// The task of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// The workload at this index.
    Workload(usize),
    /// The point of the depth curve at this index.
    Curve(usize),
    /// The cell of the matrix at this index, whose record has a job for each of its targets.
    Cell(usize),
}

/// One finished run and its step in the experiment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredRun {
    /// The arm and block it belongs to.
    pub step: Step,
    /// The task.
    pub task: Task,
    /// The boot it was made in, where that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Its record.
    pub record: RunRecord,
}

/// The stage's account of a study, in addition to its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The settings in force in each arm.
    pub settings: Vec<Vec<(String, String)>>,
    /// Their risks in a power failure.
    pub risks: Vec<Risk>,
    /// Remarks on the stage for the reader.
    pub notes: Vec<String>,
    /// The command that gives the result again.
    pub reproduce: String,
}
