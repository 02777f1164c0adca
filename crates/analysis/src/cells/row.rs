//! The figures of a matrix, each target alone and all together.

use std::collections::BTreeMap;

use drivelab_core::matrix::{Group, Matrix};
use drivelab_core::record::{Better, Figure, MarkId, RunRecord};

/// The run of a cell.
#[derive(Debug, Clone, Copy)]
pub struct CellRun<'a> {
    /// The arm, by index.
    pub arm: usize,
    /// Its block.
    pub block: u32,
    /// The position of its arm in the order of the block.
    pub position: u32,
    /// The cell, by its index among [`Matrix::cells`].
    pub place: usize,
    /// Its record, with a job for each target.
    pub record: &'a RunRecord,
}

/// Cells of one arm that are alike but for their target: each drive alone, and all together.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The arm, by index.
    pub arm: usize,
    /// The cursor of sequential threads, by index in the matrix.
    pub cursor: usize,
    /// Its block.
    pub block: u32,
    /// The position of its arm in the order of the block.
    pub position: u32,
    /// Order, threads on each drive and share of reads.
    pub group: Group,
    /// Block size, by index in the matrix.
    pub size: usize,
    /// Each drive alone, in bytes a second; none where it was not measured.
    pub alone: Vec<Option<f64>>,
    /// Each drive while all work, in bytes a second; a single drive alone is all.
    pub together: Vec<Option<f64>>,
    /// True if a run of it measured something other than the drives.
    pub is_void: bool,
}

impl Row {
    /// All drives together, in bytes a second; none where one is missing.
    pub fn sum(&self) -> Option<f64> {
        sum(&self.together)
    }

    /// The mean of the drives, each alone, in bytes a second.
    pub fn mean_alone(&self) -> Option<f64> {
        mean(self.alone.iter().flatten().copied())
    }

    /// The cell that it measures, in every block.
    fn cell(&self) -> (usize, usize, Group, usize) {
        (self.arm, self.cursor, self.group, self.size)
    }

    /// All drives together against the sum of each alone; none where nothing moved, or for one
    /// drive.
    pub fn scaling(&self) -> Option<f64> {
        // A single target has no other to work with.
        if self.alone.len() < 2 {
            return None;
        }
        let alone = sum(&self.alone).filter(|alone| *alone > 0.0)?;
        Some(self.sum()? / alone)
    }
}

/// The rows of a matrix by block, arm and cell.
pub(super) fn rows(matrix: &Matrix, runs: &[CellRun<'_>]) -> Vec<Row> {
    let cells = matrix.cells();
    let targets = matrix.targets.len();
    let each = targets + usize::from(matrix.has_all());
    let mut rows: BTreeMap<(u32, usize, usize), Row> = BTreeMap::new();
    for &CellRun { arm, block, position, place: index, record } in runs {
        let cell = cells[index];
        // Cells that differ in their target alone are adjacent, so `each` of them share a row.
        let row = rows.entry((block, arm, index / each)).or_insert_with(|| Row {
            arm,
            cursor: cell.cursor,
            block,
            position,
            group: cell.group,
            size: cell.size,
            alone: vec![None; targets],
            together: vec![None; targets],
            is_void: false,
        });
        row.is_void |= record.marks.iter().any(|mark| mark.id == MarkId::Void);
        let mut rates = record.jobs.iter().map(|job| Some(job.bytes_per_s));
        match cell.target {
            Some(target) => {
                row.alone[target] = rates.next().flatten();
                // A single target alone is all targets at once.
                if targets == 1 {
                    row.together.clone_from(&row.alone);
                }
            }
            None => row.together = rates.collect(),
        }
    }
    rows.into_values().collect()
}

/// A line for each mark: how many of the cells have it, and what it says.
pub fn doubts(runs: &[CellRun<'_>]) -> Vec<String> {
    let mut cells: BTreeMap<MarkId, usize> = BTreeMap::new();
    for mark in runs.iter().flat_map(|run| &run.record.marks) {
        *cells.entry(mark.id).or_default() += 1;
    }
    let all = runs.len();
    let line =
        |(mark, count): (MarkId, usize)| format!("{count} of {all} cells: {}", mark.meaning());
    cells.into_iter().map(line).collect()
}

/// The figures that a list of kept runs shows of it: the highest rate of any cell, and the lowest.
pub fn figures(runs: &[CellRun<'_>]) -> Vec<Figure> {
    let rates = runs.iter().filter_map(|run| Some(run.record.total.as_ref()?.bytes_per_s));
    let (most, least) = (rates.clone().reduce(f64::max), rates.reduce(f64::min));
    [("best_bytes_per_s", most), ("worst_bytes_per_s", least)]
        .into_iter()
        .filter_map(|(name, value)| Some(Figure::new(name, value?, Better::More)))
        .collect()
}

/// The sum of rates; none where one is missing, or where there are none.
fn sum(rates: &[Option<f64>]) -> Option<f64> {
    // The sum of nothing is 0, which would read as a rate.
    rates.iter().copied().sum::<Option<f64>>().filter(|_| !rates.is_empty())
}

/// The mean of values; none of nothing.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    (n > 0.0).then(|| sum / n)
}

/// The mean over blocks of each cell, in the order in which cells first occur.
pub(super) fn over_blocks(rows: &[Row]) -> Vec<Row> {
    let mut cells: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        match cells.iter_mut().find(|same| same[0].cell() == row.cell()) {
            Some(same) => same.push(row),
            None => cells.push(vec![row]),
        }
    }
    cells.iter().map(|same| average(same)).collect()
}

/// The mean of rows of one cell, drive by drive.
fn average(same: &[&Row]) -> Row {
    debug_assert!(!same.is_empty(), "a cell begins with a row");
    // A mean over blocks belongs to none of them.
    Row {
        block: 0,
        alone: mean_rates(same, |row| &row.alone),
        together: mean_rates(same, |row| &row.together),
        ..same[0].clone()
    }
}

/// The mean rate of each drive over rows of one cell.
fn mean_rates(same: &[&Row], rates: fn(&Row) -> &[Option<f64>]) -> Vec<Option<f64>> {
    let drives = 0..rates(same[0]).len();
    drives.map(|drive| mean(same.iter().filter_map(|row| rates(row)[drive]))).collect()
}
