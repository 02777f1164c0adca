//! An unknown number of a fit, with its prior.

use crate::unknown::{Distribution, Nature, Prior};

/// An unknown number of a fit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unknown {
    /// Its key in a profile.
    pub(super) key: &'static str,
    /// Unit after its number in a profile.
    pub(super) unit: &'static str,
    /// Lower bound for extreme scores.
    least: f64,
    nature: Nature,
    prior: Distribution,
}

impl Unknown {
    /// An unknown for `key`; `unit` and `least` apply to times only.
    pub(super) fn new(key: &'static str, prior: &Prior, unit: &'static str, least: f64) -> Self {
        let is_time = prior.nature == Nature::Time;
        let (unit, least) = if is_time { (unit, least) } else { ("", f64::NEG_INFINITY) };
        Self { key, unit, least, nature: prior.nature, prior: prior.distribution.clone() }
    }

    /// Ratio of the unit to that of the prior, nanoseconds for times.
    fn scale(&self) -> f64 {
        match self.unit {
            "ms" => 1e6,
            "us" => 1e3,
            _ => 1.0,
        }
    }

    /// The number at a standard normal deviate.
    pub(super) fn at(&self, score: f64) -> f64 {
        let value = self.prior.at_score(score) / self.scale();
        match self.nature {
            // A drive has at least one die and one channel.
            Nature::Whole => libm::round(value).max(1.0),
            _ => value.max(self.least),
        }
    }

    /// The deviate of a number, limited to twelve so that extreme ones stay finite.
    pub(super) fn score(&self, value: f64) -> f64 {
        self.prior.score_of(value * self.scale()).clamp(-12.0, 12.0)
    }

    /// The regressor for the emulator, closer to linear in the figures than the deviate.
    pub(super) fn term(&self, score: f64) -> f64 {
        match self.nature {
            // The rounded number, since the drive is simulated with that.
            Nature::Whole => self.prior.even(self.score(self.at(score))),
            _ => self.prior.even(score),
        }
    }
}
