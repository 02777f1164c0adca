//! The meaning of TARGET and DRIVE: a path, or a modelled drive.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use drivelab_core::record::{RunRecord, Specimen};
use drivelab_core::units::Bytes;
use drivelab_core::{Control, Refusal};
use drivelab_engine::RunPlan;
use drivelab_model::About;
use drivelab_model::options::{DriveSpec, Options, ProfileRef, SpecError};
use drivelab_model::profile::{self, BaseText, Profile, ProfileError};
use drivelab_serve::drive::Attributes;
use drivelab_simulate::model;
pub use drivelab_simulate::model::{ModelledDrive, build, build_bare, settings};
use drivelab_simulate::{LoadPlan, Made};
use serde::{Deserialize, Serialize};

use crate::input;
use crate::measure;

/// The prefix that makes a TARGET a modelled drive.
pub const PREFIX: &str = "drive:";

/// The target of a run. A drive that this process models has no meaning in another one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Target {
    /// A file or a block device.
    Path(PathBuf),
    /// A modelled drive in virtual time.
    #[serde(skip)]
    Drive(Box<DriveSpec>),
}

/// Reads a TARGET.
pub fn parse(text: &str) -> Result<Target, Refusal> {
    if text.starts_with(PREFIX) {
        return drive_spec(text).map(|spec| Target::Drive(Box::new(spec)));
    }
    let path = PathBuf::from(text);
    if !path.exists() && profile::text(text).is_some() {
        let message = format!("there is no file `{text}`; `{text}` is a modelled drive");
        return Err(Refusal::request(message).hint(format!("write `drive:{text}`")));
    }
    Ok(Target::Path(path))
}

/// Reads a DRIVE; the prefix `drive:` may stand.
pub fn drive_spec(text: &str) -> Result<DriveSpec, Refusal> {
    text.parse().map_err(|error: SpecError| match &error {
        SpecError::UnknownDrive { name, .. } if Path::new(name).is_dir() => {
            Refusal::request(format!("`{name}` is a folder, not a drive profile"))
                .hint(format!("name a profile in it, for example `{}/NAME.toml`", bare(name)))
                .hint(LIST)
        }
        SpecError::UnknownDrive { name, .. } if Path::new(name).exists() => {
            let message = format!(
                "the file `{name}` cannot be a drive profile: its name does not end in `.toml`, \
                 or `.parv` for DiskSim's parameters"
            );
            Refusal::request(message)
                .hint(format!("if it is a profile, rename it: `mv {name} {name}.toml`"))
                .hint(LIST)
        }
        _ => Refusal::request_error(error).hint(LIST),
    })
}

const LIST: &str = "`drivelab drive list` shows the drives and their options";

/// A folder without the slash at its end.
fn bare(folder: &str) -> &str {
    folder.trim_end_matches('/')
}

/// The text of a drive's profile file.
pub fn profile_text(spec: &DriveSpec) -> Result<String, Refusal> {
    match &spec.profile {
        ProfileRef::Embedded(name) => {
            Ok(profile::text(name).expect("the spec was checked against the names").to_owned())
        }
        ProfileRef::File(name) => input::text(Path::new(name), input::PROFILE),
    }
}

/// The profile of a drive: of the median one, or of the specimen that its options ask for.
pub fn profile(spec: &DriveSpec) -> Result<Profile, Refusal> {
    model::specimen(read_profile(spec)?, spec)
}

/// Finds and reads the profile of a drive, ours or a parameter file of `DiskSim`; its base may be
/// an embedded one, or a file in the same folder.
fn read_profile(spec: &DriveSpec) -> Result<Profile, Refusal> {
    let text = profile_text(spec)?;
    let name = spec.profile.to_string();
    let folder = Path::new(&name).parent().map(Path::to_path_buf).unwrap_or_default();
    let resolve = |base: &str| {
        let file = folder.join(base);
        let text = input::text(&file, input::PROFILE).ok()?;
        Some(BaseText { file: file.display().to_string(), text })
    };
    if drivelab_disksim::is_parameter_file(&name) {
        return drivelab_disksim::profile(&name, &text, &resolve).map_err(Refusal::request_error);
    }
    Profile::parse(&name, &text, &resolve).map_err(|error| match error {
        ProfileError::Config(error) => error.into(),
        error => match base_hint(&text).filter(|_| error.to_string().contains("is missing")) {
            Some(hint) => Refusal::request_error(error).hint(hint),
            None => Refusal::request_error(error),
        },
    })
}

