//! How a command ends: the table of exit codes, and errors with hints.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use drivelab_core::config::ConfigError;
use drivelab_stats::{Comparison, Verdict};

/// Exit codes, a contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, and no regression.
    Done = 0,
    /// The answer is no: a regression, a broken promise.
    No = 1,
    /// The request makes no sense.
    BadRequest = 2,
    /// This machine cannot do it.
    CannotHere = 3,
    /// Nothing can be concluded yet.
    Inconclusive = 4,
    /// A bug of drivelab.
    Bug = 70,
    /// Interrupted; what was done is kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Exit {
    /// What a comparison says to a script that gates on it.
    pub(crate) fn of(comparison: &Comparison) -> Self {
        match comparison.verdict {
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Slower => Self::No,
            Verdict::Different if comparison.ratio < 1.0 => Self::No,
            Verdict::Faster | Verdict::Different | Verdict::NoPracticalDifference => Self::Done,
        }
    }

    /// A reader that went away (`drivelab ... | head`) is no failure.
    pub(crate) fn unless_pipe_closed(failure: Failure) -> Outcome {
        let closed = |cause: &(dyn std::error::Error + 'static)| {
            let error = cause.downcast_ref::<std::io::Error>();
            error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
        };
        if failure.error.chain().any(closed) { Ok(Self::Done) } else { Err(failure) }
    }
}

/// How a command ends.
pub(crate) type Outcome = Result<Exit, Failure>;

/// Why a command failed, and what to type next.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
    pub(crate) hints: Vec<String>,
}

impl Failure {
    /// The request makes no sense.
    pub(crate) fn bad_request(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::BadRequest, error: error.into(), hints: Vec::new() }
    }

    /// The request makes no sense, in words.
    pub(crate) fn bad_words(message: impl fmt::Display) -> Self {
        Self::bad_request(anyhow::anyhow!("{message}"))
    }

    /// This machine cannot do it.
    pub(crate) fn cannot_here(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::CannotHere, error: error.into(), hints: Vec::new() }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let hint = error.hint.clone();
        let failure = Self::bad_request(error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Writing results failed: a full disk, a missing folder, a closed pipe.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::cannot_here(error)
    }
}

/// Adds the path and what was being done with it to an I/O error.
pub(crate) trait AtPath<T> {
    /// `cannot <what> <path>`, with exit code 2 where the path is at fault, else 3.
    fn at_path(self, what: &str, path: &Path) -> Result<T, Failure>;
}

impl<T> AtPath<T> for std::io::Result<T> {
    fn at_path(self, what: &str, path: &Path) -> Result<T, Failure> {
        self.map_err(|error| {
            let kind = error.kind();
            let hint = path_hint(kind, what, path);
            let error =
                anyhow::Error::new(error).context(format!("cannot {what} `{}`", path.display()));
            let failure = match kind {
                ErrorKind::NotFound
                | ErrorKind::NotADirectory
                | ErrorKind::IsADirectory
                | ErrorKind::InvalidInput
                | ErrorKind::InvalidData => Failure::bad_request(error),
                ErrorKind::PermissionDenied => {
                    Failure::cannot_here(error).hint("try as another user, or with sudo")
                }
                ErrorKind::StorageFull => {
                    Failure::cannot_here(error).hint("make room, or choose another place")
                }
                _ => Failure::cannot_here(error),
            };
            match hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })
    }
}

/// What to type next where a path is at fault.
pub(crate) fn path_hint(kind: ErrorKind, what: &str, path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).display();
    match kind {
        ErrorKind::NotFound if what.starts_with("read") => {
            Some(format!("check the name: `ls {folder}` lists the files that are there"))
        }
        ErrorKind::NotFound => Some(format!("make the folder first: `mkdir -p {folder}`")),
        ErrorKind::ReadOnlyFilesystem => {
            Some("choose a place on a file system that is mounted for writing".into())
        }
        ErrorKind::IsADirectory => Some("name a file, not a folder".into()),
        ErrorKind::NotADirectory => Some(format!(
            "check the path: `ls -d {}` names the part that is a file",
            path.display()
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_at_fault_has_a_hint_that_can_be_typed() {
        let check = |kind, what, words: &str| {
            let hint = path_hint(kind, what, Path::new("none/data")).unwrap_or_default();
            assert!(hint.contains(words), "{kind}: {hint}");
        };
        check(ErrorKind::NotFound, "read the trace", "`ls none`");
        check(ErrorKind::NotFound, "write", "`mkdir -p none`");
        check(ErrorKind::IsADirectory, "write", "not a folder");
        check(ErrorKind::NotADirectory, "read", "`ls -d none/data`");
        check(ErrorKind::ReadOnlyFilesystem, "write", "mounted for writing");
    }
}
