//! The cells of a matrix: the same work in every combination of read share, order, threads and
//! block size, on each of several targets alone and on all at once.
//!
//! The picture is the same for arms of a study and for one set of real drives: plain SVG and
//! tables, which need no script.

mod heat;
mod json;
mod measured;
mod page;
mod panel;
mod row;
mod samples;
mod series;
#[cfg(test)]
mod tests;
mod text;

pub use measured::{html, text};
pub(crate) use page::{figures, section};
pub use row::{Group, Row};
pub use samples::{METRICS, samples, workloads};
pub(crate) use text::scaling;

use drivelab_core::matrix::Matrix;

/// What a matrix measured, cell by cell.
#[derive(Debug, Clone)]
pub struct Cells {
    /// What was varied.
    pub matrix: Matrix,
    /// Where sequential threads go on; the first is the one that metrics and figures show.
    pub cursors: Vec<String>,
    /// Every cell of every arm and block.
    pub rows: Vec<Row>,
    /// What the figures may be taken for, in sentences.
    pub doubts: Vec<String>,
}

impl Cells {
    /// The mean over blocks of every cell.
    pub fn means(&self) -> Vec<Row> {
        row::over_blocks(&self.rows)
    }

    /// The cells of a group in an arm with the first cursor, one place for each block size.
    fn line<'a>(&self, means: &'a [Row], arm: usize, group: Group) -> Vec<Option<&'a Row>> {
        let of_size = |size: usize| {
            means.iter().find(|row| {
                (row.arm, row.cursor, row.size) == (arm, 0, size) && row.group() == group
            })
        };
        (0..self.matrix.bs.len()).map(of_size).collect()
    }
}
