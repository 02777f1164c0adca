//! Workloads that are commands: run as the study says, and made into records.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Attached, Mark, MarkId, Phase, RunConfig, RunRecord};
use drivelab_core::units::Span;
use drivelab_core::{AtPath as _, Invalid, Refusal, invalid};
use drivelab_engine::{Program, ProgramEnd, Ran};
use drivelab_study::command::{Command, Filling, Printed, Template};
use drivelab_study::{PlannedRun, StudyFile, Task};
use serde::{Deserialize, Serialize};

use crate::interrupt;
use crate::measure;

/// Characters of a failed command's output that its record and a message show.
const TAIL: usize = 400;
/// Never set: what undoes a run is not cut short.
static TO_THE_END: AtomicBool = AtomicBool::new(false);

/// The commands of a study.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Workloads that succeeded in an arm at least once.
    succeeded: BTreeSet<(usize, String)>,
    /// The output of the last run.
    printed: Option<String>,
    /// The `reset` of the last run is still to be made, or failed.
    is_open: bool,
}

/// Called right before the measured command and right after it.
pub(super) type Edges<'a> = &'a mut dyn FnMut() -> Result<(), Refusal>;

/// Makes one step; some are not cut short.
pub(super) type Make<'a> = &'a mut dyn FnMut(&Step, &AtomicBool) -> Result<Ran, Refusal>;

/// The target and the folder of a command.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    /// The path of the target; empty where nothing is named.
    pub(super) target: &'a str,
    /// The target itself, or the folder that it is in.
    pub(super) dir: &'a str,
    /// The attachment of the target.
    pub(super) attached: Option<Attached>,
}

/// One of the commands of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// `prepare`, `command`, `check` or `reset`.
    pub what: String,
    /// As a shell takes it.
    text: String,
    timeout_ns: u64,
}

const MEASURED: &str = "command";
const RESET: &str = "reset";

impl Step {
    /// Runs it on this machine.
    fn run(&self, stop: &AtomicBool) -> Result<Ran, Refusal> {
        let timeout = Span::from_ns(self.timeout_ns);
        let program = Program { command: &self.text, timeout, stop };
        program.run().at_path("start", Path::new("sh"))
    }
}

/// The commands of a run in their order, filled in.
pub(super) fn filled_steps(
    study: &StudyFile,
    command: &Command,
    request: PlannedRun,
    ground: &Ground<'_>,
) -> Result<Vec<Step>, Refusal> {
    let arm = &study.arms[request.arm];
    let filling = Filling {
        target: Some(ground.target),
        dir: Some(ground.dir),
        arm: &arm.name,
        seed: request.seed,
        command: arm.command.as_ref(),
    };
    let all = [
        ("prepare", command.prepare.as_ref()),
        (MEASURED, Some(&command.run)),
        ("check", command.check.as_ref()),
        (RESET, command.reset.as_ref()),
    ];
    let timeout_ns = command.timeout.ns();
    let filled = all.into_iter().filter_map(|(what, template): (&str, Option<&Template>)| {
        let text = template?.fill(&filling);
        Some(text.map(|text| Step { what: what.to_owned(), text, timeout_ns }))
    });
    filled.collect()
}

/// Checks before the first run that every command can be filled in with each arm's target.
pub(super) fn refuse_targets(study: &StudyFile, targets: &[Vec<PathBuf>]) -> Result<(), Refusal> {
    for (arm, paths) in targets.iter().enumerate() {
        for (index, named) in study.workloads.iter().enumerate() {
            let (Some(command), Some(path)) = (named.work.command(), paths.first()) else {
                continue;
            };
            let used = ["target", "dir"].into_iter().find(|word| named.work.uses(word));
            if let (None, Some(name)) = (path.to_str(), used) {
                let path = path.display();
                let message = format!("`{{{name}}}` cannot be `{path}`: its name is not UTF-8");
                return Err(Refusal::request(message).hint("rename it, or link to it"));
            }
            let request = PlannedRun { arm, task: Task::Workload(index), seed: 0, specimen: None };
            filled_steps(study, command, request, &ground_at(path, None))?;
        }
    }
    Ok(())
}

