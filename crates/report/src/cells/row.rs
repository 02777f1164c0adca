//! The figures of a matrix in several arms.

pub use drivelab_core::matrix::Group;
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
