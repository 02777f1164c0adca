//! The surroundings of a simulation.

use std::fmt::Debug;

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::record::RunRecord;
use drivelab_core::{Control, Invalid, Refusal};
use drivelab_model::options::{DriveSpec, Options, ProfileRef};
use drivelab_model::profile::{self, Profile};
use drivelab_study::Vocabulary;
use drivelab_study::file::{Setting, Settings, Suite};

/// The surroundings of a simulation: drives that files describe, suites, and the request to stop.
pub trait Source: Debug + Sync {
    /// Reads a DRIVE.
    ///
    /// # Errors
    /// There is no such drive, or it has no such option.
    fn spec(&self, text: &str) -> Result<DriveSpec, Refusal>;

    /// The profile of a drive.
    ///
    /// # Errors
    /// It cannot be read.
    fn profile(&self, spec: &DriveSpec) -> Result<Profile, Refusal>;

    /// Runs a suite on a drive of this profile.
    ///
    /// # Errors
    /// It cannot be run on a model, or not here.
    fn suite(
        &self,
        suite: &Suite,
        spec: &DriveSpec,
        profile: &Profile,
        seed: u64,
    ) -> Result<RunRecord, Refusal>;

    /// The control of runs, which report nothing.
    fn control(&self) -> Control<'static>;
}

/// The drives that come with the program, where there are no files.
#[derive(Debug)]
pub struct Embedded;

const LIST: &str = "`drivelab drive list` shows the drives and their options";

impl Source for Embedded {
    fn spec(&self, text: &str) -> Result<DriveSpec, Refusal> {
        let spec: DriveSpec =
            text.parse().map_err(|error| Refusal::request_error(error).hint(LIST))?;
        match &spec.profile {
            ProfileRef::Embedded(_) => Ok(spec),
            ProfileRef::File(name) => {
                let message = format!("`{name}` is a file, and only included drives are available");
                Err(Refusal::request(message).hint(LIST))
            }
        }
    }

    fn profile(&self, spec: &DriveSpec) -> Result<Profile, Refusal> {
        let name = spec.profile.to_string();
        let text = profile::text(&name)
            .ok_or_else(|| Refusal::request(format!("there is no drive `{name}`")).hint(LIST))?;
        let profile =
            Profile::parse(&name, text, &|_: &str| None).map_err(Refusal::request_error)?;
        crate::model::specimen(profile, spec)
    }

    fn suite(
        &self,
        suite: &Suite,
        _spec: &DriveSpec,
        _profile: &Profile,
        _seed: u64,
    ) -> Result<RunRecord, Refusal> {
        Err(without_suites(&suite.name))
    }

    fn control(&self) -> Control<'static> {
        Control::unattended()
    }
}

fn without_suites(name: &str) -> Refusal {
    Refusal::request(format!("suite `{name}` is not available without a file system"))
        .hint("run the study on the command line: drivelab study FILE")
}

/// The settings that a modelled drive can have in a study.
#[derive(Debug)]
pub struct ModelKeys;

impl ModelKeys {
    /// An option by itself: stages lay such options over one another.
    pub fn setting(key: &'static str, value: &str) -> Result<Setting, Invalid> {
        let mut options = Options::default();
        options.set(key, value).map_err(Invalid::new)?;
        let (_, text) = options.entries().pop().expect("one key was set");
        Ok(Setting::new(key, text, options))
    }
}

impl Vocabulary for ModelKeys {
    fn keys(&self) -> Vec<&'static str> {
        // A study seeds its runs and draws its drives itself.
        let own = ["seed", "specimen"];
        Options::KEYS.into_iter().filter(|key| !own.contains(key)).collect()
    }

    fn read(&self, key: &'static str, value: &str) -> Result<Setting, Invalid> {
        Self::setting(key, value)
    }

    fn suite(&self, name: &str, section: &mut Section) -> Result<Suite, ConfigError> {
        Err(section.error(without_suites(name).to_string()))
    }

    fn formats(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// Settings as the model takes them: without those of a guest.
pub fn options(settings: &Settings) -> Options {
    let of_drive = settings.iter().filter_map(Setting::typed::<Options>);
    of_drive.fold(Options::default(), |all, one| all.overlaid_with(one))
}
