//! Sessions of a study: it begins, or goes on where an earlier session stopped.

use std::path::{Path, PathBuf};

use drivelab_core::StageName;
use drivelab_core::plan::{Design, Plan};
use drivelab_core::units::Bytes;
use drivelab_study::folder::{fresh, last, unused};
use drivelab_study::repeat::{command, stem, words};
use drivelab_study::{
    Agenda, Asked, Begun, Choices, Effort, Frame, Header, KeptStudy, Out, PLAN_SCHEMA, Progressed,
    StudyFile, carry_out, plan,
};

use super::arguments::{COMMANDS, StudyArgs, asked_for, read};
use super::conclude::{self, Keep};
use super::executor::{AnyStage, Executor, Wanted};
use crate::exit::Outcome;
use crate::ui::{Console, Progress, Ui};
use drivelab_core::Refusal;
use drivelab_lab::interrupt;
use drivelab_lab::stage::DriveKeys;
use drivelab_simulate::study::short;

/// Begins a study in a new folder.
pub(super) fn begin(arguments: &StudyArgs, executor: &mut dyn Executor, ui: Ui) -> Outcome {
    let (name, text) = asked_for(arguments)?;
    let mut study = StudyFile::parse(name, &text, &DriveKeys)?;
    study.choose(Choices {
        stage: Some(stage_of(arguments, &study)?),
        blocks: arguments.blocks,
        specimens: arguments.specimens,
        seed: arguments.seed,
        only: &arguments.only,
        drive: arguments.drive.as_deref(),
        check_determinism: arguments.check_determinism,
        scale: arguments.scale.unwrap_or_default(),
    })?;
    short::refuse(&study)?;
    if arguments.target.is_some() && study.stage != StageName::Hardware {
        let message = format!("stage {} does not use --target", study.stage);
        return Err(
            Refusal::request(message).hint("add --stage hardware to measure it, or omit --target")
        );
    }
    let asked = Asked { ranks: executor.ranks(), ..asked(arguments, name, &study) };
    let set_up = arguments.in_place.as_deref();
    let wanted = Wanted { study: &mut study, text: &text, asked: &asked, set_up };
    let stage = executor.stage(wanted)?;
    let asked = Asked { blocks: study.blocks, ..asked };
    let header = header(&study, stage.target(), plan(&study), &asked);
    let console = Console::new(ui);
    let agenda = Agenda::new(&study, &header.plan);
    let out = Out::create(&folder(arguments, name, ui), &text, &header, &console.control())?;
    let keep = kept(arguments);
    let session = Session { study, text, keep, asked, plan: header.plan, agenda, out };
    session.go_on(stage, ui)
}

/// Goes on with what was begun: what the command leaves out is as it was then.
pub(super) fn resume(arguments: &StudyArgs, executor: &mut dyn Executor, ui: Ui) -> Outcome {
    let is_quick = !arguments.command.is_empty();
    let folder = match (&arguments.out, &arguments.study) {
        (Some(out), _) => out.clone(),
        (None, None) if is_quick => last(&by_name(COMMANDS)),
        (None, Some(name)) => last(&by_name(name)),
        (None, None) => {
            let message = "--resume needs the name of the study, or its folder";
            return Err(
                Refusal::request(message).hint("name one: drivelab study --resume --out DIR")
            );
        }
    };
    let typed = if is_quick || arguments.study.is_some() {
        Some(asked_for(arguments).and_then(|(name, text)| named(name, text))?)
    } else {
        None
    };
    // A journal of many runs takes a while to read; until a stage is up, nothing is left behind.
    let reading = interrupt::reading();
    let begun = Begun::open(&folder)?;
    let (name, text, mut study) = match typed {
        Some(typed) => typed,
        None => copied(&begun)?,
    };
    refuse_other_scale(arguments, &begun)?;
    let asked = remembered(arguments, &begun, &mut study, &name)?;
    let again = Asked { size: begun.size(&study, &text).or(asked.size), ..asked.clone() };
    refuse_other_size(arguments.size, &again, &folder)?;
    refuse_other_blocks(&begun, &study, &again, arguments)?;
    drop(reading);
    let ranks = executor.ranks();
    let set_up = arguments.in_place.as_deref();
    let wanted = Wanted { study: &mut study, text: &text, asked: &again, set_up };
    let stage = executor.stage(wanted)?;
    // As many as the stage settled, which a damaged plan does not say.
    let asked = Asked { blocks: study.blocks, ranks, ..asked };
    let header = header(&study, stage.target(), plan(&study), &asked);
    let console = Console::new(ui);
    // The same for its runs, unless a guest or a server is up, which needs this process to end it.
    let is_alone = matches!(study.stage, StageName::Simulate | StageName::Hardware);
    let reading = is_alone.then(interrupt::reading);
    let going = begun.resume(&text, &header, &console.control())?;
    let plan = going.header.plan.clone();
    let agenda = Agenda::new(&study, &plan);
    let out = going.out(&agenda, &console.control());
    drop(reading);
    let keep = kept(arguments);
    let session = Session { study, text, keep, asked, plan, agenda, out };
    session.go_on(stage, ui)
}

