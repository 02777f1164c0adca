//! Hints for errors of the archive.

use std::path::Path;

use drivelab_core::Refusal;

use crate::error::ArchiveError;
use crate::store::is_server;

impl From<ArchiveError> for Refusal {
    fn from(error: ArchiveError) -> Self {
        match &error {
            ArchiveError::NoSuchRun(_) => {
                Self::request_error(error).hint("list the runs: drivelab history")
            }
            ArchiveError::Ambiguous { first, .. } => {
                let hint = format!("give more of the id of one of them: {}", first.join("; "));
                Self::request_error(error).hint(hint)
            }
            ArchiveError::TooShort { least, .. } => {
                let hint = format!("give at least {least} of them: drivelab history lists the ids");
                Self::request_error(error).hint(hint)
            }
            ArchiveError::IsPart { whole, .. } => {
                let hint = format!("delete all of it: drivelab delete {whole}");
                Self::request_error(error).hint(hint)
            }
            ArchiveError::Stopped | ArchiveError::Interrupted => Self::interrupted(error),
            ArchiveError::Later { .. } => Self::machine_error(error)
                .hint("install that version, or name another archive: --archive FILE"),
            ArchiveError::Unreleased { path } => {
                let remedy = aside(path);
                Self::machine_error(error).hint(remedy).hint(
                    "to take its runs over, print them with that version first and import the \
                     files: drivelab show RUN --json > run.json; drivelab archive import run.json",
                )
            }
            ArchiveError::Busy => Self::machine_error(error)
                .hint("repeat the command when that process has finished")
                .hint("or name another archive: --archive FILE"),
            ArchiveError::NoServers => Self::machine_error(error).hint(
                "build it with: cargo install --path crates/cli --features postgres; or name a \
                 file: --archive FILE",
            ),
            ArchiveError::Unsafe { why, .. } => {
                let hint = why.hint();
                Self::machine_error(error).hint(hint)
            }
            ArchiveError::Address(_) => Self::request_error(error).hint(
                "write it as: postgres://USER@HOST/DATABASE?sslmode=verify-full&sslrootcert=FILE",
            ),
            ArchiveError::Certificates { .. } => Self::machine_error(error)
                .hint("name a file of certificates in PEM form: sslrootcert=FILE"),
            ArchiveError::NoArchive { path } => {
                let import = format!("drivelab archive import {}", path.display());
                Self::request_error(error)
                    .hint(format!("if it holds results, keep them in an archive: {import}"))
                    .hint("or name another: --archive FILE")
            }
            ArchiveError::Open { path, .. } if is_server(path) => Self::machine_error(error)
                .hint("check that the server runs and that `psql` opens this database")
                .hint("or name a file: --archive FILE"),
            ArchiveError::Open { .. } => Self::machine_error(error)
                .hint("check that the file can be written")
                .hint("or name another: --archive FILE"),
            ArchiveError::Damaged { .. } => {
                Self::machine_error(error).hint("see what else is damaged: drivelab archive check")
            }
            ArchiveError::NotANumber(_) | ArchiveError::TooLong { .. } => {
                Self::request_error(error)
            }
            ArchiveError::Sql(_) => Self::machine_error(error)
                .hint("check its disk, or its server: drivelab archive check"),
        }
    }
}

/// The remedy for an archive that is too old.
fn aside(path: &Path) -> String {
    if is_server(path) {
        return "name another archive: --archive FILE".to_owned();
    }
    let old = path.display();
    format!("move it away, and the next run makes a new archive: mv {old} {old}.old")
}
