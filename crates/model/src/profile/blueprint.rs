//! The interface to drives modelled by other crates.

use std::fmt::Debug;

use drivelab_core::Sectors;

use crate::drive::Drive;
use crate::error::BuildError;
use crate::options::Options;

/// A drive modelled by another crate.
pub trait Blueprint: Debug + Send + Sync {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;

    /// Builds one drive with the name `model`; there is no seed, since it has no randomness.
    ///
    /// # Errors
    /// Options that do not apply to this drive.
    fn build(&self, model: &str, options: &Options) -> Result<Drive, BuildError>;
}
