//! The cells of a matrix: the same work in every combination of read share, order, threads and
//! block size, on each of several targets alone and on all at once.

mod row;

pub(crate) use row::over_blocks;
pub use row::{Group, Row};

use drivelab_core::matrix::Matrix;

/// What a matrix study measured, cell by cell.
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
