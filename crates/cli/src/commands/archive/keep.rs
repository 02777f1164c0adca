//! The archive of this user: where it is, and how what is finished gets into it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use drivelab_archive::{Archive, ArchiveError, Entry, Patience, Query, RunId, is_server};
use drivelab_core::record::Origin;
use drivelab_files::Folder;

use crate::exit::Exit;
pub(crate) use crate::output::{millis, now_ms};
use crate::ui::Ui;
use drivelab_core::{AtPath as _, Refusal, RefusalKind};
use drivelab_lab::interrupt;

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
    /// Opens it, and makes it where there is none.
    pub(crate) fn open(&self) -> Result<Archive, Refusal> {
        self.open_with(patience)
    }

    /// The same where many machines write at the same moment and no person waits.
    pub(crate) fn open_patiently(&self) -> Result<Archive, Refusal> {
        self.open_with(long_patience)
    }

    fn open_with(&self, patience: Patience) -> Result<Archive, Refusal> {
        let path = self.path()?;
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty() && !is_server(&path));
        if let Some(folder) = folder {
            make_folder(folder).at_path("create", folder)?;
        }
        Archive::open(&path, patience).map_err(said_of)
    }

    /// Opens it to read what is kept: one that was named must be there.
    pub(crate) fn open_to_read(&self) -> Result<Archive, Refusal> {
        self.archive.as_deref().map_or(Ok(()), must_exist)?;
        let mut archive = self.open()?;
        archive.stop_when(Arc::new(interrupt::requested))?;
        Ok(archive)
    }

    fn path(&self) -> Result<PathBuf, Refusal> {
        self.archive.clone().or_else(default_path).ok_or_else(|| {
            Refusal::machine("this user has no home folder")
                .hint("name the archive: --archive FILE")
        })
    }
}

/// Makes the folder of an archive; one that exists may be behind any link, as the user named it.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    match Folder::open(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Folder::make(folder).map(drop),
        opened => opened.map(drop),
    }
}

/// Refuses the name of a file that is not there; a server says so itself.
pub(crate) fn must_exist(archive: &Path) -> Result<(), Refusal> {
    if archive.exists() || is_server(archive) {
        return Ok(());
    }
    Err(Refusal::request(format!("`{}` does not exist", archive.display()))
        .hint("check the file name"))
}

