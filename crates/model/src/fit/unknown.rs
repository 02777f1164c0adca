//! A number that a fit leaves open, with what is known of it before anything is measured.

use crate::unknown::{Distribution, Nature, Prior};

/// A number that a fit leaves open.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unknown {
    /// Its key in a profile.
    pub(super) key: &'static str,
    /// What is written behind its number.
    pub(super) unit: &'static str,
    /// No drive has less, however far out a search looks.
    least: f64,
    nature: Nature,
    prior: Distribution,
}

impl Unknown {
    /// One that is a time in `unit` if it is a time, and at least `least`.
    pub(super) fn new(key: &'static str, prior: &Prior, unit: &'static str, least: f64) -> Self {
        let is_time = prior.nature == Nature::Time;
        let (unit, least) = if is_time { (unit, least) } else { ("", f64::NEG_INFINITY) };
        Self { key, unit, least, nature: prior.nature, prior: prior.distribution.clone() }
    }

    /// How many of the prior's units, nanoseconds, are one of a time here.
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
            Nature::Whole => libm::round(value).max(1.0),
            _ => value.max(self.least),
        }
    }

    /// The deviate of a number, within twelve.
    pub(super) fn score(&self, value: f64) -> f64 {
        self.prior.score_of(value * self.scale()).clamp(-12.0, 12.0)
    }

    /// A number that the figures follow more evenly than they follow the deviate.
    pub(super) fn term(&self, score: f64) -> f64 {
        match self.nature {
            Nature::Whole => self.prior.even(self.score(self.at(score))),
            _ => self.prior.even(score),
        }
    }
}
