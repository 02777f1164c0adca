//! `run --matrix`: many short runs, kept one by one, so that a killed matrix goes on where it was.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drivelab_core::matrix::{Cell, CellFigures, CellResult, Matrix};
use drivelab_core::units::Span;
use drivelab_core::workload::BlockSizes;
use drivelab_engine::{Progress as Step, RunPlan};
use drivelab_study::keep;
use serde_json::json;

use super::kept::Kept;
use crate::failure::{AtPath as _, Exit, Failure, Outcome};
use crate::input;
use crate::interrupt;
use crate::measure;
use crate::ui::{Console, Progress, Show, Ui};

/// What the command line adds to the file.
#[derive(Debug)]
pub(crate) struct MatrixArgs {
    /// The matrix file.
    pub(crate) file: PathBuf,
    /// Where cells and the report are kept; beside the file where absent.
    pub(crate) out: Option<PathBuf>,
    pub(crate) overwrite: bool,
    pub(crate) allow_destructive: Vec<PathBuf>,
    pub(crate) progress: Show,
}

/// Measures what is not measured yet, and writes results and report.
pub(crate) fn run(arguments: &MatrixArgs, ui: Ui) -> Outcome {
    let text = input::text(&arguments.file, input::MATRIX)?;
    let matrix = Matrix::parse(&arguments.file.display().to_string(), &text)?;
    refuse_models(&matrix)?;
    let cells = matrix.cells();
    fits(&matrix, &cells, arguments)?;
    let out = arguments.out.clone().unwrap_or_else(|| arguments.file.with_extension("matrix"));
    keep::make_folder(&out)?;
    let console = Console::new(ui);
    let mut kept = Kept::open(&out, &matrix, &console)?;
    let left: Vec<&Cell> = cells.iter().filter(|cell| !kept.has(cell, &matrix)).collect();
    let each = Duration::from_nanos((matrix.runtime + matrix.ramp_time).ns());
    let whole = each * u32::try_from(left.len()).unwrap_or(u32::MAX);
    let (all, left_count) = (cells.len(), left.len());
    ui.note(&format!(
        "{left_count} of {all} cells left to measure: at least {}; finished cells are kept in {}",
        drivelab_study::in_words(Span::from_ns(
            u64::try_from(whole.as_nanos()).unwrap_or(u64::MAX)
        )),
        out.display()
    ));
    for line in &kept.damaged {
        let path = kept.journal.path().display();
        ui.warn(&format!("{path}:{line} is damaged and ignored"));
    }
    if !left.is_empty() {
        try_out(&matrix, &cells, arguments)?;
    }
    let progress = Progress::time(whole, &matrix.title).shown(arguments.progress);
    for (number, cell) in (0_u32..).zip(left) {
        let begin = each * number;
        let show = |step: &Step| {
            let at = begin + Duration::from_nanos(step.elapsed.ns());
            progress.at(u64::try_from(at.as_millis()).unwrap_or(u64::MAX), &cell.key(&matrix));
        };
        let records = measure::together(&plans(&matrix, cell, arguments)?, &show)?.records;
        // A cell that was cut short is measured again.
        if interrupt::requested() {
            break;
        }
        let figures = records.iter().map(CellFigures::of).collect();
        kept.add(CellResult { cell: cell.clone(), figures }, &matrix, &console)?;
        progress.done(kept.results.len(), all, &cell.key(&matrix));
    }
    drop(progress);
    // In the order of measuring, whatever was measured again.
    let results = cells.iter().filter_map(|cell| kept.results.remove(&cell.key(&matrix)));
    let results: Vec<CellResult> = results.collect();
    finish(&matrix, &results, &out, ui)
}

