//! The stages of a study: what makes its runs.

mod cells;
mod emulate;
mod hardware;
pub(crate) mod kernel;
pub(crate) mod parallel;
pub(crate) mod program;
mod shell;
mod simulate;
pub(crate) mod suite;

pub(crate) use cells::RealCells;
pub(crate) use emulate::Emulator;
pub(crate) use hardware::Hardware;
pub(crate) use kernel::KernelStage;
pub(crate) use simulate::Simulator;

use std::path::PathBuf;

use drivelab_core::config::{ConfigError, Section};
use drivelab_model::options::Options;
use drivelab_study::file::{Settings, Suite};
use drivelab_study::{Arm, Asked, Stage, StageName, StudyFile, Vocabulary};

use self::kernel::Has;
use crate::failure::Failure;
use crate::ui::Ui;

/// The settings of modelled drives, and of the guests that stage kernel gives them.
#[derive(Debug)]
pub(crate) struct DriveKeys;

impl Vocabulary for DriveKeys {
    fn keys(&self) -> Vec<&'static str> {
        // A study seeds its runs and draws its drives itself.
        let own = ["seed", "specimen"];
        let of_drive = Options::KEYS.into_iter().filter(|key| !own.contains(key));
        of_drive.chain(Has::KEYS).collect()
    }

    fn read(&self, key: &'static str, value: &str) -> Result<String, String> {
        if Has::KEYS.contains(&key) {
            return Has::read(key, value);
        }
        let mut options = Options::default();
        options.set(key, value).map_err(|wrong| wrong.to_string())?;
        let (_, value) = options.entries().pop().expect("one key was set");
        Ok(value)
    }

    fn suite(&self, name: &str, section: &mut Section) -> Result<Suite, ConfigError> {
        suite::declared(name, section)
    }

    fn formats(&self) -> Vec<&'static str> {
        drivelab_formats::results::tools().collect()
    }
}

/// Settings as the model takes them: without those of a guest.
pub(crate) fn options(settings: &Settings) -> Options {
    let mut options = Options::default();
    for (key, value) in settings.iter().filter(|(key, _)| !Has::KEYS.contains(key)) {
        options.set(key, value).expect("the vocabulary accepted it");
    }
    options
}

/// The stage of a study, ready to enter its first arm.
pub(crate) fn of(
    study: &mut StudyFile,
    asked: &Asked,
    in_place: Option<&str>,
    ui: Ui,
) -> Result<Box<dyn Stage<Error = Failure>>, Failure> {
    if study.matrix.is_some() && study.stage != StageName::Simulate {
        let message = format!("a matrix study runs at stage simulate, not at {}", study.stage);
        return Err(Failure::cannot_here(anyhow::anyhow!(message))
            .hint("on real drives: drivelab run --matrix FILE"));
    }
    if study.stage != StageName::Kernel {
        refuse_guests(study)?;
    }
    match study.stage {
        StageName::Simulate => Ok(Box::new(Simulator::new(study)?)),
        StageName::Kernel => Ok(Box::new(KernelStage::new(study)?)),
        StageName::Hardware => {
            Ok(Box::new(hardware(study, asked, ui)?.with_arm_in_place(in_place)?))
        }
        StageName::Emulate => Ok(Box::new(Emulator::new(study)?)),
    }
}

/// The stage of a study on the files or devices that its arms or the command name.
pub(crate) fn hardware(study: &StudyFile, asked: &Asked, ui: Ui) -> Result<Hardware, Failure> {
    let hardware = Hardware::new(study, &targets(study, asked)?, asked.size, ui)?;
    Ok(hardware.overwriting(asked.overwrite))
}

/// Refuses arms that differ in what only a guest has.
fn refuse_guests(study: &StudyFile) -> Result<(), Failure> {
    let key =
        |arm: &Arm| arm.settings.iter().map(|(key, _)| *key).find(|it| Has::KEYS.contains(it));
    let Some((arm, key)) = study.arms.iter().find_map(|arm| Some((arm, key(arm)?))) else {
        return Ok(());
    };
    let message =
        format!("arm `{}` sets `{key}`, which stage {} does not have", arm.name, study.stage);
    Err(Failure::bad_words(message).hint("under a real kernel: --stage kernel"))
}

/// The target of each arm.
fn targets(study: &StudyFile, asked: &Asked) -> Result<Vec<PathBuf>, Failure> {
    let typed = asked.target.as_deref().unwrap_or_default();
    refuse_model(typed)?;
    if !typed.is_empty() && study.arms.iter().all(|arm| arm.target.is_some()) {
        let message = format!("every arm names its own target, so `{typed}` would not be measured");
        return Err(Failure::bad_words(message).hint("omit --target"));
    }
    let mut targets = Vec::new();
    for (place, arm) in study.arms.iter().enumerate() {
        let default = || asked.path.as_ref().or(asked.target.as_ref());
        let of_arm = || arm.target.as_ref().map(|target| asked.paths.get(place).unwrap_or(target));
        let Some(target) = of_arm().or_else(default) else {
            if !study.needs_target() {
                targets.push(PathBuf::new());
                continue;
            }
            let message = if study.arms.iter().any(|arm| arm.target.is_some()) {
                format!("arm `{}` has no target to measure", arm.name)
            } else {
                "a study at stage hardware needs a target to measure".to_owned()
            };
            return Err(Failure::bad_words(message)
                .hint("add --target FILE; a file that does not exist is laid out")
                .hint("or give each arm its own in the study: target = \"PATH\""));
        };
        targets.push(PathBuf::from(target));
    }
    Ok(targets)
}

/// Refuses a modelled drive, of which a file would be made by that name.
fn refuse_model(target: &str) -> Result<(), Failure> {
    if !target.starts_with("drive:") {
        return Ok(());
    }
    let message = format!("`{target}` is a modelled drive, but stage hardware measures real files");
    Err(Failure::bad_words(message)
        .hint("run it at stage simulate, with `drive = \"NAME\"` in `[base]`")
        .hint(format!("for a file of that name write `./{target}`")))
}
