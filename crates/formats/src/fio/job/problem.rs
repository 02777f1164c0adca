//! An error in a line of a job file, or in a word of a command line.

use std::rc::Rc;

use drivelab_core::Refusal;
use drivelab_core::config::ConfigError;

/// A position: the file and the line in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At {
    pub(super) file: Rc<str>,
    pub(super) line: usize,
}

/// A refusal and the line that it is about.
#[derive(Debug)]
pub(super) struct Problem {
    at: At,
    refusal: Refusal,
}

impl At {
    /// Another line of the same file.
    pub(super) fn on(&self, line: usize) -> Self {
        debug_assert!(line > 0, "lines count from 1");
        Self { line, ..self.clone() }
    }

    /// The refusal as one of this line.
    pub(super) fn problem(&self, refusal: Refusal) -> Problem {
        Problem { at: self.clone(), refusal }
    }
}

impl Problem {
    /// True if it says the same of another line: an option of `[global]` is wrong in each section.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        self.refusal.message == other.refusal.message && self.refusal.hints == other.refusal.hints
    }
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        let Refusal { message, hints, .. } = problem.refusal;
        let At { file, line } = problem.at;
        let hint = hints.into_iter().next();
        Self { file: file.as_ref().to_owned(), line, column: 1, message, hint }
    }
}
