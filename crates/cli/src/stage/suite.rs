//! Suites by name: which there are, what each declares, and how each is run.

use std::path::Path;

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::record::RunRecord;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_study::file::{Needs, Suite};
use drivelab_suites::SUITES;

use crate::failure::Failure;
use crate::measure;

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
    let about = SUITES.iter().find(|about| about.name == name);
    let mut options = Vec::new();
    for option in about.into_iter().flat_map(|about| about.options) {
        let value: Option<String> = section.take(option.key)?;
        options.extend(value.map(|value| (option.key.to_owned(), value)));
    }
    let suite = drivelab_suites::Suite::new(name, &options).map_err(|wrong| section.error(wrong))?;
    options.sort();
    let metrics = suite.metrics();
    Ok(Suite {
        name: name.to_owned(),
        options,
        summary: suite.summary().to_owned(),
        headline: metrics[0].clone(),
        metrics,
        needs: Needs::Tree,
        writes: true,
        time: None,
    })
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
    path: &Path,
    seed: u64,
    _overwrite: Overwrite,
) -> Result<RunRecord, Failure> {
    let made = drivelab_suites::Suite::new(&suite.name, &suite.options);
    let made = made.map_err(Failure::bad_words)?;
    measure::suite(&made, path, seed, &|_| ())
}
