//! Sessions of a study: it begins, or goes on where an earlier session stopped.

use std::path::{Path, PathBuf};

use drivelab_core::plan::{Design, Plan};
use drivelab_core::units::Bytes;

use super::conclude;
use super::{StudyArgs, read};
use crate::failure::{Failure, Outcome};
use crate::study::{
    self, Agenda, Asked, Begun, Bench, Hardware, Header, Out, PLAN_SCHEMA, Simulator, Stage,
    StudyFile,
};
use crate::ui::{Show, Ui};

/// Begins a study in a folder of its own.
pub(super) fn begin(arguments: &StudyArgs, ui: Ui) -> Outcome {
    let name = arguments.study.as_deref().unwrap_or_default();
    let text = read(name)?;
    let mut study = StudyFile::parse(name, &text)?;
    let named = study.is_stage_named.then_some(study.stage);
    let measured = arguments.target.as_ref().map(|_| Stage::Hardware);
    study.override_with(
        arguments.stage.or(named).or(measured),
        arguments.blocks,
        arguments.seed,
    )?;
    if measured.is_some() && study.stage != Stage::Hardware {
        let message = format!("a study at stage {} measures no --target", study.stage);
        return Err(Failure::bad_words(message)
            .hint("add --stage hardware to measure it, or leave --target out"));
    }
    let asked = asked(arguments, name, &study);
    let plan = plan(&study);
    if let Some(grid) = &study.grid {
        conclude::only_in_virtual_time(&study)?;
        let target = format!("drive:{}", study.drive.as_deref().unwrap_or_default());
        let header = header(&study, target, plan, &asked);
        let folder = Out::create(&folder(arguments, name, ui), &text, &header)?.into_folder();
        let command = study::command(&study::words(&study, &asked, None));
        return conclude::matrix((&study, grid), &header.plan, &folder, command, ui);
    }
    let mut bench = bench(&study, &asked, arguments.in_place.as_deref(), ui)?;
    let header = header(&study, bench.target(), plan, &asked);
    let agenda = Agenda::new(&study, &header.plan);
    let out = Out::create(&folder(arguments, name, ui), &text, &header)?;
    let session = Session { study, asked, plan: header.plan, agenda, out };
    session.go_on(bench.as_mut(), arguments.progress, ui)
}

/// Goes on with what was begun: what the command leaves out is as it was then.
pub(super) fn resume(arguments: &StudyArgs, ui: Ui) -> Outcome {
    let folder = match (&arguments.out, &arguments.study) {
        (Some(out), _) => out.clone(),
        (None, Some(name)) => study::last(&by_name(name)),
        (None, None) => {
            let message = "--resume needs the study's name, or its folder with --out";
            return Err(Failure::bad_words(message));
        }
    };
    let typed = arguments.study.as_deref().map(named).transpose()?;
    let begun = Begun::open(&folder)?;
    let (name, text, mut study) = match typed {
        Some(typed) => typed,
        None => copied(&begun)?,
    };
    let asked = remembered(arguments, &begun, &mut study, &name)?;
    let again = Asked { size: begun.size(&study, &text).or(asked.size), ..asked.clone() };
    refuse_other_size(arguments.size, &again, &folder)?;
    refuse_other_blocks(&begun, &study, &again, arguments)?;
    let mut bench = bench(&study, &again, arguments.in_place.as_deref(), ui)?;
    let header = header(&study, bench.target(), plan(&study), &asked);
    let going = begun.resume(&text, &header, ui)?;
    let plan = going.header.plan.clone();
    let agenda = Agenda::new(&study, &plan);
    let out = going.out(&agenda, ui);
    let session = Session { study, asked, plan, agenda, out };
    session.go_on(bench.as_mut(), arguments.progress, ui)
}

/// Name, text and content of a study.
type Named = (String, String, StudyFile);