/// The kept runs that were typed: `label:NAME`, `@WHEN[,key=value...]`, or the beginning of an id.
pub(crate) fn ids(archive: &Archive, typed: &str) -> Result<Vec<RunId>, Refusal> {
    match Query::read(typed, now_ms()).map_err(Refusal::request)? {
        Some(query) => Ok(query.ids(archive, typed)?),
        None => Ok(vec![archive.find(typed)?]),
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
    /// Opens the archive before what is to be kept is made, where it was asked for by name: hours
    /// of a load are not begun for an archive that cannot be used.
    pub(crate) fn check(&self, label: Option<&String>) -> Result<(), Refusal> {
        if !self.is_asked_for(label) {
            return Ok(());
        }
        let opened = self.archive.open().and_then(|mut archive| Ok(archive.check_writable()?));
        opened.map_err(|failure| {
            let context = "the run would not be archived, and was not started";
            failure
                .context(context)
                .with_kind(RefusalKind::Machine)
                .hint("or run without keeping it: --no-archive")
        })
    }

    /// True if an option is for the archive alone, or names the run to find it by.
    fn is_asked_for(&self, label: Option<&String>) -> bool {
        let is_named = self.archive.archive.is_some() || label.is_some();
        !self.no_archive && (is_named || !self.tag.is_empty() || self.commit.is_some())
    }

    /// Keeps what is finished: a run, or a whole and behind it its parts. Its figures are printed
    /// in any case; that it could not be kept is a failure where it was asked for by name.
    #[must_use]
    pub(crate) fn keep(&self, entries: Vec<Entry>, ui: Ui) -> Exit {
        if self.no_archive {
            return Exit::Done;
        }
        let label = entries.first().and_then(|entry| entry.label.clone());
        // Parts are found through their whole, which alone is tagged.
        let entries = entries.into_iter().map(|entry| match entry.position {
            Some(_) => entry,
            None => Entry { tags: self.tag.clone(), commit: self.commit.clone(), ..entry },
        });
        let entries: Vec<Entry> = entries.collect();
        let _whole = interrupt::shield();
        let kept = self.archive.open().and_then(|mut archive| {
            // A study that is shown again with --resume is there already.
            let origin = entries.first().map(|entry| entry.origin);
            match origin {
                Some(Origin::Study | Origin::Matrix) => archive.keep_new(&entries).map(drop),
                _ => archive.keep(&entries),
            }
            .map_err(said_of)
        });
        let Err(failure) = kept else { return Exit::Done };
        let why = format!("{failure:#}");
        ui.warn(&format!("the run was not archived: {why}; use --no-archive to suppress this"));
        if self.is_asked_for(label.as_ref()) { Exit::CannotHere } else { Exit::Done }
    }
}

/// An archive that is busy when the user stops waiting is interrupted, not out of reach.
fn said_of(error: ArchiveError) -> Refusal {
    if matches!(error, ArchiveError::Busy) && interrupt::requested() {
        return Refusal::interrupted(
            "interrupted while another process was writing to the archive",
        );
    }
    error.into()
}

/// Waits for another process that writes to the archive, or for its server.
fn patience(tries: i32) -> bool {
    std::thread::sleep(TRY);
    tries < tries_max(interrupt::requested())
}

/// The wait between two tries of a busy archive.
const TRY: Duration = Duration::from_millis(10);

/// Ten seconds are beyond any commit. After Ctrl-C one second, counted from the beginning, is left
/// for the commit of another, so that the verb ends within the two that are promised.
const fn tries_max(interrupted: bool) -> i32 {
    if interrupted { 100 } else { 1000 }
}

/// Waits up to three minutes, and ever longer: a server that is out of connections is not helped by
/// hundreds that knock again every 10 ms. The share of each process keeps them apart.
fn long_patience(tries: i32) -> bool {
    let own = std::process::id().wrapping_mul(tries.unsigned_abs().wrapping_add(1));
    std::thread::sleep(long_wait(tries, own));
    tries < if interrupt::requested() { 1 } else { LONG_TRIES }
}

/// With [`long_wait`] three minutes.
const LONG_TRIES: i32 = 150;

/// 10 ms, doubled with each try up to 1.28 s, and up to as much less by `own`.
fn long_wait(tries: i32, own: u32) -> Duration {
    let most = TRY * (1 << tries.clamp(0, 7));
    // Knuth's multiplicative hash: neighbouring process ids give distant parts.
    let part = own.wrapping_mul(2_654_435_761) >> 16;
    most.mul_f64(1.0 - f64::from(part) / f64::from(1 << 17))
}

/// Not an option's default: `--no-archive` excludes the option alone.
fn default_path() -> Option<PathBuf> {
    let named = std::env::var_os("DRIVELAB_ARCHIVE").filter(|path| !path.is_empty());
    if let Some(path) = named {
        return Some(path.into());
    }
    Some(drivelab_lab::paths::user_folder("XDG_DATA_HOME", ".local/share")?.join("runs.db"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_that_wait_for_a_server_wait_ever_longer_and_not_together() {
        let waits = |own| (0..LONG_TRIES).map(move |tries| long_wait(tries, own));
        for own in [1, 2, 40_000] {
            let all: Duration = waits(own).sum();
            assert!((90..200).contains(&all.as_secs()), "{own}: {all:?}");
            assert!(waits(own).all(|wait| wait >= TRY / 2 && wait <= TRY * 128));
        }
        let first: std::collections::BTreeSet<Duration> =
            (1000..1100).map(|own| long_wait(7, own)).collect();
        assert!(first.len() > 90, "{}", first.len());
    }

    #[test]
    fn ctrl_c_leaves_a_busy_archive_one_second() {
        assert_eq!(TRY * tries_max(true).unsigned_abs(), Duration::from_secs(1));
        assert_eq!(TRY * tries_max(false).unsigned_abs(), Duration::from_secs(10));
    }
}
