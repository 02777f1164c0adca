//! `run --matrix`: many short runs, kept one by one, so that a killed matrix goes on where it was.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drivelab_core::matrix::{Cell, CellFigures, CellResult, Matrix};
use drivelab_core::record::Stamp;
use drivelab_core::workload::BlockSizes;
use drivelab_core::{Conduct, Polling};
use drivelab_engine::Progress as Step;
use serde_json::json;

use crate::failure::{AtPath as _, Exit, Failure, Outcome};
use crate::interrupt;
use crate::measure::{self, Measurement};
use crate::output;
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
    fits(&matrix, &cells, arguments)?;
    let out = arguments.out.clone().unwrap_or_else(|| arguments.file.with_extension("matrix"));
    fs::create_dir_all(&out).at_path("make", &out)?;
    let mut kept = Kept::open(&out.join("cells.jsonl"), &matrix)?;
    let left: Vec<&Cell> = cells.iter().filter(|cell| !kept.has(cell)).collect();
    let each = Duration::from_nanos((matrix.runtime + matrix.ramp_time).ns());
    let whole = each * u32::try_from(left.len()).unwrap_or(u32::MAX);
    let (all, left_count) = (cells.len(), left.len());
    ui.note(&format!(
        "{left_count} of {all} cells are to be measured: {} or a little more; {} keeps what is \
         done",
        in_words(whole),
        out.display()
    ));
    for line in &kept.damaged {
        let path = out.join("cells.jsonl");
        ui.warn(&format!("{}:{line} is damaged and left out", path.display()));
    }
    if !left.is_empty() {
        try_out(&matrix, &cells, arguments)?;
    }
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

/// Refuses cells whose buffers do not fit the memory, before anything is touched.
fn fits(matrix: &Matrix, cells: &[Cell], arguments: &MatrixArgs) -> Result<(), Failure> {
    for cell in cells {
        measure::fits(&measurements(matrix, cell, arguments)?).map_err(|failure| {
            let failure = Failure { hints: Vec::new(), ..of_cell(failure, matrix, cell) };
            failure.hint("leave the largest `bs` or `threads` out, or `together = false`")
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
            measure::try_out(&measurements(matrix, cell, arguments)?)
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
            let message = format!("targets `{other}` and `{target}` are one and the same");
            return Err(Failure::bad_words(message).hint("leave one of them out"));
        }
        known.push((target, same));
    }
    Ok(())
}

/// A length of time as people say it.
fn in_words(time: Duration) -> String {
    match time.as_secs_f64().ceil() {
        seconds if seconds < 120.0 => format!("{seconds} s"),
        seconds if seconds < 7200.0 => format!("{} min", (seconds / 60.0).ceil()),
        seconds => {
            let minutes = (seconds / 60.0).ceil();
            format!("{} h {} min", (minutes / 60.0).floor(), minutes % 60.0)
        }
    }
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
    /// Lines, counted from 1, that are no cell of this matrix.
    damaged: Vec<usize>,
}

impl Kept {
    fn open(path: &Path, matrix: &Matrix) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).append(true).create(true).open(path).at_path("open", path)?;
        if file.try_lock().is_err() {
            let message = format!("another drivelab keeps its cells in `{}`", path.display());
            return Err(Failure::bad_words(message).hint("wait for it, or give another `--out`"));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).at_path("read", path)?;
        // A line without its end was being written when the process was killed.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).at_path("write", path)?;
        let head = serde_json::to_string(matrix).expect("plain data is always JSON");
        let mut lines =
            text[..whole].split_inclusive(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let first = lines.next();
        if first.is_some_and(|first| first != head.as_bytes()) {
            let message = format!("`{}` holds cells of another matrix", path.display());
            return Err(Failure::bad_words(message)
                .hint("give another folder with `--out`, or remove that one"));
        }
        let cells = matrix.cells();
        let (mut results, mut damaged) = (Vec::<CellResult>::new(), Vec::new());
        for (number, line) in (2..).zip(lines) {
            match serde_json::from_slice::<CellResult>(line) {
                Ok(found) if results.iter().any(|known| known.cell == found.cell) => {}
                Ok(found) if cells.contains(&found.cell) => results.push(found),
                _ => damaged.push(number),
            }
        }
        let mut kept = Self { path: path.to_owned(), file, results, damaged };
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
        let _whole = interrupt::shield();
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
        output::write(&path, text, "write")?;
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
