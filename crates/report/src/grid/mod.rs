//! A matrix in several arms: how well drives work together behind each controller, and whether
//! what somebody stated about it holds.

mod finding;
mod heat;
mod json;
mod page;
#[cfg(test)]
mod tests;
mod text;

pub use crate::cells::{Group, Row};
pub use finding::{Answer, Cells, Figure, Finding, Held, Measure, On, Reading, Take, Test};
pub use json::json;
pub use page::html;
pub use text::text;

use drivelab_core::Histogram;
use drivelab_core::matrix::Matrix;
use drivelab_stats::Better;

use crate::cells::over_blocks;
use crate::outcome::geometric_mean;
use crate::study::{MetricValue, RunSample, StudyResult, WorkloadInfo};

/// What a matrix study was and what it gave.
#[derive(Debug, Clone)]
pub struct Grid {
    /// Arms, notes, and what the statistics say of each group of cells.
    pub study: StudyResult,
    /// The cells.
    pub matrix: Matrix,
    /// Where sequential threads go on: the first is the one that figures show.
    pub cursors: Vec<String>,
    /// What each arm costs, in dollars.
    pub prices: Vec<Option<f64>>,
    /// The mean over blocks of every cell.
    pub cells: Vec<Row>,
    /// What became of each stated finding.
    pub answers: Vec<Answer>,
}

/// What a matrix study is made of, besides its statistics.
#[derive(Debug, Clone)]
pub struct Given {
    /// The cells.
    pub matrix: Matrix,
    /// Where sequential threads go on.
    pub cursors: Vec<String>,
    /// What each arm costs, in dollars.
    pub prices: Vec<Option<f64>>,
    /// What was stated.
    pub findings: Vec<Finding>,
    /// Every cell of every arm and block.
    pub rows: Vec<Row>,
}

impl Grid {
    /// Holds the findings against the rows.
    pub fn new(study: StudyResult, given: Given) -> Self {
        let Given { matrix, cursors, prices, findings, rows } = given;
        let (cells, answers) = (over_blocks(&rows), Vec::new());
        let mut grid = Self { study, matrix, cursors, prices, cells, answers };
        grid.answers = finding::answers(&grid, &findings);
        grid
    }

    /// Every cell of an arm with one cursor; where the cursor plays no part, the only one there is.
    fn cells_of(&self, arm: usize, cursor: usize) -> Vec<&Row> {
        let of_arm = || self.cells.iter().filter(move |row| row.arm == arm);
        let first = of_arm().filter(|row| row.cursor == 0);
        let with = |row: &'_ Row| {
            let cell = row.cell();
            of_arm().find(|other| other.cursor == cursor && other.cell() == cell)
        };
        first.map(|row| with(row).unwrap_or(row)).collect()
    }

    /// The cells of a group in an arm, by block size.
    fn line(&self, arm: usize, cursor: usize, group: Group) -> Vec<&Row> {
        let mut line = self.cells_of(arm, cursor);
        line.retain(|row| row.group() == group);
        line.sort_unstable_by_key(|row| row.size);
        line
    }
}

/// The groups of a matrix as workloads of an experiment.
pub fn workloads(matrix: &Matrix) -> Vec<WorkloadInfo> {
    let workload = |group: &Group| WorkloadInfo {
        name: group.name(),
        summary: format!("{}, over all block sizes", group.words()),
        headline: "scaling".into(),
    };
    Group::all(matrix).iter().map(workload).collect()
}

/// The names of the metrics that each group has.
pub const METRICS: &[&str] = &["bytes_per_s", "scaling"];

/// One sample for every arm, block and group: the geometric means over block sizes, at the first
/// cursor.
pub fn samples(matrix: &Matrix, rows: &[Row]) -> Vec<RunSample> {
    let mut samples = Vec::new();
    let mut places: Vec<(usize, u32)> = rows.iter().map(|row| (row.arm, row.block)).collect();
    places.sort_unstable();
    places.dedup();
    for (arm, block) in places {
        for (workload, group) in Group::all(matrix).into_iter().enumerate() {
            let of = rows.iter().filter(|row| {
                (row.arm, row.block, row.cursor) == (arm, block, 0) && row.group() == group
            });
            let of: Vec<&Row> = of.collect();
            let rate: Vec<f64> = of.iter().map(|row| row.sum()).collect();
            let scaling: Vec<f64> = of.iter().filter_map(|row| row.scaling()).collect();
            let metric = |name: &str, values: &[f64]| MetricValue {
                name: name.into(),
                value: geometric_mean(values),
                better: Better::More,
            };
            let metrics = vec![metric(METRICS[0], &rate), metric(METRICS[1], &scaling)];
            let position = u32::try_from(arm).expect("few arms");
            let latency = Histogram::default();
            samples.push(RunSample { arm, workload, block, repeat: 0, position, metrics, latency });
        }
    }
    samples
}
