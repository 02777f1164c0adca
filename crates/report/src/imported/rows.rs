//! One row a metric of an arm: trials that a file holds together are averaged, as its tool does.

use drivelab_core::foreign::Imported;
use drivelab_core::record::{Figure, Phase};

/// One metric of one arm.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// The file's name for the machine or configuration.
    pub(super) arm: String,
    /// Its first figure, for all that is the same in every trial.
    pub(super) figure: Figure,
    /// The arithmetic mean, which is what the tools print.
    pub(super) value: f64,
    /// The number of trials.
    pub(super) n: usize,
    /// Their standard deviation with n - 1.
    pub(super) spread: Option<f64>,
}

/// The rows in the order of the file.
pub(super) fn rows(results: &Imported) -> Vec<Row> {
    let mut rows = Vec::new();
    let same = |run: &[drivelab_core::foreign::ImportedRun]| {
        let first = &run[0];
        run.iter().take_while(|it| (&it.arm, it.line) == (&first.arm, first.line)).count()
    };
    let mut rest = &results.runs[..];
    while !rest.is_empty() {
        let (trials, others) = rest.split_at(same(rest));
        rest = others;
        let mut metrics: Vec<(Figure, Vec<f64>)> = Vec::new();
        let mut indexes = std::collections::BTreeMap::new();
        for figure in trials.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics) {
            let index = *indexes.entry(figure.name.clone()).or_insert_with(|| {
                metrics.push((figure.clone(), Vec::new()));
                metrics.len() - 1
            });
            metrics[index].1.push(figure.value);
        }
        rows.extend(metrics.into_iter().map(|(figure, values)| Row {
            arm: trials[0].arm.clone(),
            figure,
            value: mean(&values),
            n: values.len(),
            spread: spread(&values),
        }));
    }
    rows
}

#[expect(clippy::cast_precision_loss, reason = "trials are fewer than 2^52")]
fn mean(values: &[f64]) -> f64 {
    match values {
        [value] => *value,
        _ => values.iter().sum::<f64>() / values.len() as f64,
    }
}

#[expect(clippy::cast_precision_loss, reason = "trials are fewer than 2^52")]
fn spread(values: &[f64]) -> Option<f64> {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    (values.len() > 1).then(|| libm::sqrt(squares / (values.len() - 1) as f64))
}
