//! The log ratios in one agreed order and orientation.

use crate::criteria::Better;
use crate::interval::Interval;
use crate::numbers::{mean, standard_deviation};
use crate::pair::Pair;

/// Log ratios this close are equal: a logarithm of up to 700 is rounded to 1e-13.
const ROUNDING: f64 = 2e-13;

/// Log ratios, sorted, and mirrored if that comes first in lexical order.
///
/// Sums of floating-point numbers depend on their order in the last bit. With one agreed order,
/// reordered blocks give the same bytes and swapped arms the exact mirror image.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) sorted: Vec<f64>,
    /// The signs were reversed.
    pub(super) mirrored: bool,
    pub(super) mean: f64,
    pub(super) sd: f64,
}

impl Sample {
    pub(super) fn new(pairs: &[Pair], better: Better) -> Self {
        // Adding zero turns -0 into 0: sorting would separate the two.
        let mut sorted: Vec<f64> = pairs.iter().map(|p| p.log_ratio(better) + 0.0).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let turned: Vec<f64> = sorted.iter().rev().map(|d| 0.0 - d).collect();
        let mirrored = turned < sorted;
        if mirrored {
            sorted = turned;
        }
        debug_assert!(sorted.is_sorted());
        // Values within rounding become equal, so that "no variation" does not depend on the last
        // bit.
        if let [first, .., last] = sorted[..]
            && last - first <= ROUNDING
        {
            sorted.fill(first);
        }
        let (mean, sd) = (mean(&sorted), standard_deviation(&sorted));
        Self { sorted, mirrored, mean, sd }
    }

    /// Returns -1 if results must be turned back, else 1.
    pub(super) fn sign(&self) -> f64 {
        if self.mirrored { -1.0 } else { 1.0 }
    }

    /// Turns an interval back to the orientation of the data.
    pub(super) fn oriented(&self, interval: Interval) -> Interval {
        if self.mirrored {
            Interval { lo: 0.0 - interval.hi, hi: 0.0 - interval.lo }
        } else {
            interval
        }
    }

    pub(super) fn has_variation(&self) -> bool {
        self.sorted.first() != self.sorted.last()
    }

    /// Counts the different log ratios.
    pub(super) fn distinct(&self) -> usize {
        1 + self.sorted.windows(2).filter(|w| w[0] < w[1]).count()
    }
}
