//! The stages of a study: what makes its runs.

pub(crate) mod cell_loads;
mod cells;
mod confirm;
mod emulate;
mod files;
pub mod hardware;
pub mod kernel;
pub mod program;
mod shape;
mod shell;
pub mod suite;

pub use cells::RealCells;
pub use confirm::Confirm;
pub use drivelab_simulate::Simulator;
pub use drivelab_simulate::options;
pub use drivelab_simulate::stage::parallel;
pub use emulate::Emulator;
pub use hardware::Hardware;
pub use kernel::KernelStage;

use std::path::PathBuf;

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::{Invalid, Refusal, StageName};
use drivelab_simulate::ModelKeys;
use drivelab_study::file::{Setting, Settings, Suite};
use drivelab_study::{Arm, Asked, Stage, StudyFile, Vocabulary};

use self::files::Files;
use self::kernel::{GuestSetting, Has};

/// The settings of modelled drives, and of the guests that stage kernel gives them.
#[derive(Debug)]
pub struct DriveKeys;

impl Vocabulary for DriveKeys {
    fn keys(&self) -> Vec<&'static str> {
        ModelKeys.keys().into_iter().chain(Has::KEYS).collect()
    }

    fn read(&self, key: &'static str, value: &str) -> Result<Setting, Invalid> {
        if let Some((text, setting)) = GuestSetting::read(key, value)? {
            return Ok(Setting::new(key, text, setting));
        }
        ModelKeys::setting(key, value)
    }

    fn suite(&self, name: &str, section: &mut Section) -> Result<Suite, ConfigError> {
        suite::declared(name, section)
    }

    fn formats(&self) -> Vec<&'static str> {
        drivelab_formats::results::tools().collect()
    }
}

/// The settings of a point of a sweep, whose values its file gives as text.
///
/// # Errors
/// A value between those that the file names is not one that its key can have.
pub fn typed(settings: &[(&'static str, String)]) -> Result<Settings, Refusal> {
    let typed = settings.iter().map(|(key, value)| DriveKeys.read(key, value));
    typed.collect::<Result<_, _>>().map_err(Refusal::request)
}

/// The stage of a study, ready to enter its first arm.
pub fn of(
    study: &mut StudyFile,
    asked: &Asked,
    active: Option<&str>,
    confirm: Confirm,
) -> Result<Box<dyn Stage<Error = Refusal>>, Refusal> {
    if study.stage != StageName::Kernel {
        refuse_several_disks(study)?;
        refuse_guests(study)?;
    }
    match study.stage {
        StageName::Simulate => Ok(Box::new(Simulator::new(study, &Files)?)),
        StageName::Kernel => Ok(Box::new(KernelStage::new(study)?)),
        StageName::Hardware => {
            Ok(Box::new(hardware(study, asked, confirm)?.with_arm_in_place(active)?))
        }
        StageName::Emulate => Ok(Box::new(Emulator::new(study)?)),
    }
}

/// The stage of a study on the files or devices that its arms or the command name.
pub fn hardware(study: &StudyFile, asked: &Asked, confirm: Confirm) -> Result<Hardware, Refusal> {
    let hardware = Hardware::new(study, &targets(study, asked)?, asked.size, confirm)?;
    hardware.overwriting(asked.overwrite).tried_out()
}

/// Refuses several disks, which only a guest has.
fn refuse_several_disks(study: &StudyFile) -> Result<(), Refusal> {
    if study.disks.len() < 2 {
        return Ok(());
    }
    let message =
        format!("this study has {} disks, and stage {} has one", study.disks.len(), study.stage);
    Err(Refusal::request(message).hint("under a real kernel: --stage kernel"))
}

/// Refuses arms that differ in what only a guest has.
fn refuse_guests(study: &StudyFile) -> Result<(), Refusal> {
    let settings = study.arms.iter().flat_map(|arm| arm.settings.iter().map(move |one| (arm, one)));
    let mut of_guests = settings.filter(|(_, setting)| setting.typed::<GuestSetting>().is_some());
    let Some((arm, Setting { key, .. })) = of_guests.next() else {
        return Ok(());
    };
    let message =
        format!("arm `{}` sets `{key}`, which stage {} does not have", arm.name, study.stage);
    Err(Refusal::request(message).hint("under a real kernel: --stage kernel"))
}

/// The targets of each arm: one, or one for each drive of a matrix.
fn targets(study: &StudyFile, asked: &Asked) -> Result<Vec<Vec<PathBuf>>, Refusal> {
    let typed = asked.target.as_deref().unwrap_or_default();
    refuse_model(typed)?;
    if !typed.is_empty() && study.arms.iter().all(|arm| !arm.targets.is_empty()) {
        let message = format!("every arm names its own target, so `{typed}` would not be measured");
        return Err(Refusal::request(message).hint("omit --target"));
    }
    let drives = study.matrix.as_ref().map_or(1, |matrix| matrix.targets.len());
    let mut targets = Vec::new();
    // Kept paths are of all arms, one after the other.
    let mut kept = asked.paths.iter();
    for arm in &study.arms {
        let kept: Vec<&String> = kept.by_ref().take(arm.targets.len().max(1)).collect();
        let default = asked.path.as_ref().or(asked.target.as_ref());
        let of_arm: Vec<&String> = match (&arm.targets[..], default) {
            ([], default) => default.into_iter().collect(),
            (own, _) if kept.len() == own.len() => kept,
            (own, _) => own.iter().collect(),
        };
        if of_arm.is_empty() && study.needs_target() {
            return Err(without_target(study, arm));
        }
        if study.matrix.is_some() && of_arm.len() != drives {
            let message = format!("a matrix of {drives} drives needs as many targets");
            return Err(Refusal::request(message)
                .hint("list them in `[matrix]`, or in each arm: targets = [\"PATH\", ...]"));
        }
        let paths = of_arm.into_iter().map(PathBuf::from).collect::<Vec<_>>();
        targets.push(if paths.is_empty() { vec![PathBuf::new()] } else { paths });
    }
    Ok(targets)
}

/// An arm that has nothing to measure.
fn without_target(study: &StudyFile, arm: &Arm) -> Refusal {
    let message = if study.arms.iter().any(|arm| !arm.targets.is_empty()) {
        format!("arm `{}` has no target to measure", arm.name)
    } else {
        "a study at stage hardware needs a target to measure".to_owned()
    };
    Refusal::request(message)
        .hint("add --target FILE; a file that does not exist is laid out")
        .hint("or give each arm its own in the study: target = \"PATH\"")
}

/// Refuses a modelled drive, of which a file would be made by that name.
fn refuse_model(target: &str) -> Result<(), Refusal> {
    if !target.starts_with("drive:") {
        return Ok(());
    }
    let message = format!("`{target}` is a modelled drive, but stage hardware measures real files");
    Err(Refusal::request(message)
        .hint("run it at stage simulate, with `drive = \"NAME\"` in `[base]`")
        .hint(format!("for a file of that name write `./{target}`")))
}