/// The ground of a command on a target.
fn ground_at(path: &Path, attached: Option<Attached>) -> Ground<'_> {
    let target = path.to_str().unwrap_or_default();
    let dir = if path.is_dir() { Some(path) } else { path.parent() };
    let dir = dir.and_then(Path::to_str).filter(|dir| !dir.is_empty()).unwrap_or(".");
    Ground { target, dir, attached }
}

/// Makes steps on this machine, up to one that fails, and the one that undoes them.
pub fn carry_out(steps: &[Step]) -> Result<Vec<(String, Ran)>, Refusal> {
    let (mut made, mut is_lost, mut failed) = (Vec::new(), false, Ok(()));
    for step in steps {
        if is_lost && step.what != RESET {
            continue;
        }
        match step.run(interrupt::flag()) {
            Ok(ran) => {
                is_lost |= ran.end != ProgramEnd::Exited(0);
                made.push((step.what.clone(), ran));
            }
            Err(failure) => {
                is_lost = true;
                failed = failed.and(Err(failure));
            }
        }
    }
    failed.map(|()| made)
}

/// A run that failed, and why.
struct Lost(String);

impl Commands {
    /// Makes one run of `command` on `path`, which is empty where nothing is named. What prepares,
    /// checks and undoes the run is outside `edges`.
    ///
    /// # Errors
    /// The arm has not succeeded before: the command is at fault, and not the run. Or what undoes
    /// the run failed.
    pub(super) fn run(
        &mut self,
        study: &StudyFile,
        command: &Command,
        request: PlannedRun,
        path: &Path,
        edges: Edges<'_>,
    ) -> Result<RunRecord, Refusal> {
        // `reset` must run even if Ctrl-C ends the command.
        let _undone = interrupt::shield();
        let is_named = !path.as_os_str().is_empty();
        let ground = ground_at(path, is_named.then(|| crate::attached::to_path(path)));
        let mut make = |step: &Step, stop: &AtomicBool| {
            if step.what != MEASURED {
                return step.run(stop);
            }
            edges()?;
            let ran = step.run(stop)?;
            edges()?;
            Ok(ran)
        };
        self.run_on(study, command, request, ground, &mut make)
    }

    /// Makes one run of `command`, whose steps `make` makes.
    pub(super) fn run_on(
        &mut self,
        study: &StudyFile,
        command: &Command,
        request: PlannedRun,
        ground: Ground<'_>,
        make: Make<'_>,
    ) -> Result<RunRecord, Refusal> {
        let arm = &study.arms[request.arm];
        let mut steps = filled_steps(study, command, request, &ground)?;
        // It comes last, even where an earlier step fails.
        let reset = steps.iter().position(|step| step.what == RESET).map(|at| steps.remove(at));
        let measured = steps.iter().find(|step| step.what == MEASURED);
        let config = RunConfig {
            drivelab: env!("CARGO_PKG_VERSION").into(),
            ioengine: "command".into(),
            numjobs: 1,
            seed: request.seed,
            command: measured.map(|step| step.text.clone()),
            ..RunConfig::default()
        };
        self.printed = Some(String::new());
        self.is_open = reset.is_some();
        let wanted = study.wanted(request.task);
        let attempted = self.attempt(command, &steps, &wanted, make);
        // It runs although the run could not be made: what prepared it may have been done.
        let undone = reset.map_or(Ok(()), |reset| self.undo(&reset, command, make));
        let outcome = attempted?;
        undone?;
        let key = (request.arm, command.run.to_string());
        let (phases, marks) = match outcome {
            Ok(phases) => (phases, Vec::new()),
            Err(Lost(why)) if interrupt::requested() || self.succeeded.contains(&key) => {
                (Vec::new(), vec![Mark { id: MarkId::Failed, message: why }])
            }
            Err(Lost(why)) => {
                let failure = Refusal::machine(format!("arm `{}`: {why}", arm.name));
                return Err(
                    failure.hint("try the command in a shell; `output/` has all it printed")
                );
            }
        };
        if marks.is_empty() {
            self.succeeded.insert(key);
        }
        let Ground { target, attached, .. } = ground;
        Ok(RunRecord { attached, marks, ..measure::benchmark(target, config, phases) })
    }

