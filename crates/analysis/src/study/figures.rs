//! The outcome of a study, as numbers that a list of kept runs shows.

use drivelab_core::record::{Better, Figure};
use drivelab_stats::Better as Direction;

use super::StudyResult;
use crate::outcome::geometric_mean;

/// The ratio of the primary metric, `WORKLOAD.METRIC.ratio`, above 1 where the candidate is better;
/// then the geometric mean of each metric in each arm, `ARM/WORKLOAD.METRIC`.
pub fn figures(result: &StudyResult) -> Vec<Figure> {
    let primary = result.primary();
    let name = format!("{}.ratio", result.series_of(primary).name);
    let ratio = Figure::new(name, primary.adjusted.comparison.ratio, Better::More);
    let names = result.names();
    let of_arms = result.series.iter().flat_map(|series| {
        let better = match series.better {
            Direction::More => Better::More,
            Direction::Less => Better::Less,
        };
        names.iter().zip(&series.values).map(move |(arm, values)| Figure {
            unit: series.unit.clone(),
            ..Figure::new(format!("{arm}/{}", series.name), geometric_mean(values), better)
        })
    });
    std::iter::once(ratio).chain(of_arms).collect()
}
