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
    /// Each drive alone, in bytes a second; none where it was not measured.
    pub alone: Vec<Option<f64>>,
    /// Each drive while all work, in bytes a second.
    pub together: Vec<Option<f64>>,
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

    /// All drives together against the sum of each alone; none where nothing moved.
    pub fn scaling(&self) -> Option<f64> {
        let alone = sum(&self.alone).filter(|alone| *alone > 0.0)?;
        Some(self.sum()? / alone)
    }

    /// What makes a cell, whatever its arm, cursor and block.
    pub(super) fn cell(&self) -> (u32, u32, u32, usize) {
        (self.read, self.random, self.threads, self.size)
    }

    /// The cells of one figure and panel.
    pub(super) fn group(&self) -> Group {
        Group { random: self.random, threads: self.threads, read: self.read }
    }
}

/// The sum of rates; none where one is missing, or where there are none.
fn sum(rates: &[Option<f64>]) -> Option<f64> {
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
    let key = |row: &Row| (row.arm, row.cursor, row.cell());
    for row in rows {
        match cells.iter_mut().find(|same| key(same[0]) == key(row)) {
            Some(same) => same.push(row),
            None => cells.push(vec![row]),
        }
    }
    let average = |same: Vec<&Row>| {
        let of = |rates: fn(&Row) -> &Vec<Option<f64>>| -> Vec<Option<f64>> {
            let drives = 0..rates(same[0]).len();
            drives.map(|drive| mean(same.iter().filter_map(|row| rates(row)[drive]))).collect()
        };
        Row {
            block: 0,
            alone: of(|row| &row.alone),
            together: of(|row| &row.together),
            ..same[0].clone()
        }
    };
    cells.into_iter().map(average).collect()
}
