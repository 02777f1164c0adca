//! One block of an experiment: one run of each arm.

use serde::{Deserialize, Serialize};

use crate::criteria::Better;

/// One of the two arms of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// The baseline.
    A,
    /// The arm compared with it.
    B,
}

/// The values of one block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Value of the baseline arm, above zero, in the unit of the metric.
    pub a: f64,
    /// Value of the other arm, in the same unit.
    pub b: f64,
    /// The arm that ran first in this block, if known.
    #[serde(default)]
    pub first: Option<Arm>,
}

/// A value that has no logarithm.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "block {block}, arm {arm:?}: the value {value} is not a finite number above zero; ratios \
     need positive values: a zero often means a failed run or a time too short to measure, \
     drop the whole block or run it again"
)]
pub struct NotPositive {
    /// Index of the block, from 0.
    pub block: usize,
    /// The arm whose value it is.
    pub arm: Arm,
    /// The value.
    pub value: f64,
}

impl Pair {
    /// Builds a pair whose order of execution is unknown.
    pub fn new(a: f64, b: f64) -> Self {
        Self { a, b, first: None }
    }

    /// Notes which arm ran first.
    #[must_use]
    pub fn with_first(self, first: Arm) -> Self {
        Self { first: Some(first), ..self }
    }

    /// Returns the log ratio, positive where B is better.
    ///
    /// A difference of logarithms, not the logarithm of a quotient: swapping the arms then
    /// changes the sign and nothing else.
    pub fn log_ratio(&self, better: Better) -> f64 {
        match better {
            Better::More => libm::log(self.b) - libm::log(self.a),
            Better::Less => libm::log(self.a) - libm::log(self.b),
        }
    }
}

/// Checks that all values have a logarithm.
pub(crate) fn check(pairs: &[Pair]) -> Result<(), NotPositive> {
    for (block, pair) in pairs.iter().enumerate() {
        for (arm, value) in [(Arm::A, pair.a), (Arm::B, pair.b)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(NotPositive { block, arm, value });
            }
        }
    }
    Ok(())
}