/// A hint at profiles that can supply the values that a profile without a base does not state.
fn base_hint(text: &str) -> Option<String> {
    let has_base = text.lines().any(|line| line.trim_start().starts_with("base"));
    let is_flash = text.contains("\"ssd\"");
    let class = if is_flash { "generic-sata" } else { "generic-5400" };
    (!has_base)
        .then(|| format!("a line `base = \"{class}\"` takes what is not stated from that drive"))
}

/// Describes a drive behind the host of a real kernel.
pub fn describe(profile: &Profile, options: &Options, seed: u64) -> Result<About, Refusal> {
    drivelab_model::describe(profile, options, seed).map_err(Refusal::request_error)
}

/// The attributes of a drive that a host reads.
pub fn attributes(profile: &Profile, about: &About) -> Attributes {
    Attributes {
        physical_sector: profile.physical_sector,
        rotational: profile.rotates(),
        volatile_cache: about.reports_volatile_cache(),
    }
}

/// Carries plans out on a modelled drive at the same time, started together; the next ones meet
/// the state that they left.
pub fn carry_out(
    drive: &mut ModelledDrive,
    plans: &[&RunPlan],
    control: &Control<'_>,
) -> Result<Vec<Made>, Refusal> {
    plans.iter().try_for_each(|plan| {
        drivelab_engine::fits(std::slice::from_ref(*plan), Bytes::ZERO).map_err(measure::failure)
    })?;
    let plans: Vec<LoadPlan> = plans.iter().map(|plan| measure::stated(plan)).collect();
    drive.run(&plans.iter().collect::<Vec<_>>(), control)
}

/// Carries a plan out on a modelled drive that nothing was asked of before.
pub fn simulate(
    spec: &DriveSpec,
    profile: &Profile,
    plan: &RunPlan,
    control: &Control<'_>,
) -> Result<RunRecord, Refusal> {
    drivelab_engine::fits(std::slice::from_ref(plan), Bytes::ZERO).map_err(measure::failure)?;
    model::simulate(spec, profile, &measure::stated(plan), control)
}

/// The modelled drives of a job file: what one group leaves, the next one meets.
#[derive(Debug, Default)]
pub struct ModelledDrives(BTreeMap<PathBuf, ModelledDrive>);

impl ModelledDrives {
    /// The drive that `target` names, and how large it is; nothing where it names none.
    pub fn find(&mut self, target: &str, seed: u64) -> Result<Option<(PathBuf, Bytes)>, Refusal> {
        if !target.starts_with(PREFIX) {
            return Ok(None);
        }
        let spec = drive_spec(target)?;
        let name = PathBuf::from(spec.to_string());
        let drive = match self.0.entry(name.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(ModelledDrive::new(&spec, &profile(&spec)?, seed)?),
        };
        Ok(Some((name, drive.capacity())))
    }

    /// Carries plans out at the same time, each on the drive that it names; nothing where they name
    /// files and devices.
    pub fn run(
        &mut self,
        plans: &[RunPlan],
        control: &Control<'_>,
    ) -> Result<Option<Vec<Made>>, Refusal> {
        let mut made: Vec<Option<Made>> = plans.iter().map(|_| None).collect();
        for (name, drive) in &mut self.0 {
            let own = plans.iter().enumerate().filter(|(_, plan)| plan.path == *name);
            let (indices, own): (Vec<usize>, Vec<&RunPlan>) = own.unzip();
            for (index, one) in indices.into_iter().zip(carry_out(drive, &own, control)?) {
                made[index] = Some(one);
            }
        }
        if made.iter().any(Option::is_some) && made.iter().any(Option::is_none) {
            let message = "a modelled drive and a real file cannot run together: time differs";
            return Err(Refusal::request(message).hint("put `stonewall` between their sections"));
        }
        Ok(made.into_iter().collect())
    }
}

/// Says that a drive used alone is one of many, where its profile leaves numbers open.
pub fn one_drive(spec: &DriveSpec, specimen: Option<&Specimen>) -> Option<String> {
    let options = Options { specimen: None, ..spec.options };
    let all = DriveSpec { options, ..spec.clone() };
    drivelab_report::specimens::one_drive(specimen?, &all.to_string())
}