/// Returns the way in which the result of a command is kept and shown.
fn kept(arguments: &StudyArgs) -> Keep<'_> {
    let (label, explains) = (arguments.label.clone(), arguments.explain);
    Keep { arguments: &arguments.keep, label, explains }
}

/// Name, text and content of a study.
type Named = (String, String, StudyFile);

fn named(name: &str, text: String) -> Result<Named, Refusal> {
    let study = StudyFile::parse(name, &text, &DriveKeys)?;
    Ok((name.to_owned(), text, study))
}

/// The study that a folder was begun with.
fn copied(begun: &Begun) -> Result<Named, Refusal> {
    let path = begun.folder.join("study.toml").display().to_string();
    if begun.study.is_none() {
        return Err(Refusal::request(format!("`{path}` is damaged"))
            .hint("name the study: drivelab study FILE --resume --out DIR"));
    }
    named(&path, read(&path)?)
}

/// A study that is ready to run.
pub(super) struct Session<'a> {
    pub(super) study: StudyFile,
    /// The text that it was read from.
    pub(super) text: String,
    pub(super) keep: Keep<'a>,
    pub(super) asked: Asked,
    pub(super) plan: Plan,
    pub(super) agenda: Agenda,
    pub(super) out: Out,
}

impl Session<'_> {
    pub(super) fn go_on(mut self, mut stage: AnyStage<'_>, ui: Ui) -> Outcome {
        let study = &self.study;
        if self.plan.design == Design::Grouped {
            ui.note(&effort(&self.plan, study.arms.len()));
        }
        // The duration of virtual time depends on the processor: the first block shows it.
        let is_real = !study.stage.is_virtual();
        let known = Effort::left(study, &self.agenda, &self.out.done).filter(|_| is_real);
        if let Some(known) = &known {
            ui.note(&known.to_string());
        }
        let (runs, blocks) = (self.agenda.count() as u64, u64::from(study.blocks));
        // The runs of a block differ; blocks do not.
        let progress = Progress::rounds(runs, runs / blocks.max(1), &study.title);
        let progress = if known.is_some() { progress.announced() } else { progress };
        let console = Console::with_progress(ui, progress);
        let (control, refuses) = (console.control(), |run: &_| short::too_short(study, run));
        let made =
            carry_out(study, &self.agenda, stage.as_mut(), &mut self.out, &control, &refuses);
        drop(console);
        let how = if study.is_matrix_alone() { "the same command" } else { "--resume" };
        let progressed = made.map_err(|failure| match self.out.done.len() {
            0 => failure,
            1 => failure.hint(format!("the finished run is kept: continue with {how}")),
            runs => failure.hint(format!("the {runs} finished runs are kept: continue with {how}")),
        })?;
        if let Progressed::Useless(refusal) = progressed {
            return Err(refusal);
        }
        let (folder, runs) = self.out.into_runs();
        let frame = Frame {
            settings: stage.settings(),
            risks: stage.risks(&runs),
            notes: stage.notes(&runs),
            reproduce: command(&words(study, &self.asked, stage.size())),
        };
        let header = header(study, stage.target(), self.plan, &self.asked);
        // Ctrl-C ends a conclusion at once: no guest or server may be left by then.
        drop(stage);
        let reading = interrupt::reading();
        let kept = KeptStudy::new(self.text, header, frame, runs);
        drop(reading);
        conclude::conclude(study, &kept, &progressed, (&folder, self.keep), ui)
    }
}

