//! `sweep keep`: points as runs in the archive.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use drivelab_lab::interrupt;
use drivelab_lab::sweep::{self, Modelled};
use drivelab_report::text::json_text;
use drivelab_study::repeat;
use serde_json::json;

use super::report;
use super::rows::RowsArgs;
use crate::commands::archive::keep::ArchiveArgs;
use crate::exit::{Exit, Outcome};
use crate::ui::{Console, Progress, Ui};

/// Keep points as runs in the archive, to be shown, compared and exported there.
///
/// A run in virtual time is made again exactly as it was, so that the best points are kept as whole
/// runs, with their distributions. Points that are there already are not kept again.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").args(["best", "all"])))]
pub(super) struct SweepKeepArgs {
    /// The sweep file.
    file: PathBuf,
    /// How many points to keep: the best.
    #[arg(long, value_name = "N", default_value_t = 10)]
    best: usize,
    /// Keep every point, without distributions: about 2 kB each.
    #[arg(long)]
    all: bool,
    /// What the labels of the runs begin with, in front of the point's number; also their tag
    /// [default: the name of the file].
    #[arg(long)]
    label: Option<String>,
    #[command(flatten)]
    rows: RowsArgs,
    #[command(flatten)]
    archive: ArchiveArgs,
}

/// Makes the points again, and keeps them.
pub(super) fn run(arguments: &SweepKeepArgs, ui: Ui) -> Outcome {
    let modelled = Modelled::read(&arguments.file)?;
    let kept = report::made(&modelled, &arguments.file, &arguments.rows, ui)?;
    let label = match &arguments.label {
        Some(label) => label.clone(),
        None => repeat::stem(&arguments.file.display().to_string()),
    };
    let best = (!arguments.all).then_some(arguments.best);
    let mut archive = arguments.archive.open()?;
    let all = best.map_or(kept.rows.len(), |best| best.min(kept.rows.len()));
    let console = Console::with_progress(ui, Progress::steps(all as u64, "points"));
    let [added, present] =
        sweep::keep(&modelled, &kept, best, &label, (&mut archive, &console.control()))?;
    drop(console);
    if ui.json {
        ui.result(&json_text(&json!({
            "schema": "drivelab.archive/1",
            "added": added,
            "present": present,
        })))?;
    } else {
        ui.result(&format!("added: {added}, already present: {present}\n"))?;
    }
    Ok(if interrupt::requested() { Exit::Interrupted } else { Exit::Done })
}
