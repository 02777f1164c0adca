//! Cells as runs of a study: a workload for each group, its figures over all block sizes.

use drivelab_core::Histogram;
use drivelab_core::matrix::Matrix;
use drivelab_core::record::{Better, Figure, MarkId};

use super::{Cells, Row};
use crate::outcome::geometric_mean;
use crate::study::{RunSample, WorkloadInfo};

/// The names of the metrics that each group has: geometric means over the block sizes of the rate
/// of all drives together and of scaling; then the lowest and highest of these rates, and the
/// highest that a drive reaches alone.
pub const METRICS: &[&str] =
    &["bytes_per_s", "scaling", "worst_bytes_per_s", "best_bytes_per_s", "best_alone_bytes_per_s"];

/// The groups of a matrix as workloads of an experiment.
pub fn workloads(matrix: &Matrix) -> Vec<WorkloadInfo> {
    matrix
        .groups()
        .iter()
        .map(|group| WorkloadInfo {
            name: group.name(),
            summary: format!("{}, over all block sizes", group.words()),
            headline: if matrix.has_all() { "scaling" } else { "bytes_per_s" }.into(),
        })
        .collect()
}

/// One sample for every arm, block and group whose cells are all there, at the first cursor.
pub fn samples(cells: &Cells) -> Vec<RunSample> {
    let mut runs: Vec<(usize, u32)> = cells.rows.iter().map(|row| (row.arm, row.block)).collect();
    runs.sort_unstable();
    runs.dedup();
    let mut samples = Vec::new();
    for (arm, block) in runs {
        for (workload, group) in cells.matrix.groups().into_iter().enumerate() {
            let rows = cells.rows.iter().filter(|row| {
                (row.arm, row.block, row.cursor, row.group) == (arm, block, 0, group)
            });
            let rows: Vec<&Row> = rows.collect();
            // Those of an interrupted study are made later.
            let is_open =
                rows.iter().any(|row| row.alone.contains(&None) || row.together.contains(&None));
            if rows.len() < cells.matrix.bs.len() || is_open {
                continue;
            }
            let (metrics, latency) = (metrics(&rows), Histogram::empty());
            let is_void = rows.iter().any(|row| row.is_void);
            samples.push(RunSample {
                arm,
                workload,
                block,
                repeat: 0,
                position: rows[0].position,
                metrics,
                latency,
                flaws: Vec::new(),
                marks: if is_void { vec![MarkId::Void] } else { Vec::new() },
                target: String::new(),
                specimen: None,
                hosts: Vec::new(),
                start_skew: None,
            });
        }
    }
    samples
}

fn metrics(rows: &[&Row]) -> Vec<Figure> {
    let sums = of_each(rows, Row::sum);
    let values = [
        sums.as_deref().map(geometric_mean),
        of_each(rows, Row::scaling).as_deref().map(geometric_mean),
        sums.as_deref().map(least),
        sums.as_deref().map(most),
        // Of one drive it would only repeat the highest rate.
        of_each(rows, Row::mean_alone).as_deref().filter(|_| rows[0].alone.len() > 1).map(most),
    ];
    debug_assert_eq!(METRICS.len(), values.len(), "a name for each value");
    let found = METRICS.iter().zip(values).filter_map(|(name, value)| Some((name, value?)));
    found.map(|(name, value)| Figure::new(*name, value, Better::More)).collect()
}

/// A figure of each row; `None` if a row lacks it.
fn of_each(rows: &[&Row], value: fn(&Row) -> Option<f64>) -> Option<Vec<f64>> {
    rows.iter().map(|row| value(row)).collect()
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}