/// The folder that the command names, or the next of the study's name.
fn folder(arguments: &StudyArgs, name: &str, ui: Ui) -> PathBuf {
    if let Some(out) = &arguments.out {
        return out.clone();
    }
    let folder = fresh(&by_name(name));
    let latest = last(&by_name(name));
    if folder != latest {
        let (last, folder) = (latest.display(), folder.display());
        ui.note(&format!(
            "`{last}` contains a finished study; results of this one go to `{folder}`"
        ));
    }
    folder
}

fn by_name(name: &str) -> PathBuf {
    Path::new("drivelab-results").join(stem(name))
}

/// Each arm's own targets from the root on, and an empty one for an arm without; nothing where no
/// arm has any.
fn paths(study: &StudyFile) -> Vec<String> {
    if study.arms.iter().all(|arm| arm.targets.is_empty()) {
        return Vec::new();
    }
    let paths = study.arms.iter().flat_map(|arm| match &arm.targets[..] {
        [] => vec![String::new()],
        targets => targets.iter().map(|target| from_root(target)).collect(),
    });
    paths.collect()
}

/// A target as an absolute path; as typed if that is no text.
fn from_root(target: &str) -> String {
    let path = std::path::absolute(target).ok();
    path.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| target.to_owned())
}

/// The stage of the study: from the command line, else its file, else its targets.
fn stage_of(arguments: &StudyArgs, study: &StudyFile) -> Result<StageName, Refusal> {
    if let Some(stage) = arguments.stage.or(study.is_stage_named.then_some(study.stage)) {
        return Ok(stage);
    }
    let has_drive = study.drive.is_some() || study.arms.iter().any(|arm| arm.drive.is_some());
    let has_target = study.arms.iter().any(|arm| !arm.targets.is_empty());
    match (arguments.target.is_some(), has_target, has_drive) {
        (false, true, true) => Err(Refusal::request(
            "this study names both modelled drives and targets, so its stage is ambiguous",
        )
        .hint("add --stage simulate or --stage hardware, or `stage = \"NAME\"` in the file")),
        (false, false, false) if study.is_of_commands() => Ok(StageName::Hardware),
        (false, false, _) => Ok(StageName::Simulate),
        (true, ..) | (_, true, false) => Ok(StageName::Hardware),
    }
}

fn asked(arguments: &StudyArgs, name: &str, study: &StudyFile) -> Asked {
    let target = arguments.target.as_deref();
    // The working directory may be another one when the study is continued.
    let path = target.and_then(|target| std::path::absolute(target).ok());
    // A name that is no text cannot be kept in a text: it must be typed again.
    let text = |path: &Path| path.to_str().map(str::to_owned);
    Asked {
        study: name.to_owned(),
        commands: arguments.command.clone(),
        prepare: arguments.prepare.clone(),
        blocks: study.blocks,
        specimens: arguments.specimens,
        target: target.and_then(text),
        path: path.as_deref().and_then(text),
        paths: paths(study),
        only: arguments.only.clone(),
        drive: arguments.drive.clone(),
        size: arguments.size,
        overwrite: arguments.overwrite,
        check_determinism: arguments.check_determinism,
        scale: arguments.scale.unwrap_or_default(),
        ranks: None,
    }
}