    /// Returns true if the last run is undone.
    pub(super) fn is_undone(&self) -> bool {
        !self.is_open
    }

    /// Makes the `reset` of a run that an earlier session did not end, on `path`.
    pub(super) fn undo_run(
        &mut self,
        study: &StudyFile,
        command: &Command,
        request: PlannedRun,
        path: &Path,
    ) -> Result<(), Refusal> {
        let _whole = interrupt::shield();
        let steps = filled_steps(study, command, request, &ground_at(path, None))?;
        let Some(reset) = steps.iter().find(|step| step.what == RESET) else { return Ok(()) };
        self.undo(reset, command, &mut |step: &Step, stop: &AtomicBool| step.run(stop))
    }

    /// Takes the output of the last run.
    pub(super) fn printed(&mut self) -> Option<String> {
        self.printed.take()
    }

    /// Prepares, runs and checks.
    fn attempt(
        &mut self,
        command: &Command,
        steps: &[Step],
        wanted: &[String],
        make: Make<'_>,
    ) -> Result<Result<Vec<Phase>, Lost>, Refusal> {
        let mut measured = None;
        for step in steps {
            let ran = self.one(step, command, interrupt::flag(), make)?;
            if let Err(lost) = succeeded(step, &ran) {
                return Ok(Err(lost));
            }
            if step.what == MEASURED {
                measured = Some(ran);
            }
        }
        let ran = measured.expect("one of the steps is the command");
        let Ran { wall, cpu, stdout, stderr, .. } = &ran;
        let printed = Printed { wall: *wall, cpu: *cpu, stdout, stderr };
        let phases = command.phases(printed, &as_tool).and_then(|phases| has(phases, wanted));
        Ok(phases.map_err(|why| Lost(format!("{why}; {}", tail(&ran)))))
    }

    /// Undoes what a run did.
    fn undo(&mut self, reset: &Step, command: &Command, make: Make<'_>) -> Result<(), Refusal> {
        let ran = self.one(reset, command, &TO_THE_END, make)?;
        succeeded(reset, &ran).map_err(|Lost(why)| {
            let message = format!("what follows a run failed, so the next would differ: {why}");
            Refusal::machine(message)
                .hint("try the command of `reset` in a shell; `output/` has all it printed")
        })?;
        self.is_open = false;
        Ok(())
    }

    /// Makes one step of a run, and keeps what it printed.
    fn one(
        &mut self,
        step: &Step,
        command: &Command,
        until: &AtomicBool,
        make: Make<'_>,
    ) -> Result<Ran, Refusal> {
        let ran = make(step, until)?;
        let kept = self.printed.get_or_insert_default();
        kept.push_str(&format!("== {}: {}\n{}", step.what, step.text, ran.stdout));
        if !ran.stderr.is_empty() {
            kept.push_str(&format!("-- stderr\n{}", ran.stderr));
        }
        kept.push_str(&format!("== {} after {}\n", ending(ran.end, command), ran.wall));
        Ok(ran)
    }
}

fn ending(end: ProgramEnd, command: &Command) -> String {
    match end {
        ProgramEnd::Exited(code) => format!("exit status {code}"),
        ProgramEnd::Signalled(signal) => format!("killed by signal {signal}"),
        ProgramEnd::TimedOut => format!("killed: it took longer than {}", command.timeout),
        ProgramEnd::TooLoud => "killed: it printed more than 64 MiB".into(),
        ProgramEnd::Stopped => "killed: interrupted".into(),
    }
}

/// Why a command did not succeed, with what it printed last.
fn succeeded(Step { what, text, .. }: &Step, ran: &Ran) -> Result<(), Lost> {
    let how = match ran.end {
        ProgramEnd::Exited(0) => return Ok(()),
        ProgramEnd::Exited(code) => format!("failed with exit status {code}"),
        ProgramEnd::Signalled(signal) => format!("was killed by signal {signal}"),
        ProgramEnd::TimedOut => "took longer than its `timeout`".into(),
        ProgramEnd::TooLoud => "printed more than 64 MiB".into(),
        ProgramEnd::Stopped => "was interrupted".into(),
    };
    Err(Lost(format!("the {what} {how}: {text}; {}", tail(ran))))
}

