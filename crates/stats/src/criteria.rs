//! The rules of a comparison, fixed before looking at the data.

use serde::{Deserialize, Serialize};

/// The usual significance level.
pub const ALPHA_DEFAULT: f64 = 0.05;

/// The direction of a metric that is an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Throughput: more is better.
    More,
    /// Latency: less is better.
    Less,
}

/// The origin of the values, which decides the meaning of equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// A file from any source: blocks that repeat exactly may be copies, and copies do not count.
    #[default]
    Unknown,
    /// The caller made every run itself: equal values are ties of a coarse metric.
    OwnRuns,
    /// The caller simulated every run: even a ratio without any variation is to be expected.
    Simulated,
}

/// The rules of one comparison, fixed before the data are seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    /// Smallest effect that matters, as a fraction: 0.03 is 3 %. Above 0, at most 1.
    pub margin: f64,
    /// The direction that is an improvement.
    pub better: Better,
    /// Two-sided significance level, 0.0001 to 0.2; the main interval has confidence 1 - alpha.
    pub alpha: f64,
    /// Seed of the random sign flips (used above 16 blocks only).
    pub seed: u64,
    /// Origin of the values.
    pub provenance: Provenance,
}

/// Criteria that allow no decision.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum CriteriaError {
    /// The margin is not in (0, 1].
    #[error(
        "the margin is {0}, but must be above 0 and at most 1 (100 %): give \
         the smallest change worth acting on, for example 0.03 for 3 %"
    )]
    Margin(f64),
    /// The significance level is not in [0.0001, 0.2].
    #[error(
        "the significance level alpha is {0}, but must be between 0.0001 and 0.2: 0.05 is usual"
    )]
    Alpha(f64),
}

impl Criteria {
    /// Builds criteria at the usual level of 5 %.
    pub fn new(margin: f64, better: Better, seed: u64) -> Result<Self, CriteriaError> {
        let criteria =
            Self { margin, better, alpha: ALPHA_DEFAULT, seed, provenance: Provenance::Unknown };
        criteria.check()?;
        Ok(criteria)
    }

    /// Replaces the significance level.
    pub fn with_alpha(self, alpha: f64) -> Result<Self, CriteriaError> {
        let criteria = Self { alpha, ..self };
        criteria.check()?;
        Ok(criteria)
    }

    /// Sets the origin of the values.
    #[must_use]
    pub fn with_provenance(self, provenance: Provenance) -> Self {
        Self { provenance, ..self }
    }

    /// Checks that the fields are in range; `compare` checks again, because they are public.
    pub fn check(&self) -> Result<(), CriteriaError> {
        // Written so that a NaN fails.
        if !(self.margin > 0.0 && self.margin <= 1.0) {
            return Err(CriteriaError::Margin(self.margin));
        }
        if !(0.0001..=0.2).contains(&self.alpha) {
            return Err(CriteriaError::Alpha(self.alpha));
        }
        Ok(())
    }

    /// Returns the fewest blocks that can give a verdict.
    ///
    /// Six at 5 %: a two-sided signed-rank test of n values cannot go below 2 / 2^n, which is
    /// 2/32 with five and 2/64 with six. A stricter level takes more, a laxer one no fewer.
    pub fn blocks_min(&self) -> u32 {
        let mut blocks = 6;
        // 2 / 2^blocks, exactly: a power of two has no rounding.
        while libm::ldexp(2.0, -blocks) > self.alpha {
            blocks += 1;
        }
        blocks.unsigned_abs()
    }

    /// Returns the equivalence bound on the log scale, ln(1 + margin).
    ///
    /// The bounds are symmetric in the logarithm, 1/(1 + margin) to 1 + margin as a ratio, so that
    /// swapping the arms mirrors the verdict exactly.
    pub fn bound(&self) -> f64 {
        // log1p keeps the digits of a margin of a thousandth.
        libm::log1p(self.margin)
    }
}
