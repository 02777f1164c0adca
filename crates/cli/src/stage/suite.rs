//! Suites by name: which there are, what each declares, and how each is run.

use std::path::Path;

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::record::RunRecord;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_study::file::Suite;

use crate::failure::Failure;

/// Whether a suite that writes may destroy what a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overwrite {
    /// Whatever it holds.
    Yes,
    /// Only what drivelab wrote there.
    OursOnly,
}

/// The suite called `name` with the options that it takes out of `section`.
pub(crate) fn declared(name: &str, section: &mut Section) -> Result<Suite, ConfigError> {
    Err(section.error(format!("there is no suite `{name}`")))
}

/// Runs a suite on a modelled drive that nothing was asked of before.
pub(crate) fn on_model(
    suite: &Suite,
    _spec: &DriveSpec,
    _profile: &Profile,
    _seed: u64,
) -> Result<RunRecord, Failure> {
    Err(Failure::bad_words(format!("there is no suite `{}`", suite.name)))
}

/// Runs a suite on a file, a device or a directory.
pub(crate) fn on_path(
    suite: &Suite,
    _path: &Path,
    _seed: u64,
    _overwrite: Overwrite,
) -> Result<RunRecord, Failure> {
    Err(Failure::bad_words(format!("there is no suite `{}`", suite.name)))
}
