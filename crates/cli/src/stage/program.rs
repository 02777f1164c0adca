//! Workloads that are commands: run as the study says, and made into records.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Mark, MarkId, Phase, RunConfig, RunRecord};
use drivelab_engine::{Program, ProgramEnd, Ran};
use drivelab_study::command::{Command, Filling, Printed, Template};
use drivelab_study::{Request, StudyFile};

use crate::failure::{AtPath as _, Failure};
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
    /// What the last run printed.
    printed: Option<String>,
}

/// Called right before the measured command and right after it.
pub(super) type Edges<'a> = &'a mut dyn FnMut() -> Result<(), Failure>;

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
        request: Request,
        path: &Path,
        edges: Edges<'_>,
    ) -> Result<RunRecord, Failure> {
        let _undone = interrupt::shield();
        let arm = &study.arms[request.arm];
        let target = path.to_str().unwrap_or_default();
        let dir = if path.is_dir() { Some(path) } else { path.parent() };
        let dir = dir.and_then(Path::to_str).filter(|dir| !dir.is_empty()).unwrap_or(".");
        let filling = Filling {
            target: Some(target),
            dir: Some(dir),
            arm: &arm.name,
            seed: request.seed,
            command: arm.command.as_ref(),
        };
        let fill = |template: &Template| template.fill(&filling);
        let config = RunConfig {
            drivelab: env!("CARGO_PKG_VERSION").into(),
            ioengine: "command".into(),
            numjobs: 1,
            seed: request.seed,
            command: Some(fill(&command.run)),
            ..RunConfig::default()
        };
        self.printed = Some(String::new());
        let attached = (!target.is_empty()).then(|| crate::attached::to_path(path));
        let wanted = study.wanted(request.task);
        let made = self.attempt(command, &fill, &wanted, edges)?;
        if let Some(reset) = &command.reset {
            let ran = self.one("reset", &fill(reset), command, &TO_THE_END)?;
            if let Err(Lost(why)) = succeeded("reset", &fill(reset), &ran) {
                let message = format!("what follows a run failed, so the next would differ: {why}");
                return Err(Failure::cannot_here(anyhow::anyhow!(message)));
            }
        }
        let place = (request.arm, command.run.to_string());
        let (phases, marks) = match made {
            Ok(phases) => (phases, Vec::new()),
            Err(Lost(why)) if interrupt::requested() || self.succeeded.contains(&place) => {
                (Vec::new(), vec![Mark { id: MarkId::Failed, message: why }])
            }
            Err(Lost(why)) => {
                let failure = Failure::cannot_here(anyhow::anyhow!("arm `{}`: {why}", arm.name));
                return Err(
                    failure.hint("try the command in a shell; `output/` has all it printed")
                );
            }
        };
        if marks.is_empty() {
            self.succeeded.insert(place);
        }
        Ok(RunRecord { attached, marks, ..measure::benchmark(target, config, phases) })
    }

    /// What the last run printed, once.
    pub(super) fn printed(&mut self) -> Option<String> {
        self.printed.take()
    }

    /// Prepares, runs and checks.
    fn attempt(
        &mut self,
        command: &Command,
        fill: &dyn Fn(&Template) -> String,
        wanted: &[String],
        edges: Edges<'_>,
    ) -> Result<Result<Vec<Phase>, Lost>, Failure> {
        let steps = [
            ("prepare", command.prepare.as_ref()),
            ("command", Some(&command.run)),
            ("check", command.check.as_ref()),
        ];
        let mut measured = None;
        for (what, step) in steps {
            let Some(text) = step.map(fill) else { continue };
            let is_measured = what == "command";
            if is_measured {
                edges()?;
            }
            let ran = self.one(what, &text, command, interrupt::flag())?;
            if is_measured {
                edges()?;
            }
            if let Err(lost) = succeeded(what, &text, &ran) {
                return Ok(Err(lost));
            }
            if is_measured {
                measured = Some(ran);
            }
        }
        let ran = measured.expect("one of the steps is the command");
        let Ran { wall, cpu, stdout, stderr, .. } = &ran;
        let printed = Printed { wall: *wall, cpu: *cpu, stdout, stderr };
        let phases = command.phases(printed, &as_tool).and_then(|phases| has(phases, wanted));
        Ok(phases.map_err(|why| Lost(format!("{why}; {}", tail(&ran)))))
    }

    /// Runs one command of a run, and keeps what it printed.
    fn one(
        &mut self,
        what: &str,
        text: &str,
        command: &Command,
        stop: &AtomicBool,
    ) -> Result<Ran, Failure> {
        let program = Program { command: text, timeout: command.timeout, stop };
        let ran = program.run().at_path("start", Path::new("sh"))?;
        let kept = self.printed.get_or_insert_default();
        kept.push_str(&format!("== {what}: {text}\n{}", ran.stdout));
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
fn succeeded(what: &str, text: &str, ran: &Ran) -> Result<(), Lost> {
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
fn as_tool(tool: &str, text: &str) -> Result<Vec<Phase>, String> {
    let read = drivelab_formats::results::parse_as(tool, text);
    let Imported { runs, .. } = read.map_err(|error| error.to_string())?;
    let arms: BTreeSet<&str> = runs.iter().map(|run| run.arm.as_str()).collect();
    if arms.len() < runs.len() {
        return Err(format!(
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
fn has(phases: Vec<Phase>, wanted: &[String]) -> Result<Vec<Phase>, String> {
    let names: Vec<String> =
        phases.iter().flat_map(Phase::metrics).map(|figure| figure.name).collect();
    match wanted.iter().find(|name| !names.contains(name)) {
        None => Ok(phases),
        Some(name) => {
            Err(format!("its output has no metric `{name}`; there are `{}`", names.join("`, `")))
        }
    }
}
