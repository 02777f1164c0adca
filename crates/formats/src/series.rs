//! Results by metric and arm.

use std::collections::BTreeMap;

use drivelab_core::foreign::Imported;
use drivelab_core::record::{Figure, Phase};
use drivelab_stats::numbers::standard_deviation;

/// One metric with the values of every arm.
#[derive(Debug)]
pub(crate) struct Series {
    /// Its first figure, for the attributes that are the same in every run.
    pub(crate) figure: Figure,
    /// By arm, in the order of [`Table::arms`]: the figure of each run that has one, and the index
    /// of the run in its arm, from 1.
    pub(crate) values: Vec<Vec<(usize, Figure)>>,
}

/// All metrics of all arms.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) arms: Vec<String>,
    pub(crate) series: Vec<Series>,
}

impl Table {
    pub(crate) fn new(results: &Imported) -> Self {
        // All arms are collected first, because each series has a list for every arm.
        let (mut arms, mut series): (Vec<String>, Vec<Series>) = Default::default();
        let mut indices: BTreeMap<&str, usize> = BTreeMap::new();
        for run in &results.runs {
            indices.entry(&run.arm).or_insert_with(|| {
                arms.push(run.arm.clone());
                arms.len() - 1
            });
        }
        // Runs are numbered within their arm, as blocks of a comparison are.
        let mut runs = vec![0_usize; arms.len()];
        let mut metrics: BTreeMap<String, usize> = BTreeMap::new();
        for run in &results.runs {
            let arm = indices[run.arm.as_str()];
            runs[arm] += 1;
            for figure in run.phases.iter().flat_map(Phase::metrics) {
                let metric = *metrics.entry(figure.name.clone()).or_insert_with(|| {
                    let values = vec![Vec::new(); arms.len()];
                    series.push(Series { figure: figure.clone(), values });
                    series.len() - 1
                });
                series[metric].values[arm].push((runs[arm], figure));
            }
        }
        debug_assert!(series.iter().all(|it| it.values.len() == arms.len()), "a list for each arm");
        Self { arms, series }
    }
}

/// The standard deviation with n - 1; none for a single value.
pub(crate) fn spread(values: &[f64]) -> Option<f64> {
    (values.len() > 1).then(|| standard_deviation(values))
}
