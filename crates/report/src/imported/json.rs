//! Imported results for scripts: schema `drivelab.import/1`.

use std::collections::BTreeMap;

use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, label_names};
use serde::Serialize;

use super::rows::{Row, rows};
use crate::outcome::document;

/// The schema that this version writes.
pub const IMPORT_SCHEMA: &str = "drivelab.import/1";

#[derive(Serialize)]
struct ImportJson<'a> {
    schema: &'static str,
    tool: &'a str,
    tool_version: &'a str,
    results: Vec<ResultJson<'a>>,
    /// The work of each arm's runs: the values of each key.
    work: BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a str>>>,
    unknown: &'a [String],
    notes: &'a [String],
}

#[derive(Serialize)]
struct ResultJson<'a> {
    arm: &'a str,
    metric: &'a str,
    value: f64,
    unit: &'a str,
    /// Absent of what only describes.
    better: Option<Better>,
    n: usize,
    spread: Option<f64>,
    labels: Vec<&'static str>,
}

/// The results as one JSON document: the same file, the same bytes.
pub fn json(results: &Imported) -> String {
    let figures = rows(results);
    document(&ImportJson {
        schema: IMPORT_SCHEMA,
        tool: &results.tool,
        tool_version: &results.tool_version,
        results: figures.iter().map(ResultJson::new).collect(),
        work: work(results),
        unknown: &results.unknown,
        notes: &results.notes,
    })
}

fn work(results: &Imported) -> BTreeMap<&str, BTreeMap<&str, Vec<&str>>> {
    let mut arms: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for run in &results.runs {
        for (key, value) in run.work.iter() {
            let values = arms.entry(&run.arm).or_default().entry(key).or_default();
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    arms
}

impl<'a> ResultJson<'a> {
    fn new(row: &'a Row) -> Self {
        let figure = &row.figure;
        Self {
            arm: &row.arm,
            metric: &figure.name,
            value: row.value,
            unit: figure.unit(),
            better: Some(figure.better).filter(|better| *better != Better::Neither),
            n: row.n,
            spread: row.spread,
            labels: label_names(&figure.remarks),
        }
    }
}
