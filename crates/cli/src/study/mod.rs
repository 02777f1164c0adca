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
use file::Arm;
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

    /// The boot this machine is in, where no two blocks may share one.
    fn boot(&self) -> Option<String> {
        None
    }

    /// Puts the arm in place anew, whatever was in place before; where that fails nothing of it
    /// stays.
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
    // The step whose stay this is.
    let mut place: Option<Step> = None;
    let boot = bench.boot();
    for (step, runs) in agenda.stays() {
        let mut missing = runs;
        missing.retain(|(place, _)| !out.done.contains_key(place));
        if missing.is_empty() {
            continue;
        }
        if !place.is_some_and(|place| place.shares_stay_with(step)) {
            leave(bench, place.take())?;
            let arm = &study.arms[step.arm];
            let shares = |run: &StoredRun| shares_boot(run, step, arm, boot.as_deref());
            if boot.is_some() && out.done.values().any(shares) {
                return Ok(Progressed::Waiting(reboot_first(study, step)));
            }
            let entered = bench.enter(step.arm);
            if interrupt::requested() {
                let is_ready = matches!(entered, Ok(Entered::Ready));
                leave(bench, is_ready.then_some(*step))?;
                return Ok(Progressed::Interrupted);
            }
            match entered? {
                Entered::Ready => place = Some(*step),
                Entered::Waiting(what) => return Ok(Progressed::Waiting(what)),
            }
        }
        for (number, task) in missing {
            let what = describe(study, step, task);
            progress.at(out.done.len() as u64, &what);
            let made = bench.run(step.arm, task, seed(study.seed, step, task));
            // A run that was cut short is no run: it is made again at the next --resume.
            if interrupt::requested() {
                leave(bench, place)?;
                return Ok(Progressed::Interrupted);
            }
            let run = |record| StoredRun { step: *step, task, boot: boot.clone(), record };
            let kept = made.and_then(|record| out.keep(number, run(record)));
            if let Err(failure) = kept {
                if let Err(second) = leave(bench, place) {
                    ui.warn(&format!("and the arm could not be undone: {}", second.error));
                }
                return Err(failure);
            }
            progress.done(out.done.len(), agenda.len(), &what);
        }
    }
    leave(bench, place)?;
    Ok(Progressed::Done)
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

fn leave(bench: &mut dyn Bench, place: Option<Step>) -> Result<(), Failure> {
    place.map_or(Ok(()), |step| bench.leave(step.arm))
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

#[cfg(test)]
mod tests {
    use drivelab_core::plan::{Design, Plan};

    use super::*;

    const STUDY: &str = r#"
        title = "Is it worth a reboot?"
        primary = "read.iops"
        blocks = 6
        stage = "simulate"
        [base]
        drive = "fixed"
        [[arm]]
        name = "one"
        [[arm]]
        name = "two"
        manual = "set it in the BIOS"
        [[workload]]
        name = "read"
        rw = "randread"
        number_ios = 10
    "#;

    /// A machine in one boot, in which the user puts every arm in place that is asked for.
    struct Machine {
        drive: Simulator,
        boot: String,
    }

    impl Bench for Machine {
        fn boot(&self) -> Option<String> {
            Some(self.boot.clone())
        }

        fn target(&self) -> String {
            self.drive.target()
        }

        fn enter(&mut self, arm: usize) -> Result<Entered, Failure> {
            self.drive.enter(arm)
        }

        fn leave(&mut self, arm: usize) -> Result<(), Failure> {
            self.drive.leave(arm)
        }

        fn run(&mut self, arm: usize, task: Task, seed: u64) -> Result<RunRecord, Failure> {
            self.drive.run(arm, task, seed)
        }

        fn settings(&self) -> Vec<Vec<(String, String)>> {
            self.drive.settings()
        }

        fn risks(&self, runs: &[StoredRun]) -> Vec<String> {
            self.drive.risks(runs)
        }

        fn notes(&self, runs: &[StoredRun]) -> Vec<String> {
            self.drive.notes(runs)
        }
    }

    #[test]
    fn a_boot_serves_one_block_and_one_stay_of_an_arm_that_takes_a_reboot() {
        let study = StudyFile::parse("boots.toml", STUDY).unwrap();
        let plan = Plan::new(Design::Grouped, study.arms.len(), study.blocks, study.seed);
        let agenda = Agenda::new(&study, &plan);
        let header = Header {
            schema: PLAN_SCHEMA.into(),
            target: "machine".into(),
            stage: "hardware".into(),
            seed: study.seed,
            plan,
            asked: None,
        };
        let folder = tempfile::tempdir().unwrap();
        let mut out = Out::create(folder.path(), STUDY, &header).unwrap();
        let mut boots = 0;
        loop {
            boots += 1;
            assert!(boots < 20, "the study never ends");
            let drive = Simulator::new(&study).unwrap();
            let mut machine = Machine { drive, boot: boots.to_string() };
            let talk = (Show::None, Ui::new(false));
            let mut go_on = || carry_out(&study, &agenda, &mut machine, &mut out, talk).unwrap();
            if let Progressed::Done = go_on() {
                break;
            }
            // Whatever this boot may serve is done: to ask again brings no more.
            let Progressed::Waiting(what) = go_on() else { panic!("boot {boots} served more") };
            assert!(what.contains("Reboot") && what.contains("a boot of its own"), "{what}");
        }
        let runs: Vec<StoredRun> = out.done.values().cloned().collect();
        assert_eq!(runs.len(), 12);
        for (one, other) in runs.iter().flat_map(|one| runs.iter().map(move |other| (one, other))) {
            assert!(one.step.block == other.step.block || one.boot != other.boot, "{one:?}");
        }
    }
}