fn named(name: &str) -> Result<Named, Failure> {
    let text = read(name)?;
    let study = StudyFile::parse(name, &text)?;
    if study.grid.is_some() {
        return Err(Failure::bad_words("a simulated matrix is not resumed")
            .hint("leave --resume out: it is made anew, with the same result"));
    }
    Ok((name.to_owned(), text, study))
}

/// The study that a folder was begun with.
fn copied(begun: &Begun) -> Result<Named, Failure> {
    let path = begun.folder.join("study.toml").display().to_string();
    if begun.study.is_none() {
        return Err(Failure::bad_words(format!("`{path}` is damaged"))
            .hint("name the study: drivelab study FILE --resume --out DIR"));
    }
    named(&path)
}

/// A study that is ready to run.
struct Session {
    study: StudyFile,
    asked: Asked,
    plan: Plan,
    agenda: Agenda,
    out: Out,
}

impl Session {
    fn go_on(mut self, bench: &mut dyn Bench, show: Show, ui: Ui) -> Outcome {
        let study = &self.study;
        if self.plan.design == Design::Grouped {
            ui.note(&effort(&self.plan, study.arms.len()));
        }
        let made = study::carry_out(study, &self.agenda, bench, &mut self.out, (show, ui));
        let progressed = made.map_err(|failure| match self.out.done.len() {
            0 => failure,
            1 => failure.hint("the finished run is kept: --resume goes on"),
            runs => failure.hint(format!("the {runs} finished runs are kept: --resume goes on")),
        })?;
        let (folder, runs) = self.out.into_runs();
        let command = study::command(&study::words(study, &self.asked, bench.size()));
        let experiment = study::experiment(study, &self.plan, bench, &runs, command);
        conclude::conclude(&experiment, &progressed, &folder, ui)
    }
}

/// The folder that the command names, or the next of the study's name.
fn folder(arguments: &StudyArgs, name: &str, ui: Ui) -> PathBuf {
    if let Some(out) = &arguments.out {
        return out.clone();
    }
    let folder = study::fresh(&by_name(name));
    let last = study::last(&by_name(name));
    if folder != last {
        let (last, folder) = (last.display(), folder.display());
        ui.note(&format!("`{last}` holds a finished study: this one goes to `{folder}`"));
    }
    folder
}

fn by_name(name: &str) -> PathBuf {
    Path::new("drivelab-results").join(study::stem(name))
}

fn asked(arguments: &StudyArgs, name: &str, study: &StudyFile) -> Asked {
    let target = arguments.target.as_deref();
    let path = target.and_then(|target| std::path::absolute(target).ok());
    // A name that is no text cannot be kept in a text: it must be typed again.
    let text = |path: &Path| path.to_str().map(str::to_owned);
    Asked {
        study: name.to_owned(),
        blocks: study.blocks,
        target: target.and_then(text),
        path: path.as_deref().and_then(text),
        size: arguments.size,
        overwrite: arguments.overwrite,
    }
}

/// What the folder was begun with, and what the command says instead.
fn remembered(
    arguments: &StudyArgs,
    begun: &Begun,
    study: &mut StudyFile,
    name: &str,
) -> Result<Asked, Failure> {
    let kept = begun.header.as_ref();
    let (stage, seed) = (kept.and_then(|it| Stage::named(&it.stage)), kept.map(|it| it.seed));
    let old = kept.and_then(|it| it.asked.clone());
    let blocks = arguments.blocks.or(old.as_ref().map(|old| old.blocks));
    study.override_with(arguments.stage.or(stage), blocks, arguments.seed.or(seed))?;
    let new = asked(arguments, name, study);
    let Some(old) = old else { return Ok(new) };
    let is_same = new.target.is_none() || new.path == old.path;
    let (target, path) = if is_same { (old.target, old.path) } else { (new.target, new.path) };
    Ok(Asked {
        study: old.study,
        blocks: new.blocks,
        target,
        path,
        size: old.size.or(new.size),
        overwrite: old.overwrite || new.overwrite,
    })
}

