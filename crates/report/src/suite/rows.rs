//! Tests that read, write or mix, side by side: `seq1m_q8t1_read` and `seq1m_q8t1_write` are a row.

use drivelab_core::record::{Phase, RunRecord};

/// The columns of a row.
pub(super) const COLUMNS: [&str; 3] = ["read", "write", "mix"];

/// The tests of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row<'a> {
    /// `SEQ1M Q8T1`.
    pub(super) label: String,
    stem: &'a str,
    /// The test of each column.
    pub(super) cells: [Option<Cell>; 3],
}

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    /// Million bytes a second.
    pub(super) rate: f64,
    pub(super) iops: Option<f64>,
    /// Microseconds.
    pub(super) latency: Option<f64>,
}

/// The rows of a record, and the phases that are in none.
pub(super) fn of(record: &RunRecord) -> (Vec<Row<'_>>, Vec<&Phase>) {
    let (mut rows, mut others): (Vec<Row<'_>>, Vec<&Phase>) = (Vec::new(), Vec::new());
    for phase in &record.phases {
        let Some((stem, column, cell)) = cell(phase) else {
            others.push(phase);
            continue;
        };
        let index = rows.iter().position(|row| row.stem == stem).unwrap_or_else(|| {
            let label = stem.replace('_', " ").to_uppercase();
            rows.push(Row { label, stem, cells: [None; 3] });
            rows.len() - 1
        });
        rows[index].cells[column] = Some(cell);
    }
    (rows, others)
}

/// The columns that some row has.
pub(super) fn columns(rows: &[Row<'_>]) -> Vec<usize> {
    (0..COLUMNS.len())
        .filter(|column| rows.iter().any(|row| row.cells[*column].is_some()))
        .collect()
}

fn cell(phase: &Phase) -> Option<(&str, usize, Cell)> {
    if !phase.points.is_empty() {
        return None;
    }
    let (stem, last) = phase.name.rsplit_once('_')?;
    let column = COLUMNS.iter().position(|column| *column == last)?;
    let value = |name: &str, unit: &str| {
        let figure = phase.figures.iter().find(|it| it.name == name && it.unit == unit);
        figure.map(|figure| figure.value)
    };
    let rate = value(&phase.name, "MB/s")?;
    let iops = value(&format!("{}_iops", phase.name), "1/s");
    let latency = value(&format!("{}_latency", phase.name), "us");
    Some((stem, column, Cell { rate, iops, latency }))
}
