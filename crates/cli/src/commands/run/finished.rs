//! The further way of the record of a run.

use std::path::PathBuf;

use crate::commands::archive::keep::KeepArgs;

/// The name of a record, the archive that keeps it and the files that it is written to.
#[derive(Debug)]
pub(crate) struct Output {
    /// The target as it was typed.
    pub(super) target: String,
    pub(crate) label: Option<String>,
    pub(super) folder: Option<PathBuf>,
    pub(super) report: Option<PathBuf>,
    pub(crate) keep: KeepArgs,
}
