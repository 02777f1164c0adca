//! The probability of each hypothesis after the evidence.

use super::density::{Evidence, Hypothesis, Predicted, log_sum};

/// The probability of each hypothesis after the evidence; they add up to 1.
///
/// # Panics
/// There is no hypothesis with a positive prior, or a prediction has not one entry a figure.
pub fn posterior(evidence: &Evidence, hypotheses: &[Hypothesis]) -> Vec<f64> {
    let weighted: Vec<f64> = hypotheses
        .iter()
        .map(|it| libm::log(it.prior) + it.predicted.log_density(evidence))
        .collect();
    // In logarithms: densities of many figures are too small for a number.
    let all = log_sum(&weighted);
    assert!(all.is_finite(), "a hypothesis with a positive prior");
    weighted.iter().map(|it| libm::exp(it - all)).collect()
}

/// The part of each figure in the logarithm of the density under a hypothesis, given all others.
pub fn contributions(evidence: &Evidence, predicted: &Predicted) -> Vec<f64> {
    let whole = predicted.log_density(evidence);
    let figures = evidence.figures.len();
    // Of a single figure all is its own.
    if figures == 1 {
        return vec![whole];
    }
    let of_figure =
        |figure| whole - predicted.without(figure).log_density(&evidence.without(figure));
    (0..figures).map(of_figure).collect()
}
