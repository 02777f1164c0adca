//! `run --matrix`: many short runs, kept one by one, so that a killed matrix goes on where it was.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drivelab_core::matrix::{Cell, CellFigures, CellResult, Matrix};
use drivelab_core::record::Stamp;
use drivelab_core::{Conduct, Polling};
use drivelab_engine::Progress as Step;
use serde_json::json;

use crate::failure::{AtPath as _, Exit, Failure, Outcome};
use crate::interrupt;
use crate::measure::{self, Measurement};
use crate::ui::{Progress, Ui};

/// What the command line adds to the file.
#[derive(Debug)]
pub(crate) struct MatrixArgs {
    /// The matrix file.
    pub(crate) file: PathBuf,
    /// Where cells and the report are kept; beside the file where absent.
    pub(crate) out: Option<PathBuf>,
    pub(crate) overwrite: bool,
    pub(crate) allow_destructive: Vec<PathBuf>,
}

/// Measures what is not measured yet, and writes results and report.
pub(crate) fn run(arguments: &MatrixArgs, ui: Ui) -> Outcome {
    let text = fs::read_to_string(&arguments.file).at_path("read", &arguments.file)?;
    let matrix = Matrix::parse(&arguments.file.display().to_string(), &text)?;
    let cells = matrix.cells();
    for cell in &cells {
        measure::fits(&measurements(&matrix, cell, arguments)?)?;
    }
    let out = arguments.out.clone().unwrap_or_else(|| arguments.file.with_extension("matrix"));
    fs::create_dir_all(&out).at_path("make", &out)?;
    let mut kept = Kept::open(&out.join("cells.jsonl"), &matrix)?;
    let left: Vec<&Cell> = cells.iter().filter(|cell| !kept.has(cell)).collect();
    let each = Duration::from_nanos((matrix.runtime + matrix.ramp_time).ns());
    let whole = each * u32::try_from(left.len()).unwrap_or(u32::MAX);
    let (all, left_count, minutes) = (cells.len(), left.len(), whole.as_secs().div_ceil(60));
    ui.note(&format!(
        "{left_count} of {all} cells are to be measured: {minutes} min or a little more; {} keeps \
         what is done",
        out.display()
    ));
    let progress = Progress::time(whole, &matrix.title);
    for (number, cell) in (0_u32..).zip(left) {
        let begin = each * number;
        let show = |step: &Step| {
            let at = begin + Duration::from_nanos(step.elapsed.ns());
            progress.at(u64::try_from(at.as_millis()).unwrap_or(u64::MAX), &cell.key(&matrix));
        };
        let records = measure::together(&measurements(&matrix, cell, arguments)?, &show)?.records;
        // A cell that was cut short is measured again.
        if interrupt::requested() {
            break;
        }
        let figures = records.iter().map(CellFigures::of).collect();
        kept.add(CellResult { cell: cell.clone(), figures })?;
    }
    drop(progress);
    finish(&matrix, &kept.results, &out, ui)
}

/// One measurement for each target of the cell.
fn measurements(
    matrix: &Matrix,
    cell: &Cell,
    arguments: &MatrixArgs,
) -> Result<Vec<Measurement>, Failure> {
    let workload = cell.workload(matrix).map_err(Failure::bad_request)?;
    let of = |target: &String| Measurement {
        path: target.into(),
        workload: workload.clone(),
        numjobs: cell.threads,
        conduct: Conduct::default(),
        seed: matrix.seed,
        ioengine: None,
        polling: Polling::default(),
        stamp: Stamp::Io,
        direct: matrix.direct,
        overwrite: arguments.overwrite,
        allow_destructive: arguments.allow_destructive.clone(),
        verify_state: None,
    };
    Ok(matrix.targets(cell).iter().map(of).collect())
}

/// The cells that are done: a file of lines, the matrix itself in the first.
struct Kept {
    path: PathBuf,
    file: File,
    results: Vec<CellResult>,
}

impl Kept {
    fn open(path: &Path, matrix: &Matrix) -> Result<Self, Failure> {
        let head = serde_json::to_string(matrix).expect("plain data is always JSON");
        let text = if path.exists() {
            fs::read_to_string(path).at_path("read", path)?
        } else {
            String::new()
        };
        // A line without its end was being written when the process was killed.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines();
        let first = lines.next();
        if first.is_some_and(|first| first != head) {
            let message = format!("`{}` holds cells of another matrix", path.display());
            return Err(Failure::bad_words(message)
                .hint("give another folder with `--out`, or remove that one"));
        }
        let results: Result<Vec<CellResult>, _> = lines.map(serde_json::from_str).collect();
        let results = results.map_err(Failure::bad_request)?;
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).open(path).at_path("open", path)?;
        file.set_len(whole as u64).at_path("write", path)?;
        let mut kept = Self { path: path.to_owned(), file, results };
        if first.is_none() {
            kept.line(&head)?;
        }
        Ok(kept)
    }

    fn has(&self, cell: &Cell) -> bool {
        self.results.iter().any(|result| result.cell == *cell)
    }

    fn add(&mut self, result: CellResult) -> Result<(), Failure> {
        let line = serde_json::to_string(&result).expect("plain data is always JSON");
        self.line(&line)?;
        self.results.push(result);
        Ok(())
    }

    /// On the disk before the next cell begins.
    fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.file.write_all(format!("{line}\n").as_bytes()).at_path("write", &self.path)?;
        self.file.sync_data().at_path("write", &self.path)
    }
}

fn finish(matrix: &Matrix, results: &[CellResult], out: &Path, ui: Ui) -> Outcome {
    let document = json!({"schema": "drivelab.run/1", "matrix": matrix, "cells": results});
    let document = crate::commands::json_text(&document);
    let page = drivelab_report::matrix::html(matrix, results);
    for (name, text) in [("results.json", &document), ("report.html", &page)] {
        let path = out.join(name);
        fs::write(&path, text).at_path("write", &path)?;
    }
    if ui.json {
        ui.result(&document)?;
    } else {
        ui.result(&drivelab_report::matrix::text(matrix, results, ui.look()))?;
        ui.note(&format!("{} shows the figures", out.join("report.html").display()));
    }
    if interrupt::requested() {
        ui.warn("interrupted: the same command goes on with the cells that are missing");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}