fn refuse_other_size(given: Option<Bytes>, asked: &Asked, folder: &Path) -> Result<(), Failure> {
    match (given, asked.size) {
        (Some(given), Some(size)) if given != size => {
            let message =
                format!("`{}` was begun with --size {size}, not {given}", folder.display());
            Err(Failure::bad_words(message).hint("leave --size out: --resume remembers it"))
        }
        _ => Ok(()),
    }
}

fn refuse_other_blocks(
    begun: &Begun,
    study: &StudyFile,
    asked: &Asked,
    arguments: &StudyArgs,
) -> Result<(), Failure> {
    let Some(header) = &begun.header else { return Ok(()) };
    let arms = study.arms.len().max(1);
    let old = header.asked.as_ref().map_or(header.plan.steps.len() / arms, |it| it.blocks as usize);
    let new = study.blocks;
    if old == new as usize {
        return Ok(());
    }
    let base = arguments.out.clone().unwrap_or_else(|| by_name(&asked.study));
    let mut words = study::words(study, asked, asked.size);
    words.extend(["--out".into(), study::unused(&base).display().to_string()]);
    let message = format!("`{}` was begun with {old} blocks, not {new}", begun.folder.display());
    Err(Failure::bad_words(message)
        .hint(
            "blocks are counted before looking at a result: where they are added until one shows, \
             chance shows one",
        )
        .hint(format!("a study of its own settles it: {}", study::command(&words))))
}

fn header(study: &StudyFile, target: String, plan: Plan, asked: &Asked) -> Header {
    Header {
        schema: PLAN_SCHEMA.into(),
        target,
        stage: study.stage.to_string(),
        seed: study.seed,
        plan,
        asked: Some(asked.clone()),
    }
}

fn bench(
    study: &StudyFile,
    asked: &Asked,
    in_place: Option<&str>,
    ui: Ui,
) -> Result<Box<dyn Bench>, Failure> {
    match study.stage {
        Stage::Simulate => Ok(Box::new(Simulator::new(study)?)),
        Stage::Hardware => {
            let Some(target) = asked.path.as_ref().or(asked.target.as_ref()) else {
                let message = "a study at stage hardware needs a target to measure";
                return Err(Failure::bad_words(message)
                    .hint("add --target FILE; a file that does not exist is laid out"));
            };
            refuse_model(asked.target.as_deref().unwrap_or_default())?;
            let hardware = Hardware::new(study, Path::new(target), asked.size, ui)?
                .overwriting(asked.overwrite)
                .with_arm_in_place(in_place)?;
            Ok(Box::new(hardware))
        }
        Stage::Kernel | Stage::Emulate | Stage::Vm => {
            let message = format!("this version cannot run a study at stage {}", study.stage);
            Err(Failure::cannot_here(anyhow::anyhow!(message))
                .hint("it can at: --stage simulate, --stage hardware"))
        }
    }
}

/// Refuses a modelled drive, of which a file would be made by that name.
fn refuse_model(target: &str) -> Result<(), Failure> {
    if !target.starts_with("drive:") {
        return Ok(());
    }
    let message = format!("`{target}` is a modelled drive, and stage hardware measures real files");
    Err(Failure::bad_words(message)
        .hint("run it at stage simulate, with `drive = \"NAME\"` in `[base]`")
        .hint(format!("a file of that name is `./{target}`")))
}

/// What a study with arms put in place by hand asks of the user.
fn effort(plan: &Plan, arms: usize) -> String {
    format!(
        "{} blocks of {arms} arms, each entered anew: {} times an arm is put in place, by a reboot \
         where it takes one.",
        plan.blocks,
        plan.stays()
    )
}

/// Arms that the user puts in place by hand cost a reboot each time: fewer blocks, then.
fn plan(study: &StudyFile) -> Plan {
    let by_hand = study.arms.iter().any(|arm| arm.manual.is_some());
    let grouped = by_hand && study.stage == Stage::Hardware;
    let design = if grouped { Design::Grouped } else { Design::Interleaved };
    Plan::new(design, study.arms.len(), study.blocks, study.seed)
}
