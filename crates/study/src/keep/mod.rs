//! Durable state on disk: a journal of finished runs, and files that are replaced whole.

mod durable;
mod journal;
pub(crate) mod read;

pub use durable::{KeptFolder, make_folder, write};
pub use journal::{Journal, Line, Owner, Seal};

use std::io;
use std::path::Path;

use drivelab_core::Refusal;

/// Adds the path and the operation to an I/O error.
pub(crate) trait AtPath<T> {
    /// `cannot <what> <path>`.
    fn at_path(self, what: &str, path: &Path) -> Result<T, Refusal>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at_path(self, what: &str, path: &Path) -> Result<T, Refusal> {
        self.map_err(|error| Refusal::at_path(what, path, error))
    }
}
