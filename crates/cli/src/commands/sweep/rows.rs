//! The folder of the rows of a sweep.

use std::path::{Path, PathBuf};

use clap::Args;

/// The option that says so.
#[derive(Debug, Args)]
pub(crate) struct RowsArgs {
    /// The folder of the rows [default: beside the file, with the ending `.sweep`].
    #[arg(long, value_name = "DIR")]
    rows: Option<PathBuf>,
}

impl RowsArgs {
    /// The folder of the rows of a file.
    pub(crate) fn folder(&self, file: &Path) -> PathBuf {
        self.rows.clone().unwrap_or_else(|| file.with_extension("sweep"))
    }
}
