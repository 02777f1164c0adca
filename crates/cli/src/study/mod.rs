//! Studies: the file, the places where it can run, the folder that keeps it, and its analysis.

mod agenda;
mod embedded;
mod experiment;
mod file;
pub(crate) mod grid;
mod hardware;
mod metrics;
mod out;
mod repeat;
mod risk;
mod shell;
mod simulate;

use std::path::Path;

use drivelab_core::plan::Step;
use drivelab_core::record::RunRecord;
use drivelab_core::rng::Rng;
use drivelab_core::units::Bytes;

pub(crate) use agenda::Agenda;
pub(crate) use embedded::{STUDIES, text as embedded_text};
pub(crate) use experiment::experiment;
pub(crate) use file::{Stage, StudyFile};
pub(crate) use hardware::Hardware;
pub(crate) use out::{
    Asked, Begun, Folder, Header, Out, PLAN_SCHEMA, StoredRun, Task, fresh, last, unused,
};
pub(crate) use repeat::{command, words};
pub(crate) use simulate::Simulator;

use crate::failure::Failure;
use crate::interrupt;
use crate::ui::{Progress, Show, Ui};

/// A place where the runs of a study can be made.
pub(crate) trait Bench {
    /// What is measured, in words that are equal exactly when the target is.
    fn target(&self) -> String;

    /// Puts the arm in place, if it is not already.
    fn enter(&mut self, arm: usize) -> Result<Entered, Failure>;

    /// Undoes what [`Bench::enter`] did.
    fn leave(&mut self, arm: usize) -> Result<(), Failure>;

    /// Makes one run of the arm in place.
    fn run(&mut self, arm: usize, task: Task, seed: u64) -> Result<RunRecord, Failure>;

    /// The settings in force in each arm, for the report.
    fn settings(&self) -> Vec<Vec<(String, String)>>;

    /// What the settings risk when power fails, by what is known here and what `runs` saw.
    fn risks(&self, runs: &[StoredRun]) -> Vec<String>;

    /// What the reader must know about this place and where `runs` were made.
    fn notes(&self, runs: &[StoredRun]) -> Vec<String>;

    /// How much of the target is used, where the workloads do not say it.
    fn size(&self) -> Option<Bytes> {
        None
    }
}

/// Whether an arm could be put in place.
#[derive(Debug)]
pub(crate) enum Entered {
    /// It is in place.
    Ready,
    /// The user must do something first, often reboot; runs so far are kept.
    Waiting(String),
}

/// How far the runs of a study came.
#[derive(Debug)]
pub(crate) enum Progressed {
    /// All are done.
    Done,
    /// The user must act before the next arm.
    Waiting(String),
    /// The user asked to stop.
    Interrupted,
}

/// Makes every run of the agenda that `out` does not hold yet, and keeps each as it finishes.
pub(crate) fn carry_out(
    study: &StudyFile,
    agenda: &Agenda,
    bench: &mut dyn Bench,
    out: &mut Out,
    (show, ui): (Show, Ui),
) -> Result<Progressed, Failure> {
    let progress = Progress::steps(agenda.len() as u64, &study.title).shown(show);
    let mut place: Option<usize> = None;
    for (step, runs) in agenda.stays() {
        let mut missing = runs;
        missing.retain(|(place, _)| !out.done.contains_key(place));
        if missing.is_empty() {
            continue;
        }
        if place != Some(step.arm) {
            leave(bench, place.take())?;
            let entered = bench.enter(step.arm);
            if interrupt::requested() {
                let is_entered = !matches!(entered, Ok(Entered::Waiting(_)));
                leave(bench, is_entered.then_some(step.arm))?;
                return Ok(Progressed::Interrupted);
            }
            match entered? {
                Entered::Ready => place = Some(step.arm),
                Entered::Waiting(what) => return Ok(Progressed::Waiting(what)),
            }
        }
        for (number, task) in missing {
            let what = describe(study, step, task);
            progress.at(out.done.len() as u64, &what);
            let made = bench.run(step.arm, task, seed(study.seed, step, task));
            let record = match made {
                // A run that was cut short is no run: it is made again at the next --resume.
                Ok(_) | Err(_) if interrupt::requested() => {
                    leave(bench, place)?;
                    return Ok(Progressed::Interrupted);
                }
                Ok(record) => record,
                Err(failure) => {
                    if let Err(second) = leave(bench, place) {
                        ui.warn(&format!("and the arm could not be undone: {}", second.error));
                    }
                    return Err(failure);
                }
            };
            out.keep(number, StoredRun { step: *step, task, record })?;
            progress.done(out.done.len(), agenda.len(), &what);
        }
    }
    leave(bench, place)?;
    Ok(Progressed::Done)
}

fn leave(bench: &mut dyn Bench, place: Option<usize>) -> Result<(), Failure> {
    let Some(arm) = place else { return Ok(()) };
    match bench.leave(arm) {
        // Ctrl-C at a terminal ends the command that undoes the arm, too.
        Err(_) if interrupt::requested() => bench.leave(arm),
        left => left,
    }
}

/// The seed of a run: the same for every arm of a block, so that all see the same addresses.
fn seed(study: u64, step: &Step, task: Task) -> u64 {
    let task = match task {
        Task::Workload(place) => place as u64,
        // A curve is one experiment over depth: every depth sees the same addresses.
        Task::Curve(_) => u64::from(u16::MAX),
    };
    let place = (u64::from(step.block) << 32) | (u64::from(step.repeat) << 16) | task;
    Rng::for_part(study, place).bits()
}

fn describe(study: &StudyFile, step: &Step, task: Task) -> String {
    let arm = &study.arms[step.arm].name;
    let what = match task {
        Task::Workload(place) => study.workloads[place].name.clone(),
        Task::Curve(place) => {
            let depth = study.curve.as_ref().map_or(0, |curve| curve.depths[place].0);
            format!("depth {depth}")
        }
    };
    format!("block {}: {arm}, {what}", step.block + 1)
}

/// The name that a study's results go under.
pub(crate) fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| "study".into())
}
