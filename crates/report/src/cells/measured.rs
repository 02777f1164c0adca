//! A matrix that was measured on real drives, without arms.

use drivelab_analysis::cells::{CellRun, Cells};
use drivelab_analysis::figures::bytes_per_s;
use drivelab_core::matrix::{Cell, Matrix};
use drivelab_core::record::{JobRecord, RunRecord};
use serde_json::{Value, json};

use super::section;
use crate::page::html::list;
use crate::page::skeleton;
use crate::text::Look;

/// The document of `run --matrix`: the same runs, the same bytes.
pub fn json(matrix: &Matrix, runs: &[CellRun<'_>]) -> String {
    let cells = matrix.cells();
    let cell = |run: &CellRun<'_>| {
        let cell = &cells[run.place];
        let figures: Vec<Value> = of_targets(matrix, cell, run.record)
            .map(|(target, job)| figure(target, job, run.record))
            .collect();
        json!({
            "cell": {
                "block": run.block,
                "target": cell.target,
                "read": cell.group.read,
                "random": cell.group.random,
                "threads": cell.group.threads,
                "bs": matrix.bs[cell.size],
            },
            "figures": figures,
        })
    };
    let cells: Vec<Value> = runs.iter().map(cell).collect();
    crate::outcome::document(&json!({
        "schema": drivelab_core::record::RUN_SCHEMA,
        "matrix": matrix,
        "cells": cells,
    }))
}

/// The targets of a cell, each with its job.
fn of_targets<'a>(
    matrix: &'a Matrix,
    cell: &Cell,
    record: &'a RunRecord,
) -> impl Iterator<Item = (&'a String, &'a JobRecord)> {
    matrix.targets(cell).iter().zip(&record.jobs)
}

fn figure(target: &str, job: &JobRecord, record: &RunRecord) -> Value {
    let lat = &job.lat_ns;
    let mut figure = json!({
        "target": target,
        "bytes_per_s": job.bytes_per_s,
        "iops": job.iops,
        "lat_ns": [lat.p50, lat.p99, lat.max],
        "errors": job.errors,
        "marks": record.marks.iter().map(|mark| mark.id).collect::<Vec<_>>(),
    });
    if let Some(attached) = &record.attached {
        figure["attached"] = json!(attached);
    }
    figure
}

/// The page: the same runs, the same bytes.
pub fn html(matrix: &Matrix, runs: &[CellRun<'_>]) -> String {
    let cells = Cells::of(matrix, runs);
    let facts = [
        format!("{} of {} cells of {}", runs.len(), matrix.count(), matrix.runtime),
        format!("region from {} on", matrix.offset),
        matrix.size.map_or_else(|| "to the end".into(), |size| format!("{size} long")),
        format!("seed {}", matrix.seed),
    ];
    let lists = [
        list("Targets", "targets", &matrix.targets),
        list("What the figures may be taken for", "warnings", &cells.doubts),
    ];
    let about = format!("<section>\n{}</section>\n", lists.concat());
    let body = about + &section(&cells, &[("All targets", "")]);
    skeleton("matrix", &matrix.title, &facts, &body)
}

/// A line a cell for a terminal: what was measured, in MB/s; then what it may be taken for.
pub fn text(matrix: &Matrix, runs: &[CellRun<'_>], look: Look) -> String {
    let cells = matrix.cells();
    let line = |run: &CellRun<'_>| {
        let cell = &cells[run.place];
        let each: Vec<(&String, &JobRecord)> = of_targets(matrix, cell, run.record).collect();
        let rate = bytes_per_s(each.iter().map(|(_, job)| job.bytes_per_s).sum());
        let line = format!("{}: {}: {rate}", run.block, cell.words(matrix));
        if cell.target.is_some() {
            return line;
        }
        let each =
            each.iter().map(|(name, job)| format!("{name} {}", bytes_per_s(job.bytes_per_s)));
        format!("{line} ({})", each.collect::<Vec<_>>().join(", "))
    };
    let lines = runs.iter().map(line).chain(drivelab_analysis::cells::doubts(runs));
    lines.map(|line| look.wrap(&line, 2) + "\n").collect()
}
