//! Means of log values over blocks, with intervals that hold together.

mod interaction;
mod main_effects;

pub use interaction::{Contrast, Factorial, FactorialError, Interacts, interacts};
pub use main_effects::{MAIN_EFFECTS_MIN, MainEffect, MainEffects, main_effects};

use serde::{Deserialize, Serialize};

use crate::family::{Critical, simultaneous};
use crate::interval::Interval;
use crate::numbers::{float, mean, ratio, standard_deviation};

/// The mean of a row of log values, one a block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The mean, as a ratio.
    pub ratio: f64,
    /// Its interval, which holds together with those of the other rows; needs two blocks.
    pub ci95: Option<[f64; 2]>,
}

impl Effect {
    /// True if the whole interval lies between the limits of `margin`, a fraction.
    pub fn is_within(&self, margin: f64) -> bool {
        let bound = 1.0 + margin;
        self.ci95.is_some_and(|[lo, hi]| 1.0 / bound < lo && hi < bound)
    }

    /// True if the interval does not contain 1.
    pub fn is_shown(&self) -> bool {
        self.ci95.is_some_and(|[lo, hi]| lo > 1.0 || hi < 1.0)
    }
}

/// Returns the mean of each row with an interval: all of them contain their truth with confidence
/// 1 - `alpha`.
///
/// Rows are measured in the same blocks, and their correlation is kept (max-T with sign flips of
/// the residuals); one row alone has Student's interval.
///
/// # Panics
/// If the rows differ in length.
pub fn effects(rows: &[Vec<f64>], alpha: f64, seed: u64) -> Vec<Effect> {
    debug_assert!(alpha > 0.0 && alpha < 1.0);
    let blocks = rows.first().map_or(0, Vec::len);
    let critical = match rows.len() {
        0 => return Vec::new(),
        1 => Critical::bonferroni(blocks, 1, alpha),
        _ => simultaneous(rows, alpha, seed),
    };
    rows.iter().map(|row| effect(row, critical.difference)).collect()
}
fn effect(row: &[f64], critical: f64) -> Effect {
    let (centre, sd) = (mean(row), standard_deviation(row));
    // Without variation the interval is a point, however far the critical value.
    let half = if sd > 0.0 { critical * sd / float(row.len()).sqrt() } else { 0.0 };
    let interval = Interval { lo: centre - half, hi: centre + half };
    Effect { ratio: ratio(centre), ci95: (row.len() > 1).then(|| interval.ratios()) }
}