/// The end of what a command printed, where the reason usually is.
fn tail(ran: &Ran) -> String {
    let said = if ran.stderr.trim().is_empty() { &ran.stdout } else { &ran.stderr };
    let said = said.trim();
    if said.is_empty() {
        return "it printed nothing".into();
    }
    let skipped = said.chars().count().saturating_sub(TAIL);
    let end: String = said.chars().skip(skipped).collect();
    let cut = if skipped > 0 { "..." } else { "" };
    format!("it printed: {cut}{end}")
}

/// The phases of a tool's output; of several configurations each under its own name.
fn as_tool(tool: &str, text: &str) -> Result<Vec<Phase>, Invalid> {
    let read = drivelab_formats::results::parse_as(tool, text);
    let Imported { runs, .. } = read.map_err(Invalid::new)?;
    let arms: BTreeSet<&str> = runs.iter().map(|run| run.arm.as_str()).collect();
    if arms.len() < runs.len() {
        return Err(invalid!(
            "its output holds {} runs of {tool}, but a run is one number per metric: let it make \
             one",
            runs.len()
        ));
    }
    let several = runs.len() > 1;
    let phase = |arm: &str, phase: Phase| match (several, phase.name.as_str()) {
        (false, _) => phase,
        (true, "") => Phase { name: arm.to_owned(), ..phase },
        (true, name) => Phase { name: format!("{arm}.{name}"), ..phase },
    };
    let of_run = |ImportedRun { arm, phases, .. }: ImportedRun| {
        phases.into_iter().map(move |own| phase(&arm, own)).collect::<Vec<_>>()
    };
    let mut phases: Vec<Phase> = runs.into_iter().flat_map(of_run).collect();
    for phase in &mut phases {
        // A study makes several; that one of them stands alone is no doubt about it.
        phase.remarks.retain(|remark| remark.label != drivelab_core::record::Label::SingleRun);
    }
    Ok(phases)
}

/// The phases, where they have every metric that the study names.
fn has(phases: Vec<Phase>, wanted: &[String]) -> Result<Vec<Phase>, Invalid> {
    let names: Vec<String> =
        phases.iter().flat_map(Phase::metrics).map(|figure| figure.name).collect();
    match wanted.iter().find(|name| !names.contains(name)) {
        None => Ok(phases),
        Some(name) => {
            Err(invalid!("its output has no metric `{name}`; there are `{}`", names.join("`, `")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::DriveKeys;

    #[test]
    fn what_undoes_a_run_is_run_although_the_run_could_not_be_made() {
        let text = "title = \"a\"\nprimary = \"w.wall_ns\"\n[[arm]]\nname = \"b\"\n[[arm]]\nname = \
                    \"c\"\n[[workload]]\nname = \"w\"\ncommand = \"x\"\nprepare = \"y\"\nreset = \
                    \"z\"\n";
        let study = StudyFile::parse("x.toml", text, &DriveKeys).unwrap();
        let command = study.workloads[0].work.command().unwrap();
        let task = Task::Workload(0);
        let request = PlannedRun { arm: 0, task, seed: 1, specimen: None };
        let mut steps = Vec::new();
        let mut make = |step: &Step, _: &AtomicBool| {
            steps.push(step.what.clone());
            if step.what == MEASURED {
                return Err(Refusal::machine("no process can be started"));
            }
            let (wall, cpu) = (Span::from_ms(1), Span::ZERO);
            let (stdout, stderr) = (String::new(), String::new());
            Ok(Ran { end: ProgramEnd::Exited(0), wall, cpu, stdout, stderr })
        };
        let ground = ground_at(Path::new(""), None);
        let run = Commands::default().run_on(&study, command, request, ground, &mut make);
        assert_eq!(run.unwrap_err().to_string(), "no process can be started");
        assert_eq!(steps, ["prepare", "command", "reset"]);
    }
}
