//! `history`, `label`, `delete` and `archive`: the runs that were kept.

pub(crate) mod delete;
pub(crate) mod history;
pub(crate) mod keep;
pub(crate) mod label;
mod since;

use drivelab_report::text::json_text;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use drivelab_core::record::Origin;
use drivelab_report::run;

use self::keep::ArchiveArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::input;
use crate::ui::Ui;

/// Check, merge or fill the archive of runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab archive check                      read everything back
  drivelab archive merge /backup/runs.db      take over the runs of another archive
  drivelab archive import run.json            keep a run that was written to a file")]
pub(crate) struct ArchiveVerbArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    archive: ArchiveArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Read everything back; exit code 1 where something is damaged.
    Check,
    /// Take over the runs of another archive.
    Merge {
        /// The other archive.
        file: PathBuf,
    },
    /// Keep runs that were written to files.
    Import {
        /// Files of `run --json`.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

/// Carries it out.
pub(crate) fn run(arguments: &ArchiveVerbArgs, ui: Ui) -> Outcome {
    match &arguments.verb {
        Verb::Check => check(arguments, ui),
        Verb::Merge { file } => merge(file, arguments, ui),
        Verb::Import { files } => import(files, arguments, ui),
    }
}

fn check(arguments: &ArchiveVerbArgs, ui: Ui) -> Outcome {
    let archive = arguments.archive.open()?;
    let found = archive.check()?;
    if ui.json {
        ui.result(&json_text(&serde_json::json!({
            "schema": "drivelab.archive/1",
            "archive": archive.path(),
            "whole": found.whole,
            "damage": found.damage,
        })))?;
    } else {
        let path = archive.path().display();
        ui.result(&format!("{path}: {} runs read back whole\n", found.whole))?;
        for damage in &found.damage {
            ui.result(&format!("damaged: {damage}\n"))?;
        }
    }
    Ok(if found.damage.is_empty() { Exit::Done } else { Exit::No })
}

fn merge(file: &Path, arguments: &ArchiveVerbArgs, ui: Ui) -> Outcome {
    if !file.exists() {
        return Err(Failure::bad_words(format!("`{}` does not exist", file.display()))
            .hint("check the file name"));
    }
    let merged = arguments.archive.open()?.merge(file)?;
    if ui.json {
        return ui.result(&json_text(&serde_json::json!({
            "schema": "drivelab.archive/1",
            "added": merged.added,
            "present": merged.present,
        })));
    }
    ui.result(&format!("{} runs added, {} were present\n", merged.added, merged.present))
}

fn import(files: &[PathBuf], arguments: &ArchiveVerbArgs, ui: Ui) -> Outcome {
    let mut entries = Vec::new();
    for file in files {
        for record in records(file)? {
            entries.push(keep::entry(record, Origin::Import));
        }
    }
    arguments.archive.open()?.keep(&entries)?;
    if ui.json {
        let ids: Vec<String> = entries.iter().map(|entry| entry.id.to_string()).collect();
        return ui.result(&json_text(&serde_json::json!({
            "schema": "drivelab.archive/1",
            "added": ids.len(),
            "ids": ids,
        })));
    }
    ui.result(&format!("{} runs added\n", entries.len()))
}

/// The runs of a file.
fn records(path: &Path) -> Result<Vec<drivelab_core::record::RunRecord>, Failure> {
    let text = input::lossy(path, input::RESULTS)?;
    run::parse(&text).map_err(|error| {
        Failure::bad_words(format!("{}: {}", path.display(), error.what)).hint(error.hint)
    })
}