/// The arguments that the folder was begun with, replaced by those of the command line.
fn remembered(
    arguments: &StudyArgs,
    begun: &Begun,
    study: &mut StudyFile,
    name: &str,
) -> Result<Asked, Refusal> {
    let kept = begun.header.as_ref();
    let stage = kept.map(|header| header.stage);
    let old = kept.and_then(|header| header.asked.clone());
    let only = match (&arguments.only[..], &old) {
        ([], Some(old)) => old.only.clone(),
        (only, _) => only.to_vec(),
    };
    let drive = arguments.drive.clone().or(old.as_ref().and_then(|old| old.drive.clone()));
    let check_determinism =
        arguments.check_determinism || old.as_ref().is_some_and(|old| old.check_determinism);
    let scale = arguments.scale.or(old.as_ref().map(|old| old.scale)).unwrap_or_default();
    let stage = match arguments.stage.or(stage) {
        Some(stage) => stage,
        None => stage_of(arguments, study)?,
    };
    // As many as blocks, of which the plan has a number already; or the median drive.
    let specimens = arguments.specimens.filter(|specimens| *specimens > 1);
    let of_median = old.as_ref().and_then(|old| old.specimens).filter(|old| *old == 1);
    study.choose(Choices {
        stage: Some(stage),
        blocks: arguments.blocks.or(specimens).or_else(|| begun.blocks(study)),
        specimens: arguments.specimens.or(of_median),
        seed: arguments.seed.or(kept.map(|header| header.seed)),
        only: &only,
        drive: drive.as_deref(),
        check_determinism,
        scale,
    })?;
    let new = Asked { only, drive, check_determinism, scale, ..asked(arguments, name, study) };
    let Some(old) = old else { return Ok(new) };
    // The same file may be typed in another way: the paths decide.
    let is_same = new.target.is_none() || new.path == old.path;
    let (target, path) = if is_same { (old.target, old.path) } else { (new.target, new.path) };
    Ok(Asked {
        study: old.study,
        commands: old.commands,
        prepare: old.prepare,
        blocks: new.blocks,
        specimens: new.specimens.or(old.specimens),
        target,
        path,
        paths: if old.paths.is_empty() { new.paths } else { old.paths },
        only: new.only,
        drive: new.drive,
        size: old.size.or(new.size),
        overwrite: old.overwrite || new.overwrite,
        check_determinism: new.check_determinism,
        scale: new.scale,
        ranks: old.ranks,
    })
}

fn refuse_other_size(given: Option<Bytes>, asked: &Asked, folder: &Path) -> Result<(), Refusal> {
    match (given, asked.size) {
        (Some(given), Some(size)) if given != size => {
            let message =
                format!("`{}` was started with --size {size}, not {given}", folder.display());
            Err(Refusal::request(message).hint("omit --size: --resume remembers it"))
        }
        _ => Ok(()),
    }
}

/// Runs of two scales are of different work, and are not compared.
fn refuse_other_scale(arguments: &StudyArgs, begun: &Begun) -> Result<(), Refusal> {
    let old = begun.header.as_ref().and_then(|header| header.asked.as_ref());
    match (arguments.scale, old.map(|old| old.scale)) {
        (Some(new), Some(old)) if new != old => {
            let folder = begun.folder.display();
            let message = format!("`{folder}` was started with --scale {old}, not {new}");
            Err(Refusal::request(message)
                .hint("omit --scale: --resume remembers it")
                .hint("or start a new study: --out DIR without --resume"))
        }
        _ => Ok(()),
    }
}

fn refuse_other_blocks(
    begun: &Begun,
    study: &StudyFile,
    asked: &Asked,
    arguments: &StudyArgs,
) -> Result<(), Refusal> {
    let (Some(old), new) = (begun.blocks(study), study.blocks) else { return Ok(()) };
    if old == new {
        return Ok(());
    }
    let base = arguments.out.clone().unwrap_or_else(|| by_name(&asked.study));
    let mut words = words(study, asked, asked.size);
    words.extend(["--out".into(), unused(&base).display().to_string()]);
    let message = format!("`{}` was started with {old} blocks, not {new}", begun.folder.display());
    Err(Refusal::request(message)
        .hint(
            "the number of blocks is fixed before the first result: adding blocks until an effect \
             shows up finds one by chance",
        )
        .hint(format!("start a new study: {}", command(&words))))
}

pub(super) fn header(study: &StudyFile, target: String, plan: Plan, asked: &Asked) -> Header {
    Header {
        schema: PLAN_SCHEMA.into(),
        target,
        stage: study.stage,
        seed: study.seed,
        plan,
        asked: Some(asked.clone()),
    }
}

/// The work that a study with arms set up by hand asks of the user.
fn effort(plan: &Plan, arms: usize) -> String {
    format!(
        "{} blocks of {arms} arms: the arm is switched {} times, each time by a reboot if the arm \
         needs one.",
        plan.blocks,
        plan.stays()
    )
}
