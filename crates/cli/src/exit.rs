//! The table of exit codes.

use std::io::ErrorKind;
use std::process::ExitCode;

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
    /// Each with its meaning: the table of the help; `docs/reference/exit-codes.md` begins its rows
    /// with the same words.
    pub(crate) const ALL: [(Self, &'static str); 8] = [
        (Self::Done, "done, and no regression"),
        (Self::No, "the answer is no"),
        (Self::BadRequest, "a bad request"),
        (Self::CannotHere, "this machine cannot do it"),
        (Self::Inconclusive, "inconclusive"),
        (Self::HostsLost, "some of many hosts were lost"),
        (Self::Bug, "a bug in drivelab"),
        (Self::Interrupted, "interrupted; partial results are kept"),
    ];

    /// The exit code of a comparison, for a script that gates on it.
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

    /// Ends well if the reader of the output went away (`drivelab ... | head`).
    pub(crate) fn unless_pipe_closed(refusal: Refusal) -> Outcome {
        if refusal.io_kind() == Some(ErrorKind::BrokenPipe) { Ok(Self::Done) } else { Err(refusal) }
    }
}

impl From<&Refusal> for Exit {
    fn from(refusal: &Refusal) -> Self {
        match refusal.kind {
            RefusalKind::Request => Self::BadRequest,
            RefusalKind::Machine => Self::CannotHere,
            RefusalKind::Bug => Self::Bug,
            RefusalKind::Interrupted => Self::Interrupted,
        }
    }
}

/// The end of a command: an exit code or an error.
pub(crate) type Outcome = Result<Exit, Refusal>;
