//! The list as a document.

use drivelab_core::record::Kept;
use serde_json::{Value, json};

use super::rfc_3339;

/// `drivelab.history/1`: the runs in the order given.
pub fn json(runs: &[Kept]) -> Value {
    let runs: Vec<Value> = runs.iter().map(run).collect();
    json!({ "schema": "drivelab.history/1", "runs": runs })
}

fn run(run: &Kept) -> Value {
    let primary = run
        .figure
        .as_ref()
        .map(|figure| json!({ "name": figure.name, "value": figure.value, "unit": figure.unit }));
    json!({
        "id": run.id,
        "time": rfc_3339(run.time_ms),
        "origin": run.origin,
        "label": run.label,
        "tags": run.tags,
        "commit": run.commit,
        "parts": run.parts,
        "suite": run.suite,
        "target": run.target,
        "drive": run.drive,
        "host": run.host,
        "primary": primary,
    })
}
