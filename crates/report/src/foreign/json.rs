//! An import for scripts: schema `drivelab.import/1`.

use drivelab_stats::Better;
use serde::Serialize;

use super::{Imported, ImportedResult, label};
use crate::outcome::document;

/// The schema that this version writes.
pub const IMPORT_SCHEMA: &str = "drivelab.import/1";

#[derive(Serialize)]
struct ImportJson<'a> {
    schema: &'static str,
    tool: &'a str,
    tool_version: &'a str,
    results: Vec<ResultJson<'a>>,
    unknown: &'a [String],
    notes: &'a [String],
}

#[derive(Serialize)]
struct ResultJson<'a> {
    arm: &'a str,
    metric: &'a str,
    value: f64,
    unit: &'a str,
    better: Better,
    n: u32,
    spread: Option<f64>,
    labels: Vec<&'static str>,
    /// The same labels with the reason for each.
    remarks: Vec<String>,
    line: usize,
}

/// The import as one JSON document.
pub fn json(imported: &Imported) -> String {
    document(&ImportJson {
        schema: IMPORT_SCHEMA,
        tool: &imported.tool,
        tool_version: &imported.tool_version,
        results: imported.results.iter().map(result).collect(),
        unknown: &imported.unknown,
        notes: &imported.notes,
    })
}

fn result(result: &ImportedResult) -> ResultJson<'_> {
    let remarks = result.remarks.iter();
    ResultJson {
        arm: &result.arm,
        metric: &result.metric,
        value: result.value,
        unit: result.unit,
        better: result.better,
        n: result.n,
        spread: result.spread,
        labels: label::names(&result.remarks),
        remarks: remarks.map(|r| format!("{}: {}", r.label.as_str(), r.why)).collect(),
        line: result.line,
    }
}
