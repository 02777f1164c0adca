//! Studies: the file, the places where it can run, the folder that keeps it, and its analysis.

mod embedded;
mod experiment;
mod file;
pub(crate) mod grid;
mod hardware;
mod metrics;
mod out;
mod risk;
mod simulate;

use std::path::Path;

use drivelab_core::plan::{Plan, Step};
use drivelab_core::record::RunRecord;
use drivelab_core::rng::Rng;

pub(crate) use embedded::{STUDIES, text as embedded_text};
pub(crate) use experiment::experiment;
use file::Arm;
pub(crate) use file::{Stage, StudyFile};
pub(crate) use hardware::Hardware;
pub(crate) use out::{Header, Out, PLAN_SCHEMA, StoredRun, Task};
pub(crate) use simulate::Simulator;

use crate::failure::Failure;
use crate::interrupt;
use crate::ui::{Progress, Ui};

/// A place where the runs of a study can be made.
pub(crate) trait Bench {
    /// What is measured, in words that are equal exactly when the target is.
    fn target(&self) -> String;

    /// The boot this machine is in, where no two blocks may share one.
    fn boot(&self) -> Option<String> {
        None
    }

    /// Puts the arm in place anew, whatever was in place before.
    fn enter(&mut self, arm: usize) -> Result<Entered, Failure>;

    /// Undoes what [`Bench::enter`] did.
    fn leave(&mut self, arm: usize) -> Result<(), Failure>;

    /// Makes one run of the arm in place.
    fn run(&mut self, arm: usize, task: Task, seed: u64) -> Result<RunRecord, Failure>;

    /// The settings in force in each arm, for the report.
    fn settings(&self) -> Vec<Vec<(String, String)>>;

    /// What the settings risk when power fails, by what is known here and what `runs` saw.
    fn risks(&self, runs: &[StoredRun]) -> Vec<String>;

    /// What the reader must know about this place.
    fn notes(&self) -> Vec<String>;
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

/// Makes every run of `plan` that `out` does not hold yet, and keeps each as it finishes.
pub(crate) fn carry_out(
    study: &StudyFile,
    plan: &Plan,
    bench: &mut dyn Bench,
    out: &mut Out,
    ui: Ui,
) -> Result<Progressed, Failure> {
    let tasks = tasks(study);
    let total = plan.steps.len() * tasks.len();
    let progress = Progress::steps(total as u64, &study.title);
    // The step whose stay this is.
    let mut place: Option<Step> = None;
    let boot = bench.boot();
    for step in &plan.steps {
        let missing = missing(step, &tasks, &out.done, study.seed);
        if missing.is_empty() {
            continue;
        }
        if !place.is_some_and(|place| place.shares_stay_with(step)) {
            leave(bench, place.take())?;
            let arm = &study.arms[step.arm];
            let shares = |run: &StoredRun| shares_boot(run, step, arm, boot.as_deref());
            if boot.is_some() && out.done.iter().any(shares) {
                return Ok(Progressed::Waiting(reboot_first(study, step)));
            }
            match bench.enter(step.arm)? {
                Entered::Ready => place = Some(*step),
                Entered::Waiting(what) => return Ok(Progressed::Waiting(what)),
            }
        }
        for task in missing {
            progress.at(out.done.len() as u64, &describe(study, step, task));
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
            let run = StoredRun { step: *step, task, boot: boot.clone(), record };
            out.keep(&run)?;
            out.done.push(run);
        }
    }
    leave(bench, place)?;
    Ok(Progressed::Done)
}

fn leave(bench: &mut dyn Bench, place: Option<Step>) -> Result<(), Failure> {
    place.map_or(Ok(()), |step| bench.leave(step.arm))
}

/// Whether a finished run keeps `step` from being made in this boot.
///
/// Boots differ: blocks that share one are not independent. An arm that takes a reboot cannot have
/// come without one.
fn shares_boot(run: &StoredRun, step: &Step, arm: &Arm, boot: Option<&str>) -> bool {
    let other_block = run.step.block != step.block;
    let other_stay = !run.step.shares_stay_with(step);
    run.boot.as_deref() == boot && (other_block || (other_stay && arm.takes_reboot()))
}

/// What the user must do where this boot served another block.
fn reboot_first(study: &StudyFile, step: &Step) -> String {
    let arm = &study.arms[step.arm];
    let what = arm.manual.as_deref().unwrap_or("nothing else, the study puts it in place");
    format!(
        "Next is block {} of arm `{}`, which needs a boot of its own, because boots differ.\nReboot \
         (for this arm: {what}).\nThe runs so far are kept. When it is done, type the same command \
         with: --resume --in-place {}",
        step.block + 1,
        arm.name,
        arm.name
    )
}

/// Everything that one stay of an arm does.
fn tasks(study: &StudyFile) -> Vec<Task> {
    let workloads = (0..study.workloads.len()).map(Task::Workload);
    let points = study.curve.as_ref().map_or(0, |curve| curve.depths.len());
    workloads.chain((0..points).map(Task::Curve)).collect()
}

/// The tasks of `step` that are not done, in the order of its block.
///
/// Every arm of a block does its tasks in the same order, so that what one task leaves behind meets
/// every arm alike.
fn missing(step: &Step, tasks: &[Task], done: &[StoredRun], seed: u64) -> Vec<Task> {
    let mut order = tasks.to_vec();
    Rng::for_part(seed, u64::from(step.block) << 32).shuffle(&mut order);
    let is_done = |task: &Task| done.iter().any(|run| run.step == *step && run.task == *task);
    order.retain(|task| !is_done(task));
    order
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