/// Refuses modelled drives, of which files would be made by that name.
fn refuse_models(matrix: &Matrix) -> Result<(), Failure> {
    let Some(model) = matrix.targets.iter().find(|target| target.starts_with("drive:")) else {
        return Ok(());
    };
    Err(Failure::bad_words(format!(
        "`{model}` is a modelled drive, but a matrix measures real drives"
    ))
    .hint("for modelled drives, write a study with a `[matrix]` table: drivelab study FILE")
    .hint(format!("for a file of that name write `./{model}`")))
}

/// Refuses cells whose buffers do not fit the memory, before anything is touched.
fn fits(matrix: &Matrix, cells: &[Cell], arguments: &MatrixArgs) -> Result<(), Failure> {
    for cell in cells {
        measure::fits(&plans(matrix, cell, arguments)?).map_err(|failure| {
            let failure = Failure { hints: Vec::new(), ..of_cell(failure, matrix, cell) };
            failure.hint("omit the largest `bs` or `threads`, or set `together = false`")
        })?;
    }
    Ok(())
}

/// A failure that names its cell.
fn of_cell(failure: Failure, matrix: &Matrix, cell: &Cell) -> Failure {
    let context = format!("the cell `{}` cannot be measured", cell.key(matrix));
    Failure { error: failure.error.context(context), ..failure }
}

/// Refuses at once what some cell would be refused for hours later: a target that is missing, in
/// use, not to be written, or one that is there twice. What is missing is laid out here.
fn try_out(matrix: &Matrix, cells: &[Cell], arguments: &MatrixArgs) -> Result<(), Failure> {
    let mut seen: Vec<(Option<usize>, u32, &BlockSizes, bool)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.target.is_some()) {
        let kind = (cell.target, cell.threads, &cell.bs, cell.read < 100);
        if !seen.contains(&kind) && !interrupt::requested() {
            measure::try_out(&plans(matrix, cell, arguments)?)
                .map_err(|failure| of_cell(failure, matrix, cell))?;
            seen.push(kind);
        }
    }
    let mut known: Vec<(&String, [u64; 3])> = Vec::new();
    for target in &matrix.targets {
        let meta = fs::metadata(target).at_path("look at", Path::new(target))?;
        let same = match meta.rdev() {
            0 => [meta.dev(), meta.ino(), 0],
            device => [0, 0, device],
        };
        if let Some((other, _)) = known.iter().find(|(_, it)| *it == same) {
            let message = format!("targets `{other}` and `{target}` are the same");
            return Err(Failure::bad_words(message).hint("remove one of them"));
        }
        known.push((target, same));
    }
    Ok(())
}

/// One run for each target of the cell.
fn plans(matrix: &Matrix, cell: &Cell, arguments: &MatrixArgs) -> Result<Vec<RunPlan>, Failure> {
    let workload = cell.workload(matrix).map_err(Failure::bad_request)?;
    let of = |target: &String| RunPlan {
        numjobs: cell.threads,
        seed: matrix.seed,
        direct: matrix.direct,
        allow_overwrite: arguments.overwrite,
        allow_destructive: arguments.allow_destructive.clone(),
        ..RunPlan::new(target.into(), workload.clone())
    };
    Ok(matrix.targets(cell).iter().map(of).collect())
}

fn finish(matrix: &Matrix, results: &[CellResult], out: &Path, ui: Ui) -> Outcome {
    let document = json!({"schema": "drivelab.run/1", "matrix": matrix, "cells": results});
    let document = crate::commands::json_text(&document);
    let page = drivelab_report::cells::html(matrix, results);
    for (name, text) in [("results.json", &document), ("report.html", &page)] {
        let path = out.join(name);
        keep::write(&path, text.as_bytes(), &Console::new(ui))?;
    }
    if ui.json {
        ui.result(&document)?;
    } else {
        ui.result(&drivelab_report::cells::text(matrix, results, ui.look()))?;
        ui.note(&format!("{} shows the figures", out.join("report.html").display()));
    }
    if interrupt::requested() {
        ui.warn("interrupted: repeat the command to measure the missing cells");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}
