//! The list as a document.

use drivelab_analysis::history::date_time;
use drivelab_core::record::Kept;
use serde_json::{Value, json};

use crate::text::json_text;

/// `drivelab.history/1`: the runs in the order given.
pub fn json(runs: &[Kept]) -> Value {
    let runs: Vec<Value> = runs.iter().map(run).collect();
    json!({ "schema": "drivelab.history/1", "runs": runs })
}

/// The text before, between and after the runs when that document is written run by run.
pub fn json_frame() -> [&'static str; 3] {
    ["{\n  \"runs\": [", ",", "\n  ],\n  \"schema\": \"drivelab.history/1\"\n}"]
}

/// One run of the document, as [`json_frame`] needs it.
pub fn json_run(kept: &Kept) -> String {
    let mut indented = String::new();
    for line in json_text(&run(kept)).lines() {
        indented.push_str("\n    ");
        indented.push_str(line);
    }
    indented
}

fn run(run: &Kept) -> Value {
    let primary = run
        .figure
        .as_ref()
        .map(|figure| json!({ "name": figure.name, "value": figure.value, "unit": figure.unit }));
    json!({
        "id": run.id,
        "time": date_time(run.time_ms),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_by_run_it_is_the_same_document() {
        let one = crate::history::tests::run(1, "before");
        let two = Kept { label: Some("a\nb".into()), ..crate::history::tests::run(2, "after") };
        let [begin, between, end] = json_frame();
        let runs = [json_run(&one), json_run(&two)].join(between);
        assert_eq!(format!("{begin}{runs}{end}"), json_text(&json(&[one, two])));
        let empty = end.strip_prefix("\n  ").unwrap();
        assert_eq!(format!("{begin}{empty}"), json_text(&json(&[])));
    }
}
