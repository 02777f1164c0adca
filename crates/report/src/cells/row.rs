//! The figures of a matrix in several arms.

use drivelab_core::matrix::{Matrix, order};
use serde::Serialize;

/// One cell in one arm: each drive alone, and all together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The arm, by place.
    pub arm: usize,
    /// Where sequential threads go on, by place among the study's ways.
    pub cursor: usize,
    /// Its block.
    pub block: u32,
    /// Share of reads, in percent.
    pub read: u32,
    /// Share of random addresses, in percent.
    pub random: u32,
    /// Threads on each drive.
    pub threads: u32,
    /// Block size, by place in the matrix.
    pub size: usize,
    /// Each drive alone, in bytes a second.
    pub alone: Vec<f64>,
    /// Each drive while all work, in bytes a second.
    pub together: Vec<f64>,
}

impl Row {
    /// All drives together, in bytes a second.
    pub fn sum(&self) -> f64 {
        self.together.iter().sum()
    }

    /// All drives together against the sum of each alone; `None` where nothing moved.
    pub fn scaling(&self) -> Option<f64> {
        let alone: f64 = self.alone.iter().sum();
        (alone > 0.0).then(|| self.sum() / alone)
    }

    /// What makes a cell, whatever its arm, cursor and block.
    pub(crate) fn cell(&self) -> (u32, u32, u32, usize) {
        (self.read, self.random, self.threads, self.size)
    }

    /// The cells of one figure and panel.
    pub(crate) fn group(&self) -> Group {
        Group { random: self.random, threads: self.threads, read: self.read }
    }
}

/// Cells that differ in their block size only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Share of random addresses, in percent.
    pub random: u32,
    /// Threads on each drive.
    pub threads: u32,
    /// Share of reads, in percent.
    pub read: u32,
}

impl Group {
    /// Every group of a matrix, in the order of its figures.
    pub fn all(matrix: &Matrix) -> Vec<Self> {
        let mut groups = Vec::new();
        for &random in &matrix.random {
            for &threads in &matrix.threads {
                for &read in &matrix.read {
                    groups.push(Self { random, threads, read });
                }
            }
        }
        groups
    }

    /// What scripts call it: `sequential-read-20`, `random-mixed50-1`.
    pub fn name(&self) -> String {
        let order = match self.random {
            0 => "sequential".to_owned(),
            100 => "random".to_owned(),
            share => format!("random{share}"),
        };
        let kind = match self.read {
            100 => "read".to_owned(),
            0 => "write".to_owned(),
            share => format!("mixed{share}"),
        };
        format!("{order}-{kind}-{}", self.threads)
    }

    /// What people call it.
    pub fn words(&self) -> String {
        let order = order(self.random);
        let kind = match self.read {
            100 => "reads".to_owned(),
            0 => "writes".to_owned(),
            share => format!("{share} % reads"),
        };
        let plural = if self.threads == 1 { "thread" } else { "threads" };
        format!("{order} {kind}, {} {plural} a drive", self.threads)
    }
}

/// The mean over blocks of each cell, in the order in which cells first occur.
pub(crate) fn over_blocks(rows: &[Row]) -> Vec<Row> {
    let mut means: Vec<(Row, f64)> = Vec::new();
    for row in rows {
        let same = |(known, _): &&mut (Row, f64)| {
            (known.arm, known.cursor, known.cell()) == (row.arm, row.cursor, row.cell())
        };
        let Some((known, n)) = means.iter_mut().find(same) else {
            means.push((row.clone(), 1.0));
            continue;
        };
        *n += 1.0;
        let added = |mine: &mut Vec<f64>, theirs: &[f64]| {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += (theirs - *mine) / *n;
            }
        };
        added(&mut known.alone, &row.alone);
        added(&mut known.together, &row.together);
    }
    means.into_iter().map(|(row, _)| Row { block: 0, ..row }).collect()
}
