//! Carrying a study out: every run that is missing, over any stage.

mod twice;

use drivelab_core::Refusal;
use drivelab_core::plan::Step;

use crate::agenda::{Agenda, describe, planned};
use crate::file::{Arm, StudyFile};
use crate::folder::{InForce, Out};
use crate::stage::{Entered, PlannedRun, Stage, StoredRun, Task};
use drivelab_core::StageName;
use drivelab_core::control::{Control, Event};
use twice::make_twice;

/// The end of a session of a study.
#[derive(Debug)]
pub enum Progressed {
    /// All are done.
    Done,
    /// The user must act before the next arm.
    Waiting(String),
    /// The user asked to stop.
    Interrupted,
    /// The stage can make no further runs, for this reason.
    Lost(String),
    /// More runs like those that were made would be useless, for this reason.
    Useless(Refusal),
}

/// Returns the reason why more runs like this one would be useless.
pub type Refuses<'a> = &'a dyn Fn(&StoredRun) -> Option<Refusal>;

/// Makes every run of the agenda that `out` does not hold yet, and keeps each as it finishes.
///
/// # Errors
/// A run could not be made or kept; the active arm was left.
pub fn carry_out<S: Stage + ?Sized>(
    study: &StudyFile,
    agenda: &Agenda,
    stage: &mut S,
    out: &mut Out,
    control: &Control<'_>,
    refuses: Refuses<'_>,
) -> Result<Progressed, S::Error> {
    undo_earlier(study, stage, out, control)?;
    // The step whose stay is under way.
    let mut active: Option<Step> = None;
    let boot = stage.boot();
    for (step, runs) in agenda.stays() {
        let mut missing = runs;
        missing.retain(|(index, _)| !out.done.contains_key(index));
        if missing.is_empty() {
            continue;
        }
        if !active.is_some_and(|active| active.shares_stay_with(step)) {
            leave(stage, out, active.take())?;
            let arm = &study.arms[step.arm];
            let mut finished = out.done.values();
            if boot.is_some() && finished.any(|run| shares_boot(run, step, arm, boot.as_deref())) {
                return Ok(Progressed::Waiting(reboot_first(study, step)));
            }
            let entered = enter(study, stage, out, step, control);
            // An interruption may be why the arm failed: then it is no failure.
            if let Some(ended) = ended(stage, control) {
                let is_ready = matches!(entered, Ok(Entered::Ready));
                leave(stage, out, is_ready.then_some(*step))?;
                return Ok(ended);
            }
            match entered? {
                Entered::Ready => active = Some(*step),
                Entered::Waiting(what) => return Ok(Progressed::Waiting(what)),
            }
        }
        // A stage may make several runs at once; each batch is durable before the next begins.
        for runs in missing.chunks(stage.at_once().max(1)) {
            let run = describe(study, step, runs[0].1);
            control.report(Event::Begins { run: &run, done: out.done.len() as u64 });
            match make(study, stage, out, (step, runs), control, refuses) {
                Ok(None) => {}
                Ok(Some(ended)) => {
                    leave(stage, out, active)?;
                    return Ok(ended);
                }
                Err(failure) => {
                    if let Err(second) = leave(stage, out, active) {
                        control.warn(&format!("reverting the arm failed, too: {second}"));
                    }
                    return Err(failure);
                }
            }
            // `done` has these runs already, and the first of them has the lowest count.
            for (done, (_, task)) in (out.done.len() + 1 - runs.len()..).zip(runs) {
                let run = &describe(study, step, *task);
                let (done, of) = (done as u64, agenda.count() as u64);
                control.report(Event::Finished { run, done, of });
            }
        }
    }
    leave(stage, out, active)?;
    Ok(Progressed::Done)
}

/// Makes runs of the active arm and keeps them; returns the end of the session where it ends.
fn make<S: Stage + ?Sized>(
    study: &StudyFile,
    stage: &mut S,
    out: &mut Out,
    (step, runs): (&Step, &[(usize, Task)]),
    control: &Control<'_>,
    refuses: Refuses<'_>,
) -> Result<Option<Progressed>, S::Error> {
    let requests: Vec<PlannedRun> =
        runs.iter().map(|(_, task)| planned(study, step, *task)).collect();
    let has_reset = keep_reset(study, out, &requests, control)?;
    let made = if study.checks_determinism {
        make_twice(stage, &requests)
    } else {
        stage.run_all(&requests)
    };
    if has_reset && stage.is_run_undone() {
        let arm = &study.arms[step.arm];
        match arm.revert {
            Some(_) => out.entering(&InForce { arm: arm.name.clone(), run: None }, control)?,
            None => out.left()?,
        }
    }
    if let Some(printed) = stage.printed() {
        out.keep_output(runs[0].0, &printed, control)?;
    }
    // A run that was cut short is no run: it is made again at the next --resume.
    if let Some(ended) = ended(stage, control) {
        return Ok(Some(ended));
    }
    let boot = stage.boot();
    let mut stored = Vec::with_capacity(runs.len());
    for (&(index, task), record) in runs.iter().zip(made?) {
        stored.push((index, StoredRun { step: *step, task, boot: boot.clone(), record }));
    }
    debug_assert_eq!(stored.len(), runs.len(), "a stage returns a record for each request");
    if let Some(refusal) = stored.iter().find_map(|(_, run)| refuses(run)) {
        return Ok(Some(Progressed::Useless(refusal)));
    }
    out.keep(stored, control)?;
    Ok(None)
}

