//! The logarithms of two groups of values.

use crate::criteria::Better;
use crate::distribution::rank_sum;
use crate::interval::{Interval, RankInterval, float, mean, standard_deviation};

/// The values of two arms, in the unit of the metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// Of the baseline.
    pub a: Vec<f64>,
    /// Of the arm compared with it.
    pub b: Vec<f64>,
}

impl Groups {
    /// The logarithms, turned so that more is better.
    pub(super) fn shift(&self, better: Better) -> Shift {
        let logs = |values: &[f64]| {
            assert!(!values.is_empty(), "an arm has at least one run");
            let log = |value: &f64| {
                assert!(value.is_finite() && *value > 0.0, "{value} has no logarithm");
                match better {
                    Better::More => libm::log(*value),
                    Better::Less => 0.0 - libm::log(*value),
                }
            };
            let mut logs: Vec<f64> = values.iter().map(log).collect();
            // Sums depend on their order in the last bit; the order of runs must not matter.
            logs.sort_unstable_by(f64::total_cmp);
            logs
        };
        Shift { a: logs(&self.a), b: logs(&self.b) }
    }
}

/// Sorted logarithms; the second group is better where the difference is positive.
#[derive(Debug, Clone)]
pub(super) struct Shift {
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
}

impl Shift {
    pub(super) fn mean(&self) -> f64 {
        mean(&self.b) - mean(&self.a)
    }

    /// The squared error of the mean of a group; `None` where it is unknown.
    #[expect(clippy::unused_self, reason = "said of the groups of a shift")]
    pub(super) fn squared_error(&self, logs: &[f64]) -> Option<f64> {
        let sd = standard_deviation(logs);
        (sd > 0.0).then(|| sd * sd / float(logs.len()))
    }

    /// All differences between the groups, in order.
    fn differences(&self) -> Vec<f64> {
        let mut all: Vec<f64> =
            self.b.iter().flat_map(|b| self.a.iter().map(move |a| b - a)).collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    /// The Hodges-Lehmann estimate of the shift.
    pub(super) fn median(&self) -> f64 {
        let all = self.differences();
        let middle = all.len() / 2;
        if all.len() % 2 == 1 { all[middle] } else { mean(&all[middle - 1..=middle]) }
    }

    /// The limits of the shift that the ranks allow.
    pub(super) fn rank_interval(&self, confidence: f64) -> Option<RankInterval> {
        let tail = 0.5 * (1.0 - confidence) + 1e-12;
        let (k, left) = rank_sum::cut(self.a.len(), self.b.len(), tail)?;
        let all = self.differences();
        let interval = Interval { lo: all[k - 1], hi: all[all.len() - k] };
        Some(RankInterval { interval, confidence: 1.0 - 2.0 * left })
    }
}
