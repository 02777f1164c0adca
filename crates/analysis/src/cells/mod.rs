//! The cells of a matrix: the same work in every combination of read share, order, threads and
//! block size, on each of several targets alone and on all at once.

mod row;
mod samples;
mod series;

pub use row::{CellRun, Row, doubts, figures};
pub use samples::{METRICS, samples, workloads};
pub use series::{EACH, Line, MEAN, SUM, lines};

use drivelab_core::matrix::{Group, Matrix};

/// The measurements of a matrix, cell by cell.
#[derive(Debug, Clone)]
pub struct Cells {
    /// The parameters that were varied.
    pub matrix: Matrix,
    /// The cells of every arm and block, those of a row alike but for their target.
    pub rows: Vec<Row>,
    /// Caveats about the figures, as sentences.
    pub doubts: Vec<String>,
}

impl Cells {
    /// Collects the measurements of `runs` over a matrix.
    pub fn of(matrix: &Matrix, runs: &[CellRun<'_>]) -> Self {
        Self { matrix: matrix.clone(), rows: row::rows(matrix, runs), doubts: row::doubts(runs) }
    }

    /// The mean over blocks of every cell.
    pub fn means(&self) -> Vec<Row> {
        row::over_blocks(&self.rows)
    }

    /// The cells of a group in an arm with the first cursor, one slot for each block size.
    pub fn line<'a>(&self, means: &'a [Row], arm: usize, group: Group) -> Vec<Option<&'a Row>> {
        (0..self.matrix.bs.len())
            .map(|size| {
                means
                    .iter()
                    .find(|row| (row.arm, row.cursor, row.size, row.group) == (arm, 0, size, group))
            })
            .collect()
    }
}
