//! An error in a line of a job file.

use drivelab_core::Refusal;
use drivelab_core::config::ConfigError;

/// A refusal and the line that it is about.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) line: usize,
    pub(super) refusal: Refusal,
}

impl Problem {
    /// Adds the line to a refusal.
    pub(super) fn at(line: usize) -> impl Fn(Refusal) -> Self {
        move |refusal| Self { line, refusal }
    }

    /// The error as one of `file`.
    pub(super) fn of(self, file: &str) -> ConfigError {
        let Refusal { message, hints, .. } = self.refusal;
        let hint = hints.into_iter().next();
        ConfigError { file: file.to_owned(), line: self.line, column: 1, message, hint }
    }
}
