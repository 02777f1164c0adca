//! The logarithms of two groups of values.

use crate::criteria::Better;
use crate::distribution::rank_sum;
use crate::interval::{Interval, RankInterval, select};
use crate::numbers::{float, mean, standard_deviation};

/// The values of two arms, in the unit of the metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// Of the baseline.
    pub a: Vec<f64>,
    /// Of the arm compared with it.
    pub b: Vec<f64>,
}

impl Groups {
    /// The logarithms, with signs such that more is better.
    pub(super) fn shift(&self, better: Better) -> Shift {
        Shift { a: sorted_logs(&self.a, better), b: sorted_logs(&self.b, better) }
    }
}

fn sorted_logs(values: &[f64], better: Better) -> Vec<f64> {
    assert!(!values.is_empty(), "an arm has at least one run");
    let mut logs = Vec::with_capacity(values.len());
    for value in values {
        assert!(value.is_finite() && *value > 0.0, "{value} has no logarithm");
        logs.push(match better {
            Better::More => libm::log(*value),
            // A subtraction: the negated logarithm of 1 would be -0, which sorts below 0.
            Better::Less => 0.0 - libm::log(*value),
        });
    }
    // Sums depend on their order in the last bit; the order of runs must not matter.
    logs.sort_unstable_by(f64::total_cmp);
    logs
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

    /// The number of differences between the groups.
    fn count(&self) -> u64 {
        self.a.len() as u64 * self.b.len() as u64
    }

    /// The `k`-th smallest difference (from 1), without the differences in memory: of 30,000 runs
    /// an arm these are 900 million.
    fn difference(&self, k: u64) -> f64 {
        debug_assert!(1 <= k && k <= self.count());
        let ends = self.a.first().zip(self.a.last()).zip(self.b.first().zip(self.b.last()));
        let ((a_min, a_max), (b_min, b_max)) = ends.expect("an arm has at least one run");
        let limits = Interval { lo: b_min - a_max, hi: b_max - a_min };
        select(limits, k, |limit| self.differences_up_to(limit))
    }

    /// The number of differences of at most `limit`, in linear time: both groups are in order.
    fn differences_up_to(&self, limit: f64) -> u64 {
        let (mut count, mut below) = (0, 0);
        for a in &self.a {
            // As `a` grows, more of the second group come within the limit.
            while below < self.b.len() && self.b[below] - a <= limit {
                below += 1;
            }
            count += below as u64;
        }
        count
    }

    /// The Hodges-Lehmann estimate of the shift.
    pub(super) fn median(&self) -> f64 {
        let differences = self.count();
        let upper = self.difference(differences / 2 + 1);
        if differences % 2 == 1 { upper } else { mean(&[self.difference(differences / 2), upper]) }
    }

    /// The limits of the shift that the ranks allow.
    pub(super) fn rank_interval(&self, confidence: f64) -> Option<RankInterval> {
        // Tails of ranks are discrete: the rounding of `1.0 - confidence` must not cost a rank.
        let tail = 0.5 * (1.0 - confidence) + 1e-12;
        let (k, left) = rank_sum::cut(self.a.len(), self.b.len(), tail)?;
        let k = k as u64;
        let (lo, hi) = (self.difference(k), self.difference(self.count() + 1 - k));
        let interval = Interval { lo, hi };
        Some(RankInterval { interval, confidence: 1.0 - 2.0 * left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The k-th smallest difference by making and sorting all of them.
    fn by_sorting(shift: &Shift) -> Vec<f64> {
        let all = shift.b.iter().flat_map(|b| shift.a.iter().map(move |a| b - a));
        let mut all: Vec<f64> = all.collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    proptest::proptest! {
        #[test]
        fn a_difference_is_selected_to_the_bit(
            a in proptest::collection::vec(1e-3..1e9_f64, 1..40),
            b in proptest::collection::vec(1e-3..1e9_f64, 1..40),
            rounded: bool,
        ) {
            // Rounded values have ties.
            let round = |values: Vec<f64>| -> Vec<f64> {
                let round = |it: f64| if rounded { (it / 1e8).ceil() } else { it };
                values.into_iter().map(round).collect()
            };
            let groups = Groups { a: round(a), b: round(b) };
            for better in [Better::More, Better::Less] {
                let shift = groups.shift(better);
                let sorted = by_sorting(&shift);
                for (k, expected) in (1..).zip(&sorted) {
                    proptest::prop_assert_eq!(shift.difference(k).to_bits(), expected.to_bits());
                }
            }
        }
    }

    #[test]
    fn thirty_thousand_runs_an_arm_need_no_memory_for_their_pairs() {
        let values = |from: u32| (0..30_000).map(|i| 100.0 + f64::from(from + i % 997)).collect();
        let groups = Groups { a: values(0), b: values(5) };
        let shift = groups.shift(Better::More);
        assert!(shift.median() > 0.0);
        assert!(shift.rank_interval(0.95).is_some());
    }
}
