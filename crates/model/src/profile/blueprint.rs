//! A drive that another crate models.

use std::fmt::Debug;

use drivelab_core::Sectors;

use crate::drive::Drive;
use crate::error::BuildError;
use crate::options::Options;

/// What a profile must know of a drive that another crate models.
pub trait Blueprint: Debug + Send + Sync {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;

    /// Builds one drive called `model`, attached as `options` say; it takes no seed, for nothing in
    /// it is random.
    ///
    /// # Errors
    /// Options that this drive cannot have.
    fn build(&self, model: &str, options: &Options) -> Result<Drive, BuildError>;
}
