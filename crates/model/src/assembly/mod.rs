//! From a profile and options to a drive that runs.

mod attach;
mod error;
mod shelf;
mod single;

pub use attach::SCSI_NR_REQUESTS;
pub use error::BuildError;

use crate::drive::Drive;
use crate::options::Options;
use crate::profile::Profile;

/// Builds the drive that `profile` describes, attached as `options` say; `seed` governs what is
/// random in it, unless the options name one.
///
/// # Errors
/// Options that this drive cannot have.
pub fn build(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, BuildError> {
    if options.is_of_one() {
        single::one(profile, options, seed)
    } else {
        shelf::put(profile, options, seed)
    }
}
