//! `sweep keep`: points as runs in the archive.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use clap::{ArgGroup, Args};
use drivelab_archive::Entry;
use drivelab_core::record::{JobRecord, Origin, RunRecord};
use drivelab_report::text::json_text;
use drivelab_study::repeat;
use drivelab_study::sweep::{Figures, Point, Row};
use serde_json::json;

use super::modelled::Modelled;
use super::report;
use super::rows::RowsArgs;
use crate::commands::archive::entries;
use crate::commands::archive::keep::{ArchiveArgs, now_ms};
use crate::exit::{Exit, Outcome};
use crate::ui::{Progress, Ui};
use drivelab_core::Refusal;
use drivelab_lab::interrupt;
use drivelab_lab::stage::parallel;

/// Runs that are made and kept together: their documents are in memory at the same time.
const BATCH: usize = 256;

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
    let rows: Vec<&Row> = if arguments.all {
        kept.rows.values().collect()
    } else {
        let swept = modelled.swept(&kept);
        let best = swept.best_of(arguments.best).into_iter();
        best.map(|index| &kept.rows[&swept.made[index].0]).collect()
    };
    let label = match &arguments.label {
        Some(label) => label.clone(),
        None => repeat::stem(&arguments.file.display().to_string()),
    };
    let points = modelled.points()?;
    let mut archive = arguments.archive.open()?;
    let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let progress = Progress::steps(rows.len() as u64, "points");
    let (mut added, mut present) = (0, 0);
    for batch in rows.chunks(BATCH) {
        if interrupt::requested() {
            break;
        }
        let entries = parallel::map(threads, batch, |row| {
            let record = again(&modelled, &points.point(row.point), row)?;
            Ok(entry(record, row.point, &label, arguments.all))
        });
        let entries: Vec<Entry> = entries.into_iter().collect::<Result<_, Refusal>>()?;
        // What was made while it was interrupted may be cut short.
        if interrupt::requested() {
            break;
        }
        let _whole = interrupt::shield();
        let merged = archive.keep_new(&entries)?;
        added += merged.added;
        present += merged.present;
        progress.at(added + present, "points");
    }
    drop(progress);
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

/// The run of a row, which must be what the row says.
fn again(modelled: &Modelled, point: &Point, row: &Row) -> Result<RunRecord, Refusal> {
    let record = modelled.run(point)?;
    let is_same = record.total.as_ref().is_some_and(|total| Figures::of(total) == row.figures);
    if is_same || interrupt::requested() {
        return Ok(record);
    }
    let wrong = format!("point {} differs from its row when it is made again", row.point);
    Err(Refusal::bug(wrong).hint("please report this: the same seed gives the same figures"))
}

fn entry(record: RunRecord, point: u32, label: &str, is_bare: bool) -> Entry {
    let mut record = RunRecord { label: Some(format!("{label}-{point}")), ..record };
    if is_bare {
        record.jobs = record.jobs.into_iter().map(JobRecord::figures_only).collect();
        record.total = record.total.map(JobRecord::figures_only);
    }
    let entry = entries::of_record(&record, Origin::Run, now_ms());
    Entry { tags: vec![label.to_owned()], ..entry }
}
