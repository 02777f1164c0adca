//! The options that name the archive, and what is said of a run there.

use std::path::PathBuf;

use clap::Args;
use drivelab_archive::{Archive, Entry};
use drivelab_core::Refusal;
use drivelab_lab::archive::{Keep, Location, NotKept};

use crate::exit::Exit;
use crate::ui::Ui;

/// The heading of these options. It is on each of them and not on the group, where it would go on
/// for the options after it.
const ARCHIVE: &str = "Archive";

/// Which archive.
#[derive(Debug, Clone, Args)]
pub(crate) struct ArchiveArgs {
    /// The archive: a file, or a database for many machines, `postgres://USER@HOST/DATABASE`
    /// [default: the one that `DRIVELAB_ARCHIVE` names, or `drivelab/runs.db` in the user's data
    /// folder].
    #[arg(long, global = true, value_name = "FILE|URL", help_heading = ARCHIVE)]
    archive: Option<PathBuf>,
}

impl ArchiveArgs {
    /// The archive that the options name.
    pub(crate) fn location(&self) -> Location {
        Location(self.archive.clone())
    }

    /// Opens it, and makes it where there is none.
    pub(crate) fn open(&self) -> Result<Archive, Refusal> {
        self.location().open()
    }

    /// Opens it to read what is kept: one that was named must be there.
    pub(crate) fn open_to_read(&self) -> Result<Archive, Refusal> {
        self.location().open_to_read()
    }
}

/// Whether a finished run is kept, where, and what is said of it.
#[derive(Debug, Clone, Args)]
pub(crate) struct KeepArgs {
    #[command(flatten)]
    archive: ArchiveArgs,
    /// Do not keep the run in the archive.
    #[arg(long, help_heading = ARCHIVE, conflicts_with = "archive")]
    no_archive: bool,
    /// A word to find the run by in the archive; repeat it for several.
    #[arg(long, help_heading = ARCHIVE, value_name = "WORD")]
    tag: Vec<String>,
    /// The commit of the thing that is tested, for the archive.
    #[arg(long, help_heading = ARCHIVE, value_name = "COMMIT")]
    commit: Option<String>,
}

impl KeepArgs {
    /// The usual archive, or none.
    pub(crate) fn usual(no_archive: bool) -> Self {
        let archive = ArchiveArgs { archive: None };
        Self { archive, no_archive, tag: Vec::new(), commit: None }
    }

    /// The archive that the options name.
    pub(crate) fn location(&self) -> Location {
        self.archive.location()
    }

    fn request(&self) -> Keep {
        Keep {
            location: self.archive.location(),
            is_off: self.no_archive,
            tags: self.tag.clone(),
            commit: self.commit.clone(),
        }
    }

    /// Refuses an archive that was asked for by name and cannot be used.
    pub(crate) fn check(&self, label: Option<&String>) -> Result<(), Refusal> {
        self.request().check(label.map(String::as_str))
    }

    /// Keeps what is finished; that it could not be kept is a failure where it was asked for by
    /// name.
    #[must_use]
    pub(crate) fn keep(&self, entries: Vec<Entry>, ui: Ui) -> Exit {
        let Err(NotKept { why, is_asked_for }) = self.request().keep(entries) else {
            return Exit::Done;
        };
        let hint = why.hints.iter().find(|hint| hint.contains(": mv "));
        // An archive that is too old stays so until it is moved.
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        let why = format!("{why:#}{hint}");
        ui.warn(&format!("the run was not archived: {why}; use --no-archive to suppress this"));
        if is_asked_for { Exit::CannotHere } else { Exit::Done }
    }
}
