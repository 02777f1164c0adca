//! Errors of reading a parameter file.

use std::rc::Rc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At {
    pub(super) file: Rc<str>,
    pub(super) line: usize,
}

impl At {
    pub(super) fn error(&self, message: impl Into<String>) -> DiskSimError {
        DiskSimError { file: self.file.to_string(), line: self.line, message: message.into() }
    }
}

/// An error in a parameter file, its position, and what was expected there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct DiskSimError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The error, and the accepted values.
    pub message: String,
}

pub(super) type DiskSimResult<T> = Result<T, DiskSimError>;
