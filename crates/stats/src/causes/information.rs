//! The information that a measurement not yet made is expected to give.

use super::density::{Evidence, Noisy, Predicted};

/// A hypothesis before a measurement: its probability, and what it says about the one new ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook {
    /// The probability.
    pub probability: f64,
    /// The effect on the new ratio alone.
    pub predicted: Predicted,
}

/// Logarithms of ratios further from 0 than this are not looked at: a factor of 3,000.
const FURTHEST: f64 = 8.0;
/// Steps of the integration over them; narrower ones change the third digit.
const STEPS: u32 = 1_600;

/// The expected information in bits: by how much the entropy of the hypotheses falls, on average
/// over what may be measured with the deviation `sd`.
pub fn information(outlooks: &[Outlook], sd: f64) -> f64 {
    let width = 2.0 * FURTHEST / f64::from(STEPS);
    let mut bits = 0.0;
    for step in 0..STEPS {
        let log_ratio = (f64::from(step) + 0.5) * width - FURTHEST;
        let evidence = Evidence { figures: vec![Noisy { log_ratio, sd }] };
        let densities: Vec<f64> =
            outlooks.iter().map(|it| libm::exp(it.predicted.log_density(&evidence))).collect();
        let mixed: f64 =
            outlooks.iter().zip(&densities).map(|(it, density)| it.probability * density).sum();
        for (it, density) in outlooks.iter().zip(&densities) {
            if it.probability > 0.0 && *density > 0.0 {
                bits += it.probability * density * libm::log2(density / mixed) * width;
            }
        }
    }
    bits.max(0.0)
}
