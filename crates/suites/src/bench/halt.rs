//! Why a suite ends before its last phase.

use std::io;
use std::path::{Path, PathBuf};

use drivelab_core::Refusal;

/// Why a suite ends before its last phase.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The user asked to stop.
    Interrupted,
    /// It cannot be carried out.
    Refused(Refusal),
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The result of a part of a suite.
pub(crate) type Done<T = ()> = Result<T, Halt>;

/// Adds the file and the operation to an I/O error.
pub(crate) trait At<T> {
    /// `cannot <what> <path>`.
    fn at(self, what: &str, path: &Path) -> Done<T>;

    /// The same with a path that is put together only for the message: it would take as long as a
    /// tenth of a step that memory answers.
    fn at_path(self, what: &str, path: impl FnOnce() -> PathBuf) -> Done<T>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, what: &str, path: &Path) -> Done<T> {
        self.map_err(|error| Refusal::at_path(what, path, error.into()).into())
    }

    fn at_path(self, what: &str, path: impl FnOnce() -> PathBuf) -> Done<T> {
        self.map_err(|error| Refusal::at_path(what, &path(), error.into()).into())
    }
}
