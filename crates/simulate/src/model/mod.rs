//! A modelled drive: how it is built, what is set about it, and a load on it.

mod drive;
mod settings;

pub use drive::{ModelledDrive, simulate};
pub use settings::settings;

use drivelab_core::Refusal;
use drivelab_load::LoadError;
use drivelab_model::options::{DriveSpec, Options};
use drivelab_model::profile::Profile;
use drivelab_model::{About, Drive};

/// A load that a modelled drive cannot be given.
pub fn not_made(error: LoadError) -> Refusal {
    match &error {
        LoadError::Workload(wrong) => {
            let hint = wrong.hint();
            Refusal::request_error(error).hint(hint)
        }
        LoadError::Target(_) => Refusal::request_error(error),
    }
}

/// Builds a drive and everything between it and the host.
pub fn build(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, Refusal> {
    drivelab_model::build(profile, options, seed).map_err(Refusal::request_error)
}

/// Describes a drive behind a host whose elevator may be any of a real kernel's.
pub fn describe(profile: &Profile, options: &Options, seed: u64) -> Result<About, Refusal> {
    drivelab_model::describe(profile, options, seed).map_err(Refusal::request_error)
}

/// Builds a drive for a host that is not modelled.
pub fn build_bare(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, Refusal> {
    drivelab_model::build_bare(profile, options, seed).map_err(Refusal::request_error)
}

/// The profile itself, which is the median drive, or the specimen that the options ask for.
pub fn specimen(profile: Profile, spec: &DriveSpec) -> Result<Profile, Refusal> {
    let Some(number) = spec.options.specimen else { return Ok(profile) };
    if profile.unknowns().is_empty() {
        let message = format!("{}: every number is known, so it has no specimens", spec.profile);
        return Err(Refusal::request(message).hint("omit `specimen`"));
    }
    Ok(profile.drawn(number, spec.options.seed.unwrap_or(SPECIMENS_SEED)))
}

/// Draws specimens where no seed is given: which drive is modelled must not depend on the seed of a
/// run, which decides its addresses.
const SPECIMENS_SEED: u64 = 1;
