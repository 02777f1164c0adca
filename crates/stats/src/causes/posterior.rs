//! The probability of each hypothesis after the evidence.

use super::density::{Evidence, Hypothesis, log_sum};

/// The probabilities of hypotheses, and how each figure changed them.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    /// One entry a hypothesis; they add up to 1.
    pub probabilities: Vec<f64>,
    /// The logarithm of the density of all figures, for each hypothesis.
    pub log_densities: Vec<f64>,
    /// For each hypothesis and figure: what the figure adds to the logarithm, given all others.
    pub contributions: Vec<Vec<f64>>,
}

/// The posterior over hypotheses.
///
/// # Panics
/// There is no hypothesis with a positive prior, or a prediction has not one entry a figure.
pub fn posterior(evidence: &Evidence, hypotheses: &[Hypothesis]) -> Posterior {
    let log_densities: Vec<f64> =
        hypotheses.iter().map(|it| it.predicted.log_density(evidence)).collect();
    let weighted: Vec<f64> =
        hypotheses.iter().zip(&log_densities).map(|(it, log)| libm::log(it.prior) + log).collect();
    let all = log_sum(&weighted);
    assert!(all.is_finite(), "a hypothesis with a positive prior");
    let contributions = hypotheses.iter().zip(&log_densities).map(|(it, whole)| {
        let of_figure = |figure| {
            let rest = it.predicted.without(figure).log_density(&evidence.without(figure));
            whole - rest
        };
        match evidence.figures.len() {
            // Of a single figure all is its own.
            1 => vec![*whole],
            figures => (0..figures).map(of_figure).collect(),
        }
    });
    Posterior {
        probabilities: weighted.iter().map(|it| libm::exp(it - all)).collect(),
        contributions: contributions.collect(),
        log_densities,
    }
}
