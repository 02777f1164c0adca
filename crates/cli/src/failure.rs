//! How a command ends: the table of exit codes, and errors with hints.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use drivelab_core::config::ConfigError;
use drivelab_core::workload::WorkloadError;
use drivelab_core::{Refusal, RefusalKind};
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
    /// Some of many hosts were lost; what the others gave is kept.
    HostsLost = 5,
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

    /// This one, or `other` where all went well.
    pub(crate) fn or(self, other: Self) -> Self {
        if self == Self::Done { other } else { self }
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
        let mut error: anyhow::Error = error.into();
        // What a refusal itself says to do about it comes first.
        let refusal = error.downcast_mut::<Refusal>();
        let hints = refusal.map_or_else(Vec::new, |it| std::mem::take(&mut it.hints));
        Self { exit: Exit::BadRequest, error, hints }
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

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        let hint = error.hint();
        Self::bad_request(error).hint(hint)
    }
}

impl From<Refusal> for Failure {
    fn from(mut refusal: Refusal) -> Self {
        let exit = match refusal.kind {
            RefusalKind::Request => Exit::BadRequest,
            RefusalKind::Machine => Exit::CannotHere,
            RefusalKind::Bug => Exit::Bug,
        };
        let hints = std::mem::take(&mut refusal.hints);
        Self { exit, error: refusal.into(), hints }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
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
        self.map_err(|error| Refusal::at_path(what, path, error).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_refusal_says_to_do_is_never_lost() {
        let refusal = || Refusal::request("it cannot be").hint("do this");
        for failure in [Failure::from(refusal()), Failure::bad_request(refusal())] {
            assert_eq!(
                (failure.exit, failure.to_string().as_str()),
                (Exit::BadRequest, "it cannot be")
            );
            assert_eq!(failure.hint("or that").hints, ["do this", "or that"]);
        }
    }
}
