//! A CSV file of pairs as arms.

use std::collections::BTreeSet;

use super::{ArmRuns, Figure, Input, InputError, Run, Source, checked};
use crate::metric;
use crate::pairs::PairRow;
use crate::suggest;

/// Takes the arms named in `wanted` from the rows, or all in order of appearance where it is
/// empty; the first is the baseline.
pub fn from_pairs(rows: &[PairRow], wanted: &[String]) -> Result<Input, InputError> {
    let mut known: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    for row in rows {
        if seen.insert(&row.arm) {
            known.push(&row.arm);
        }
    }
    if let Some(name) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
        let hint = suggest::among(name, &known);
        return Err(InputError::UnknownArm { name: name.clone(), hint });
    }
    let names: Vec<&str> =
        if wanted.is_empty() { known.clone() } else { wanted.iter().map(String::as_str).collect() };
    let mut notes = Vec::new();
    let ignored: Vec<String> =
        known.iter().filter(|name| !names.contains(name)).map(|name| format!("`{name}`")).collect();
    if !ignored.is_empty() {
        notes.push(format!("Not compared, because not asked for: {}.", ignored.join(", ")));
    }
    if let Some(row) = first_repeat(rows) {
        notes.push(format!(
            "Some blocks hold several values of one arm and metric (line {} is the first such): \
             they are averaged, because the block is the unit.",
            row.line
        ));
    }
    let arms =
        names.iter().map(|name| ArmRuns { name: (*name).to_owned(), runs: runs(rows, name) });
    checked(Input::new(Source::Pairs, arms.collect(), notes))
}

/// Each row is a run of its own: those of one block are brought together in the analysis.
fn runs(rows: &[PairRow], arm: &str) -> Vec<Run> {
    let of_arm = rows.iter().filter(|row| row.arm == arm);
    let runs = of_arm.map(|row| {
        let figure = Figure {
            metric: row.metric.clone(),
            value: row.value,
            unit: String::new(),
            better: metric::better_by_name(&row.metric),
            is_detail: false,
            remarks: Vec::new(),
        };
        Run { block: row.block.clone(), figures: vec![figure] }
    });
    runs.collect()
}

fn first_repeat(rows: &[PairRow]) -> Option<&PairRow> {
    let mut seen = BTreeSet::new();
    rows.iter().find(|row| !seen.insert((&row.block, &row.arm, &row.metric)))
}
