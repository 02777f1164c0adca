//! Rows that are cut off, for the tests of readers: a row is left out or whole, never misread.

use std::collections::BTreeSet;

use drivelab_core::csv::ParseError;
use drivelab_core::foreign::Imported;

/// Names and values of figures, by run and phase.
type Figures = BTreeSet<(String, String, String, u64)>;

fn figures(read: Result<Imported, ParseError>) -> Figures {
    let runs = read.map(|imported| imported.runs).unwrap_or_default();
    let phases = runs.iter().flat_map(|run| run.phases.iter().map(move |phase| (run, phase)));
    let all = phases.flat_map(|(run, phase)| phase.metrics().map(move |it| (run, phase, it)));
    all.map(|(run, phase, it)| (run.arm.clone(), phase.name.clone(), it.name, it.value.to_bits()))
        .collect()
}

/// Cuts each row of a text at each character. The figures are then those of the whole text, or of
/// the text without that row, or fewer; and where other rows remain, the text is not refused. Cuts
/// that change the figures are returned, as the rest of the row.
pub(crate) fn misread(
    text: &str,
    is_row: fn(&str) -> bool,
    parse: fn(&str) -> Result<Imported, ParseError>,
) -> Vec<String> {
    let whole = figures(parse(text));
    assert!(!whole.is_empty(), "the text has figures");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut wrong = Vec::new();
    for (at, row) in lines.iter().enumerate().filter(|(_, row)| is_row(row)) {
        let (before, after) = (lines[..at].concat(), lines[at + 1..].concat());
        let without = figures(parse(&format!("{before}{after}")));
        let row = row.trim_end();
        // An empty line is no damaged row: it ends some tables.
        for (cut, _) in row.char_indices().skip(1) {
            let read = figures(parse(&format!("{before}{}\n{after}", &row[..cut])));
            let is_refused = read.is_empty() && !without.is_empty();
            let is_right = read.iter().all(|it| whole.contains(it) || without.contains(it));
            if is_refused || !is_right {
                wrong.push(row[..cut].to_owned());
            }
        }
    }
    wrong
}
