//! A run that is asked for.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The permissions of a run on its target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// A file's contents may be destroyed, no matter who wrote them.
    pub overwrite: bool,
    /// Block devices whose contents may be destroyed.
    pub allow_destructive: Vec<PathBuf>,
}

impl Permissions {
    /// The permissions of a study, which writes to no block device.
    pub const fn of_study(overwrite: bool) -> Self {
        Self { overwrite, allow_destructive: Vec::new() }
    }
}
