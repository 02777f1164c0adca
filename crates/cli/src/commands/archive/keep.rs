//! The archive of this user: where it is, and how runs get into it.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use drivelab_archive::{Archive, ArchiveError, Entry, RunId};
use drivelab_core::record::{Origin, RunRecord};
use drivelab_report::run;

use crate::failure::{AtPath as _, Failure};
use crate::output;
use crate::ui::Ui;

/// Marks in the picture of a run in a list.
const SPARK_MARKS: usize = 20;

/// Which archive.
#[derive(Debug, Clone, Args)]
pub(crate) struct ArchiveArgs {
    /// The archive [default: `drivelab/runs.db` in the user's data folder].
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "DRIVELAB_ARCHIVE",
        hide_env_values = true
    )]
    archive: Option<PathBuf>,
}

impl ArchiveArgs {
    /// Opens it, and makes it where there is none.
    pub(crate) fn open(&self) -> Result<Archive, Failure> {
        let path = match &self.archive {
            Some(path) => path.clone(),
            None => default_path().ok_or_else(|| {
                Failure::cannot_here(anyhow::anyhow!("this user has no home folder"))
                    .hint("name the archive: --archive FILE")
            })?,
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).at_path("create", folder)?;
        }
        Archive::open(&path).map_err(Failure::from)
    }
}

/// Whether a finished run is kept, and where.
#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    #[command(flatten)]
    archive: ArchiveArgs,
    /// Do not keep the run in the archive.
    #[arg(long, conflicts_with = "archive")]
    no_archive: bool,
}

impl KeepArgs {
    /// Keeps a finished run. A run that cannot be kept is no failed run: its figures are printed.
    pub(crate) fn keep(&self, record: &RunRecord, ui: Ui) {
        if self.no_archive {
            return;
        }
        let origin = if record.config.suite.is_some() { Origin::Suite } else { Origin::Run };
        let entry = entry(record.clone(), origin);
        let kept = self.archive.open().and_then(|mut archive| Ok(archive.keep(&[entry])?));
        if let Err(failure) = kept {
            ui.warn(&format!(
                "the run was not archived: {failure}; use --no-archive to suppress this"
            ));
        }
    }
}

fn default_path() -> Option<PathBuf> {
    Some(output::user_folder("XDG_DATA_HOME", ".local/share")?.join("runs.db"))
}

/// A record as it is kept now.
pub(crate) fn entry(record: RunRecord, origin: Origin) -> Entry {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let spark = record.total.as_ref().map(|job| run::spark(job, SPARK_MARKS)).unwrap_or_default();
    let figures = run::metrics(&record);
    Entry {
        id: RunId::new(time_ms, chance()),
        time_ms,
        origin,
        drive: record
            .target
            .strip_prefix("drive:")
            .map(|spec| spec.split(',').next().unwrap_or_default().to_owned()),
        suite: record.config.suite.as_ref().map(|suite| suite.name.clone()),
        tested: None,
        tags: Vec::new(),
        place: None,
        spark,
        figures: figures.into_iter().filter(|figure| figure.value.is_finite()).collect(),
        record,
    }
}

/// What tells runs of one millisecond apart.
fn chance() -> u128 {
    let mut bytes = [0; 16];
    // Where the system has none, two runs of one millisecond collide and the second is refused.
    let _ = getrandom::fill(&mut bytes);
    u128::from_le_bytes(bytes)
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        match &error {
            ArchiveError::NoSuchRun(_) => {
                Self::bad_request(error).hint("list the runs: drivelab history")
            }
            ArchiveError::Ambiguous(..) => Self::bad_request(error).hint("give more of the id"),
            ArchiveError::Later { .. } => Self::cannot_here(error)
                .hint("install that version, or name another archive: --archive FILE"),
            ArchiveError::Open { .. } => Self::cannot_here(error)
                .hint("check that the file is an archive and can be written")
                .hint("or name another: --archive FILE"),
            ArchiveError::Damaged { .. } => {
                Self::cannot_here(error).hint("see what else is damaged: drivelab archive check")
            }
            ArchiveError::NotANumber(_) => Self::bad_request(error),
            ArchiveError::Sql(_) => {
                Self::cannot_here(error).hint("check the disk it is on: drivelab archive check")
            }
        }
    }
}
