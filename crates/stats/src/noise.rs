//! The noise floor of a host: the result of comparing an arm with itself.

use serde::{Deserialize, Serialize};

use crate::compare::{CompareError, Comparison, Verdict, compare};
use crate::criteria::Criteria;
use crate::distribution::student;
use crate::numbers::{float, ratio};
use crate::pair::Pair;

/// The result of an A/A experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Blocks used.
    pub n: usize,
    /// Smallest effect that the mean of this many blocks can show on this host, as a fraction (0.02
    /// is 2 %).
    pub margin: f64,
    /// Largest difference of 19 of 20 pairs of single runs, as a fraction: runs vary more than
    /// their mean does.
    pub single: f64,
    /// Ratio of the arm to itself.
    pub ratio: f64,
    /// Its interval.
    pub ci95: [f64; 2],
    /// The host shows a difference where none exists: find the cause before comparing anything.
    pub biased: bool,
}

/// An A/A experiment without a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoiseFloorError {
    /// Fewer blocks than a verdict needs.
    #[error("{blocks} A/A blocks are too few for a noise floor: run {least} or more")]
    TooFew {
        /// Blocks given, without copies.
        blocks: usize,
        /// Blocks needed.
        least: u32,
    },
    /// The blocks cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
}

/// Returns the noise floor from pairs in which both values are of the same arm.
///
/// The floor is the farther limit of the interval of the ratio: any smaller difference may be due
/// to the host alone.
pub fn noise_floor(aa: &[Pair], criteria: &Criteria) -> Result<NoiseFloor, NoiseFloorError> {
    let result = compare(aa, criteria)?;
    let least = criteria.blocks_min();
    let [lo, hi] = match result.ci95 {
        Some(limits) if result.n >= least as usize => limits,
        _ => return Err(NoiseFloorError::TooFew { blocks: result.n, least }),
    };
    debug_assert!(lo > 0.0 && lo <= hi);
    let single = one_more_pair(&result);
    let biased = matches!(result.verdict, Verdict::Faster | Verdict::Slower | Verdict::Different);
    Ok(NoiseFloor {
        n: result.n,
        margin: hi.max(1.0 / lo) - 1.0,
        single: single - 1.0,
        ratio: result.ratio,
        ci95: [lo, hi],
        biased,
    })
}

/// Returns the farther limit, as a ratio, of the 95 % prediction interval for one more pair.
fn one_more_pair(result: &Comparison) -> f64 {
    let n = float(result.n);
    let half = student::quantile(0.975, n - 1.0) * result.sd_log.unwrap_or(0.0);
    // A prediction for a new pair: its own scatter and the error of the mean.
    ratio(libm::log(result.ratio).abs() + half * (1.0 + 1.0 / n).sqrt())
}

/// Returns the margin to decide by: the user's, but not below the host's noise floor.
pub fn effective_margin(user: f64, floor: &NoiseFloor) -> f64 {
    user.max(floor.margin)
}
