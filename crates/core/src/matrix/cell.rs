//! One cell of a matrix.

use serde::{Deserialize, Serialize};

use super::{CellError, Matrix};
use crate::workload::{BlockSizes, Rw, Workload, WorkloadOptions};

/// One combination of everything that is varied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Which time it is measured, from 0.
    pub block: u32,
    /// The target, by its place in the matrix; all at once where absent.
    pub target: Option<usize>,
    /// Share of reads, in percent.
    pub read: u32,
    /// Share of random addresses, in percent; the others follow the request before.
    pub random: u32,
    /// Threads on each target.
    pub threads: u32,
    /// Block size.
    pub bs: BlockSizes,
}

impl Cell {
    /// What names it among the cells of its matrix.
    pub fn key(&self, matrix: &Matrix) -> String {
        let target = self.target.map_or("all", |target| matrix.targets[target].as_str());
        let (order, Self { block, read, threads, bs, .. }) = (order(self.random), self);
        let threads = plural(*threads);
        format!("{block}: {target}, {read} % read, {order}, {threads}, {bs}")
    }

    /// What each thread does.
    pub fn workload(&self, matrix: &Matrix) -> Result<Workload, CellError> {
        let rw = match (self.read, self.random > 0) {
            (100, false) => Rw::Read,
            (100, true) => Rw::RandRead,
            (0, false) => Rw::Write,
            (0, true) => Rw::RandWrite,
            (_, false) => Rw::ReadWrite,
            (_, true) => Rw::RandRw,
        };
        let options = WorkloadOptions {
            rw: Some(rw),
            rwmixread: Some(self.read),
            percentage_random: (self.random > 0).then_some(self.random),
            bssplit: Some(self.bs.clone()),
            offset: Some(matrix.offset),
            size: matrix.size,
            runtime: Some(matrix.runtime),
            ramp_time: Some(matrix.ramp_time),
            ..WorkloadOptions::default()
        };
        options.check()
    }
}

/// A number of threads in words.
pub fn plural(threads: u32) -> String {
    if threads == 1 { "1 thread".into() } else { format!("{threads} threads") }
}

/// A share of random addresses in words.
pub fn order(random: u32) -> String {
    match random {
        0 => "sequential".into(),
        100 => "random".into(),
        share => format!("{share} % random"),
    }
}