/// Keeps the run that is about to be made where its workload has a `reset`: a later session makes
/// that where this one is killed. Returns whether it has one.
fn keep_reset(
    study: &StudyFile,
    out: &Out,
    requests: &[PlannedRun],
    control: &Control<'_>,
) -> Result<bool, Refusal> {
    // Only a run that is made alone can have a reset for later.
    let [request] = requests else { return Ok(false) };
    let Task::Workload(number) = request.task else { return Ok(false) };
    let command = study.workloads[number].work.command();
    let has_reset = command.is_some_and(|command| command.reset.is_some());
    if !has_reset || study.stage != StageName::Hardware {
        return Ok(false);
    }
    let arm = study.arms[request.arm].name.clone();
    out.entering(&InForce { arm, run: Some(*request) }, control)?;
    Ok(true)
}

/// The reason why the session is over before all runs are made.
fn ended<S: Stage + ?Sized>(stage: &S, control: &Control<'_>) -> Option<Progressed> {
    if control.stopped() {
        return Some(Progressed::Interrupted);
    }
    stage.lost().map(Progressed::Lost)
}

/// True if a finished run keeps `step` from being made in this boot.
///
/// Boots differ: blocks that share one are not independent. An arm that takes a reboot cannot have
/// come without one.
fn shares_boot(run: &StoredRun, step: &Step, arm: &Arm, boot: Option<&str>) -> bool {
    let other_block = run.step.block != step.block;
    let other_stay = !run.step.shares_stay_with(step);
    run.boot.as_deref() == boot && (other_block || (other_stay && arm.takes_reboot()))
}

/// The instruction to the user where this boot served another block.
fn reboot_first(study: &StudyFile, step: &Step) -> String {
    let arm = &study.arms[step.arm];
    let what = arm.manual.as_deref().unwrap_or("nothing else; the study applies it");
    format!(
        "Next is block {} of arm `{}`, which needs its own boot because boots differ.\nReboot (for \
         this arm: {what}).\nThe runs so far are kept. Then repeat the command with: --resume \
         --in-place {}",
        step.block + 1,
        arm.name,
        arm.name
    )
}

/// Activates the arm of a step; its reversal is recorded on the disk before anything is done.
fn enter<S: Stage + ?Sized>(
    study: &StudyFile,
    stage: &mut S,
    out: &Out,
    step: &Step,
    control: &Control<'_>,
) -> Result<Entered, S::Error> {
    let arm = &study.arms[step.arm];
    if arm.revert.is_some() && study.stage == StageName::Hardware {
        out.entering(&InForce { arm: arm.name.clone(), run: None }, control)?;
    }
    let entered = stage.enter(step.arm);
    // Where it fails nothing of the arm remains, so there is nothing to undo later.
    if !matches!(entered, Ok(Entered::Ready)) && stage.is_reverted() {
        out.left()?;
    }
    entered
}

fn leave<S: Stage + ?Sized>(
    stage: &mut S,
    out: &Out,
    active: Option<Step>,
) -> Result<(), S::Error> {
    let Some(step) = active else { return Ok(()) };
    stage.leave(step.arm)?;
    // The file stays while anything is in force: the next session undoes it.
    if stage.is_reverted() && stage.is_run_undone() {
        out.left()?;
    }
    Ok(())
}

