//! `history`, `label`, `delete` and `archive`: the runs that were kept.

pub(crate) mod delete;
pub(crate) mod history;
pub(crate) mod keep;
pub(crate) mod label;

use drivelab_report::text::json_text;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use drivelab_archive::{AT_ONCE, Archive, ArchiveError, Entry, Filter, Merged, RunId};
use drivelab_core::control::{Event, Observer as _};
use drivelab_core::counted;
use drivelab_core::record::Origin;

use self::keep::ArchiveArgs;
use crate::commands::study::again::{self, Again};
use crate::exit::{Exit, Outcome};
use crate::ui::{Progress, Ui};
use drivelab_core::Refusal;
use drivelab_lab::archive::{entries, millis, must_exist, now_ms};
use drivelab_lab::interrupt;
use drivelab_lab::results::{self, Content};
use drivelab_lab::stage::DriveKeys;

/// Check, merge or fill the archive of runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab archive check                      read everything back
  drivelab archive merge /backup/runs.db      take over the runs of another archive
  drivelab archive import run.json            keep a run that was written to a file
  drivelab archive import drivelab-results/*  keep studies by their results folders
  drivelab archive import bonnie.csv --label old-disk")]
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
        /// The other archive: a file, or `postgres://USER@HOST/DATABASE`.
        file: PathBuf,
    },
    /// Import runs from files; duplicates are skipped.
    Import {
        /// Files of `run --json`, results folders of studies, files of other tools.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// A name for them.
        #[arg(long)]
        label: Option<String>,
        /// The format of the files, where their text does not show it.
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
    },
}

/// Carries it out.
pub(crate) fn run(arguments: &ArchiveVerbArgs, ui: Ui) -> Outcome {
    match &arguments.verb {
        Verb::Check => check(arguments, ui),
        Verb::Merge { file } => merge(file, arguments, ui),
        Verb::Import { files, label, format } => {
            let progress = Progress::steps(files.len() as u64, "files");
            let mut entries = Vec::new();
            for (index, file) in (0..).zip(files) {
                progress.at(index, &file.display().to_string());
                entries.extend(of_file(file, label.as_ref(), format.as_deref())?);
            }
            drop(progress);
            import(&entries, label.as_ref(), arguments, ui)
        }
    }
}

/// Does what takes a while, and shows how far it is.
fn watched<T>(
    archive: &mut Archive,
    what: &str,
    work: impl FnOnce(&mut Archive) -> Result<T, ArchiveError>,
) -> Result<T, Refusal> {
    let progress = Progress::steps(0, what);
    archive.watch(move |done, of| progress.observe(Event::Steps { what: "", done, of }));
    let result = work(archive);
    // The archive outlives the progress bar.
    archive.watch(|_, _| ());
    Ok(result?)
}

fn check(arguments: &ArchiveVerbArgs, ui: Ui) -> Outcome {
    let mut archive = arguments.archive.open_to_read()?;
    let found = watched(&mut archive, "checking", |archive| {
        archive.check(&entries::read_back, &results::read_whole)
    })?;
    if ui.json {
        ui.result(&json_text(&serde_json::json!({
            "schema": "drivelab.archive/1",
            "archive": archive.path(),
            "whole": found.whole,
            "damage": found.damage,
        })))?;
    } else {
        let path = archive.path().display();
        ui.result(&format!("{path}: {} intact\n", counted(found.whole, "run")))?;
        for damage in &found.damage {
            ui.result(&format!("damaged: {damage}\n"))?;
        }
    }
    Ok(if found.damage.is_empty() { Exit::Done } else { Exit::No })
}

fn merge(file: &Path, arguments: &ArchiveVerbArgs, ui: Ui) -> Outcome {
    must_exist(file)?;
    let mut archive = arguments.archive.open()?;
    archive.stop_when(Arc::new(interrupt::requested))?;
    let merged = watched(&mut archive, "merging", |archive| {
        archive.merge(file, &entries::read_back, &results::read_whole)
    })?;
    for damage in &merged.damage {
        ui.warn(&format!("not merged: {damage}"));
    }
    if ui.json {
        ui.result(&json_text(&serde_json::json!({
            "schema": "drivelab.archive/1",
            "added": merged.added,
            "present": merged.present,
            "damage": merged.damage,
        })))?;
    } else {
        let Merged { added, present, .. } = merged;
        ui.result(&format!("added: {added}, already present: {present}\n"))?;
    }
    Ok(if merged.damage.is_empty() { Exit::Done } else { Exit::No })
}

fn import(
    entries: &[Entry],
    label: Option<&String>,
    arguments: &ArchiveVerbArgs,
    ui: Ui,
) -> Outcome {
    let mut archive = arguments.archive.open()?;
    let merged = watched(&mut archive, "keeping", |archive| archive.keep_new(entries))?;
    if let Some(label) = label.filter(|_| !merged.there.is_empty()) {
        say_unlabelled(&archive, label, &merged.there, ui)?;
    }
    if ui.json {
        // The runs of a study are reached through the study, so only its id is printed.
        let wholes = entries.iter().filter(|entry| entry.position.is_none());
        let ids = wholes.map(|entry| entry.id.to_string()).filter(|id| archive.find(id).is_ok());
        let ids: Vec<String> = ids.collect();
        return ui.result(&json_text(&serde_json::json!({
            "schema": "drivelab.archive/1",
            "added": merged.added,
            "present": merged.present,
            "ids": ids,
        })));
    }
    ui.result(&format!("added: {}, already present: {}\n", merged.added, merged.present))
}

/// Runs that are named in a message.
const NAMED_MAX: usize = 3;

/// Warns that runs which were already present keep their labels.
fn say_unlabelled(archive: &Archive, label: &str, there: &[RunId], ui: Ui) -> Result<(), Refusal> {
    let mut others = Vec::new();
    for ids in there.chunks(AT_ONCE) {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let listed = archive.listed(&Filter::default(), &ids)?;
        others.extend(listed.runs.into_iter().filter(|run| run.label.as_deref() != Some(label)));
    }
    let Some(first) = others.first() else { return Ok(()) };
    let has = first.label.as_ref().map_or("none".to_owned(), |it| format!("`{it}`"));
    let named: Vec<&str> = others.iter().take(NAMED_MAX).map(|run| run.id.as_str()).collect();
    let named = named.join(" ");
    ui.warn(&match others.len() {
        1 => format!(
            "the run is present and keeps its label, {has}; to replace it: drivelab label {label} \
             {named}"
        ),
        count => format!(
            "{count} runs are present and keep their labels, the first {has}; to replace them: \
             drivelab label {label} {named}{}",
            if count > NAMED_MAX { " ..." } else { "" }
        ),
    });
    Ok(())
}

/// The entries of a file or a results folder, dated by its last modification.
fn of_file(
    path: &Path,
    label: Option<&String>,
    format: Option<&str>,
) -> Result<Vec<Entry>, Refusal> {
    // The time of a folder changes with every file in it, that of the journal with a run.
    let written = if path.is_dir() { path.join("runs.jsonl") } else { path.to_owned() };
    let written = written.metadata().and_then(|about| about.modified());
    let time_ms = written.map_or_else(|_| now_ms(), millis);
    let mut entries = match results::read(path, format)? {
        Content::Runs(runs) => {
            let records = runs.iter().map(|run| &run.record);
            records.map(|record| entries::of_record(record, Origin::Import, time_ms)).collect()
        }
        Content::Results(results) => entries::results(&results, time_ms),
        Content::Study(kept, _) => {
            let study = kept.study(&DriveKeys)?;
            let figures = match again::analysed(&kept) {
                Ok(Again::Study(result)) => drivelab_analysis::study::figures(&result),
                Ok(Again::Matrix(_)) => {
                    drivelab_analysis::cells::figures(&again::cell_runs(&kept.runs))
                }
                // An unfinished study has runs and no verdict.
                Err(_) => Vec::new(),
            };
            entries::study(&kept, &study, (None, time_ms), figures)
        }
        Content::Jobs(..)
        | Content::Measurement(..)
        | Content::Bill(_)
        | Content::Collection(_) => {
            unreachable!("no file or folder holds these")
        }
    };
    // `label:NAME` means a study once, not each of its runs.
    for entry in entries.iter_mut().filter(|entry| entry.position.is_none()) {
        entry.label = label.cloned().or_else(|| entry.label.take());
    }
    Ok(entries)
}
