//! A matrix study for scripts: schema `drivelab.study/1` with the cells and findings besides.

use serde_json::{Value, json};

use super::{Answer, Grid, Row};

/// The result as one JSON document: the same result, the same bytes.
pub fn json(grid: &Grid) -> String {
    let text = crate::study::json(&grid.study);
    let mut document: Value = serde_json::from_str(&text).expect("we wrote it");
    let names = grid.study.names();
    let cells: Vec<Value> = grid.cells.iter().map(|row| cell(grid, &names, row)).collect();
    let findings: Vec<Value> = grid.answers.iter().map(|it| finding(grid, &names, it)).collect();
    let object = document.as_object_mut().expect("the document is an object");
    object.insert("matrix".into(), json!(grid.matrix));
    object.insert("cursors".into(), json!(grid.cursors));
    object.insert("findings".into(), findings.into());
    object.insert("cells".into(), cells.into());
    let mut text = serde_json::to_string_pretty(&document).expect("plain data has a JSON form");
    text.push('\n');
    text
}

fn cell(grid: &Grid, names: &[&str], row: &Row) -> Value {
    let blocks = &grid.matrix.bs[row.size];
    json!({
        "arm": names[row.arm],
        "cursor": grid.cursors[row.cursor],
        "read": row.read,
        "random": row.random,
        "threads": row.threads,
        "bs_bytes": blocks.largest().get(),
        "alone_bytes_per_s": row.alone,
        "together_bytes_per_s": row.together,
        "sum_bytes_per_s": row.sum(),
        "scaling": row.scaling(),
    })
}

fn finding(grid: &Grid, names: &[&str], answer: &Answer) -> Value {
    let readings = answer.readings.iter().map(|reading| {
        json!({
            "arm": names[reading.arm],
            "against": reading.against.map(|place| names[place]),
            "cursor": grid.cursors[reading.cursor],
            "figure": reading.figure,
            "other": reading.other,
            "value": reading.value,
            "holds": reading.holds,
        })
    });
    json!({
        "name": answer.finding.name,
        "claim": answer.finding.claim,
        "verdict": answer.held,
        "readings": readings.collect::<Vec<Value>>(),
    })
}
