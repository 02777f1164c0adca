//! Does the arm that runs first change what the other one measures?

use serde::{Deserialize, Serialize};

use crate::criteria::{Better, Criteria};
use crate::distribution::student;
use crate::numbers::{float, mean, ratio, standard_deviation};
use crate::pair::{Arm, Pair};

/// Result of the order test: blocks with A first against blocks with B first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderTest {
    /// Blocks in which the baseline ran first.
    pub a_first: usize,
    /// Blocks in which the other arm ran first.
    pub b_first: usize,
    /// Ratio B/A when A ran first, divided by the ratio when B ran first; 1 without an effect.
    pub ratio: f64,
    /// Two-sided p value of "the order makes no difference" (two-sample t test).
    pub p: f64,
    /// At worst the comparison is off by this factor: all of the effect comes from one arm.
    pub bias_max: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderEffect {
    /// No sign of an effect, or a trace.
    None,
    /// An effect that leaves the verdict as it is.
    Harmless,
    /// An effect for which the verdict is withheld.
    Decisive,
}

/// An effect as clear as this withholds any verdict. At 5 % every twentieth sound comparison would
/// go to waste, most tables of a study with twenty.
const CLEAR: f64 = 0.01;
/// Fraction of the margin that the bias may amount to; the same quarter that a run may drift and
/// still be steady. Runs without chance (a simulation) make any trace of order significant, so size
/// counts too.
const TOLERABLE: f64 = 0.25;
/// Fraction of the margin below which an effect is not reported.
const TRACE: f64 = 0.01;

impl OrderEffect {
    /// `robust`: the verdict stays the same if the result is off by the whole bias.
    pub(super) fn new(test: &OrderTest, robust: bool, criteria: &Criteria) -> Self {
        let large = test.bias_max > ratio(TOLERABLE * criteria.bound());
        let trace = test.bias_max <= ratio(TRACE * criteria.bound());
        if trace || test.p > criteria.alpha {
            Self::None
        } else if large && (test.p <= CLEAR || !robust) {
            Self::Decisive
        } else {
            Self::Harmless
        }
    }
}

/// Compares the log ratios of the two orders; `None` without at least two blocks of each.
///
/// The effect sought lasts from one run to the next (a cache left dirty, a warm drive). Each order
/// carries it with opposite sign or only one carries it: in both cases the log ratios differ, and
/// the mean is off by at most half the difference.
pub(super) fn test(pairs: &[Pair], better: Better) -> Option<OrderTest> {
    let (a, b) = (log_ratios(pairs, Arm::A, better), log_ratios(pairs, Arm::B, better));
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (n_a, n_b) = (float(a.len()), float(b.len()));
    // Pooled variance: both orders run the same two arms, so they vary alike.
    let df = n_a + n_b - 2.0;
    let pooled = (squares(&a) + squares(&b)) / df;
    let error = (pooled * (1.0 / n_a + 1.0 / n_b)).sqrt();
    let effect = mean(&a) - mean(&b);
    let p = match (effect.abs() > 0.0, error > 0.0) {
        (false, _) => 1.0,
        // Runs without any variation: a difference, however small, is not chance.
        (true, false) => 0.0,
        (true, true) => student::two_sided(effect / error, df),
    };
    Some(OrderTest {
        a_first: a.len(),
        b_first: b.len(),
        ratio: ratio(effect),
        p,
        bias_max: ratio(0.5 * effect.abs()),
    })
}

/// The log ratios of the blocks in which `first` ran first.
fn log_ratios(pairs: &[Pair], first: Arm, better: Better) -> Vec<f64> {
    let chosen = pairs.iter().filter(|pair| pair.first == Some(first));
    chosen.map(|pair| pair.log_ratio(better)).collect()
}

/// The sum of squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    standard_deviation(values).powi(2) * (float(values.len()) - 1.0)
}