/// Undoes the run and the arm that an earlier session began and did not end: it was killed, or the
/// machine went down.
fn undo_earlier<S: Stage + ?Sized>(
    study: &StudyFile,
    stage: &mut S,
    out: &Out,
    control: &Control<'_>,
) -> Result<(), S::Error> {
    let Some(InForce { arm: name, run }) = out.entered()? else { return Ok(()) };
    let index = study.arms.iter().position(|arm| arm.name == name);
    let index = index.expect("the file is sealed with the study, which has this arm");
    let is_arm = study.arms[index].revert.is_some();
    if run.is_some() {
        control.warn("an earlier session ended in the middle of a run: its `reset` is made first");
    }
    if is_arm {
        control.warn(&format!(
            "an earlier session ended while arm `{name}` was in force: it is reverted first"
        ));
    }
    let reset = run.map_or(Ok(()), |request| stage.undo_run(request));
    // The arm is undone whether or not its run could be.
    let undone = if is_arm { stage.undo(index) } else { Ok(()) };
    if reset.is_err() {
        control.warn(&format!(
            "the run of arm `{name}` may still be in force: undo what its `reset` undoes by hand, \
             remove `{}`, then continue with --resume",
            out.entered_path().display()
        ));
    }
    if undone.is_err() {
        control.warn(&format!(
            "arm `{name}` may still be in force: undo it by hand, remove `{}`, then continue with \
             --resume",
            out.entered_path().display()
        ));
    }
    // Both were tried before either failure counts.
    reset.and(undone)?;
    Ok(out.left()?)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    use drivelab_core::plan::{Design, Plan};
    use drivelab_core::record::{RUN_SCHEMA, RunConfig, RunRecord, Tally};

    use super::*;
    use crate::file::Choices;
    use crate::file::tests::TwoKeys;
    use crate::folder::{Header, PLAN_SCHEMA};

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
    struct Machine<'a> {
        study: &'a StudyFile,
        boot: Option<String>,
        /// Seeds of the runs, in order.
        seeds: Vec<u64>,
        /// No run is like the one before.
        drifts: bool,
        /// Undoing a run and undoing an arm fail.
        fails: [bool; 2],
    }

    fn fail(does: bool) -> Result<(), Refusal> {
        if does { Err(Refusal::machine("it failed")) } else { Ok(()) }
    }

    impl Stage for Machine<'_> {
        type Error = Refusal;

        fn boot(&self) -> Option<String> {
            self.boot.clone()
        }

        fn target(&self) -> String {
            "machine".into()
        }

        fn run(&mut self, request: PlannedRun) -> Result<RunRecord, Refusal> {
            let PlannedRun { task, seed, .. } = request;
            self.seeds.push(seed);
            let total = Tally::default().record();
            Ok(RunRecord {
                schema: RUN_SCHEMA.into(),
                target: self.target(),
                label: self.drifts.then(|| self.seeds.len().to_string()),
                ended_unix_s: None,
                config: RunConfig {
                    ioengine: "none".into(),
                    numjobs: 1,
                    seed,
                    workload: self.study.work(task).load().cloned(),
                    ..RunConfig::default()
                },
                jobs: vec![total.clone()],
                total: Some(total),
                phases: Vec::new(),
                marks: Vec::new(),
                host: None,
                attached: None,
                served: None,
                guest: None,
                specimen: None,
                flash: None,
                verification: None,
                hosts: None,
            })
        }

        fn undo(&mut self, _: usize) -> Result<(), Refusal> {
            fail(self.fails[1])
        }

        fn undo_run(&mut self, _: PlannedRun) -> Result<(), Refusal> {
            fail(self.fails[0])
        }

        fn settings(&self) -> Vec<Vec<(String, String)>> {
            Vec::new()
        }

        fn risks(&self, _runs: &[StoredRun]) -> Vec<drivelab_core::outline::Risk> {
            Vec::new()
        }

        fn notes(&self, _runs: &[StoredRun]) -> Vec<String> {
            Vec::new()
        }
    }

    fn header(study: &StudyFile, design: Design) -> Header {
        Header {
            schema: PLAN_SCHEMA.into(),
            target: "machine".into(),
            stage: StageName::Hardware,
            seed: study.seed,
            plan: Plan::new(design, study.arms.len(), study.blocks, study.seed),
            asked: None,
        }
    }

    #[test]
    fn a_boot_serves_one_block_and_one_stay_of_an_arm_that_takes_a_reboot() {
        let study = StudyFile::parse("boots.toml", STUDY, &TwoKeys).unwrap();
        let header = header(&study, Design::Grouped);
        let agenda = Agenda::new(&study, &header.plan);
        let folder = tempfile::tempdir().unwrap();
        let control = Control::unattended();
        let mut out = Out::create(folder.path(), STUDY, &header, &control).unwrap();
        let mut boots = 0;
        loop {
            boots += 1;
            assert!(boots < 20, "the study never ends");
            let boot = Some(boots.to_string());
            let mut machine = Machine {
                study: &study,
                boot,
                seeds: Vec::new(),
                drifts: false,
                fails: [false; 2],
            };
            let mut go_on =
                || carry_out(&study, &agenda, &mut machine, &mut out, &control, &|_| None).unwrap();
            if let Progressed::Done = go_on() {
                break;
            }
            // Whatever this boot may serve is done: to ask again brings no more.
            let Progressed::Waiting(what) = go_on() else { panic!("boot {boots} served more") };
            assert!(what.contains("Reboot") && what.contains("needs its own boot"), "{what}");
        }
        let runs: Vec<StoredRun> = out.done.values().cloned().collect();
        assert_eq!(runs.len(), 12);
        for (one, other) in runs.iter().flat_map(|one| runs.iter().map(move |other| (one, other))) {
            assert!(one.step.block == other.step.block || one.boot != other.boot, "{one:?}");
        }
    }

    #[test]
    fn only_what_could_not_be_undone_is_said_to_be_in_force() {
        let text =
            STUDY.replace("manual = \"set it in the BIOS\"", "apply = \"true\"\nrevert = \"true\"");
        let study = StudyFile::parse("undo.toml", &text, &TwoKeys).unwrap();
        let header = header(&study, Design::Interleaved);
        let check = |fails, expected: [bool; 2]| {
            let folder = tempfile::tempdir().unwrap();
            let (stop, warnings) = (AtomicBool::new(false), Mutex::new(Vec::new()));
            let observer = |event: Event<'_>| {
                if let Event::Warning(warning) = event {
                    warnings.lock().unwrap().push(warning.to_owned());
                }
            };
            let control = Control::new(&stop, &observer);
            let out = Out::create(folder.path(), &text, &header, &control).unwrap();
            let request = PlannedRun { arm: 1, task: Task::Workload(0), seed: 1, specimen: None };
            out.entering(&InForce { arm: "two".into(), run: Some(request) }, &control).unwrap();
            let mut machine =
                Machine { study: &study, boot: None, seeds: Vec::new(), drifts: false, fails };
            let undone = undo_earlier(&study, &mut machine, &out, &control);
            assert_eq!(undone.is_ok(), fails == [false; 2]);
            assert_eq!(out.entered().unwrap().is_none(), undone.is_ok());
            let warnings = warnings.lock().unwrap();
            let said = |words: &str| warnings.iter().any(|it: &String| it.starts_with(words));
            let words = ["the run of arm `two` may still be", "arm `two` may still be in force"];
            assert_eq!(words.map(said), expected, "{warnings:?}");
        };
        check([false, false], [false, false]);
        check([true, false], [true, false]);
        check([false, true], [false, true]);
        check([true, true], [true, true]);
    }

    #[test]
    fn a_workload_has_the_same_seeds_whichever_others_there_are() {
        let two = format!("{STUDY}[[workload]]\nname = \"late\"\nnumber_ios = 3\n");
        let two = two.replace("read.iops", "late.iops");
        let seeds = |only: &[String]| {
            let mut study = StudyFile::parse("seeds.toml", &two, &TwoKeys).unwrap();
            study.choose(Choices { only, ..Choices::default() }).unwrap();
            let header = header(&study, Design::Interleaved);
            let agenda = Agenda::new(&study, &header.plan);
            let folder = tempfile::tempdir().unwrap();
            let control = Control::unattended();
            let mut out = Out::create(folder.path(), &two, &header, &control).unwrap();
            let mut machine = Machine {
                study: &study,
                boot: None,
                seeds: Vec::new(),
                drifts: false,
                fails: [false; 2],
            };
            carry_out(&study, &agenda, &mut machine, &mut out, &control, &|_| None).unwrap();
            machine.seeds
        };
        let (all, late) = (seeds(&[]), seeds(&["late".into()]));
        assert_eq!((all.len(), late.len()), (24, 12));
        assert!(late.iter().all(|seed| all.contains(seed)), "{late:?} in {all:?}");
    }

    #[test]
    fn a_run_that_is_not_the_same_when_made_again_ends_the_study() {
        let carried_out = |drifts| {
            let mut study = StudyFile::parse("twice.toml", STUDY, &TwoKeys).unwrap();
            let check = Choices { check_determinism: true, ..Choices::default() };
            study.choose(check).unwrap();
            let header = header(&study, Design::Interleaved);
            let agenda = Agenda::new(&study, &header.plan);
            let folder = tempfile::tempdir().unwrap();
            let control = Control::unattended();
            let mut out = Out::create(folder.path(), STUDY, &header, &control).unwrap();
            let mut machine =
                Machine { study: &study, boot: None, seeds: Vec::new(), drifts, fails: [false; 2] };
            let done = carry_out(&study, &agenda, &mut machine, &mut out, &control, &|_| None);
            (done.map(|_| out.done.len()), machine.seeds.len())
        };
        let (same, made) = carried_out(false);
        assert_eq!((same.unwrap(), made), (12, 24), "each is kept once");
        let (differs, made) = carried_out(true);
        let refusal = differs.unwrap_err();
        assert!(refusal.message.contains("`record.label` is `\"1\"` and `\"2\"`"), "{refusal}");
        assert_eq!((refusal.kind, made), (drivelab_core::RefusalKind::Bug, 2));
    }
}
