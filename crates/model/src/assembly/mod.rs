//! From a profile and options to a drive that runs.

mod attach;
mod error;
mod shelf;
mod single;
mod tier;

pub use attach::SCSI_NR_REQUESTS;
pub use error::BuildError;

use crate::drive::Drive;
use crate::elevator::Scheduler;
use crate::options::Options;
use crate::profile::Profile;
use attach::HostSide;

/// Builds the drive that `profile` describes, attached as `options` say; `seed` governs what is
/// random in it, unless the options name one.
///
/// # Errors
/// Options that this drive cannot have.
pub fn build(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, BuildError> {
    if let Some(tier) = options.tier {
        return tier::put(profile, tier, options, seed);
    }
    if let Some(key) = options.of_tier() {
        return Err(BuildError::NoTier(key));
    }
    if options.is_of_one() {
        single::one(profile, options, seed)
    } else {
        shelf::put(profile, options, seed)
    }
}

/// Builds the drive for a host that is real: without an elevator, and for a single drive without
/// the time that its controller's registers take, which whoever has them adds.
///
/// # Errors
/// Options that this drive cannot have.
pub fn build_bare(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, BuildError> {
    let options = Options { scheduler: Some(Scheduler::None), ..*options };
    if options.tier.is_none() && options.of_tier().is_none() && options.is_of_one() {
        single::on_host(profile, &options, seed, HostSide::Real)
    } else {
        build(profile, &options, seed)
    }
}
