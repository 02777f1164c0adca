//! One cell of a matrix.

use super::{CellError, Cursor, Group, Matrix, order, plural};
use crate::units::Span;
use crate::workload::{Pace, Rw, Workload, WorkloadOptions};

/// One combination of all varied settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Index of the target in the matrix; all at once if absent.
    pub target: Option<usize>,
    /// Index of the cursor of sequential threads in the matrix.
    pub cursor: usize,
    /// Order, threads on each target and share of reads.
    pub group: Group,
    /// Index of the block size in the matrix.
    pub size: usize,
}

impl Cell {
    /// Its description for people.
    pub fn words(&self, matrix: &Matrix) -> String {
        let target = self.target.map_or("all", |target| matrix.targets[target].as_str());
        let Group { random, threads, read } = self.group;
        let (order, threads, bs) = (order(random), plural(threads), &matrix.bs[self.size]);
        let cursor = match matrix.cursors[self.cursor] {
            Cursor::Own => "",
            Cursor::Shared => ", shared cursor",
        };
        format!("{target}, {read} % read, {order}, {threads}, {bs}{cursor}")
    }

    /// True if its threads share one position.
    pub fn shares_cursor(&self, matrix: &Matrix) -> bool {
        matrix.cursors[self.cursor] == Cursor::Shared && self.group.random == 0
    }

    /// The threads on each target, and the workload of each: threads that share one
    /// position are one with as many requests outstanding.
    pub fn jobs(&self, matrix: &Matrix) -> Result<(u32, Workload), CellError> {
        let of_thread = self.workload(matrix)?;
        let Group { threads, .. } = self.group;
        if !self.shares_cursor(matrix) {
            return Ok((threads, of_thread));
        }
        let pace = Pace::Closed { iodepth: threads, think_time: Span::ZERO };
        Ok((1, Workload { pace, ..of_thread }))
    }

    /// The workload of each thread.
    pub fn workload(&self, matrix: &Matrix) -> Result<Workload, CellError> {
        let Group { random, read, .. } = self.group;
        let rw = match (read, random > 0) {
            (100, false) => Rw::Read,
            (100, true) => Rw::RandRead,
            (0, false) => Rw::Write,
            (0, true) => Rw::RandWrite,
            (_, false) => Rw::ReadWrite,
            (_, true) => Rw::RandRw,
        };
        let options = WorkloadOptions {
            rw: Some(rw),
            rwmixread: Some(read),
            percentage_random: (random > 0).then_some(random),
            bssplit: Some(matrix.bs[self.size].clone()),
            offset: Some(matrix.offset),
            size: matrix.size,
            runtime: Some(matrix.runtime),
            ramp_time: Some(matrix.ramp_time),
            ..WorkloadOptions::default()
        };
        options.check()
    }
}
