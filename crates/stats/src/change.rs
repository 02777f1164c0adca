//! Points where a history changes: hints to be confirmed by a fresh comparison, never verdicts.
//!
//! E-divisive (Matteson and James 2014, JASA 109:334) splits a series where the energy distance
//! between its two parts is largest, tests the split by permutation, and continues in both parts.
//! Runs of one machine resemble their neighbours, and a permutation of single runs takes that for
//! a change. Blocks of neighbours are therefore permuted as wholes. A history that wanders is still
//! reported: one in eight where neighbours have a correlation of 0.6, every second at 0.9.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::numbers::{float, median};

/// Runs on each side of a change, at least: with fewer, a single outlier would form a level.
const SIDE_MIN: usize = 5;
/// Permutations of a split: at most one of them may be as distinct as a split that is reported.
const PERMUTATIONS: u32 = 199;
/// Permutations as distinct as the split itself, at most, where it is reported: p is then 1 %.
const AS_DISTINCT_MAX: u32 = 1;
/// Longest series that is examined; of a longer one the end. Time and memory grow with the square.
pub const CHANGE_VALUES_MAX: usize = 300;

/// A point where a history may have changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first value after it.
    pub at: usize,
    /// Median of the values between the change before and this one.
    pub before: f64,
    /// Median of the values from this change to the next.
    pub after: f64,
    /// Share of permutations with a split as distinct as this one.
    pub p: f64,
}

/// Returns the points where `values` may have changed, ascending. Of more than
/// [`CHANGE_VALUES_MAX`] values only the last are examined; values that are not finite are taken as
/// equal to the one before.
pub fn changes(values: &[f64], seed: u64) -> Vec<Change> {
    let skipped = values.len().saturating_sub(CHANGE_VALUES_MAX);
    let series = finite(&values[skipped..]);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut found: Vec<(usize, f64)> = Vec::new();
    let mut open = vec![(0, series.len())];
    // Depth first, but the order does not matter: each part is tested with its own permutations.
    while let Some((start, end)) = open.pop() {
        let Some((at, p)) = split(&series[start..end], &mut rng) else { continue };
        let at = start + at;
        debug_assert!(start < at && at < end);
        found.push((at, p));
        open.extend([(start, at), (at, end)]);
    }
    found.sort_by_key(|(at, _)| *at);
    let mut changes = Vec::with_capacity(found.len());
    for (index, &(at, p)) in found.iter().enumerate() {
        let start = index.checked_sub(1).map_or(0, |before| found[before].0);
        let end = found.get(index + 1).map_or(series.len(), |(next, _)| *next);
        let (before, after) = (median(&series[start..at]), median(&series[at..end]));
        changes.push(Change { at: skipped + at, before, after, p });
    }
    changes
}

fn finite(values: &[f64]) -> Vec<f64> {
    let mut last = values.iter().copied().find(|value| value.is_finite()).unwrap_or(0.0);
    let mut finite = Vec::with_capacity(values.len());
    for value in values {
        if value.is_finite() {
            last = *value;
        }
        finite.push(last);
    }
    finite
}

/// The most distinct split of a series and its p, if it is reported.
fn split(series: &[f64], rng: &mut Xoshiro256PlusPlus) -> Option<(usize, f64)> {
    // A shorter series has no split with enough values on both sides.
    if series.len() < 2 * SIDE_MIN {
        return None;
    }
    let distances = Distances::new(series);
    let mut order: Vec<usize> = (0..series.len()).collect();
    let (at, observed) = distances.best(&order)?;
    let block = block_length(series.len());
    let mut as_distinct = 0_u32;
    for _ in 0..PERMUTATIONS {
        // All are drawn, so that what one split finds does not depend on how soon another failed.
        permute(&mut order, block, rng);
        // The split is already refuted: only the random draws remain to be used up.
        if as_distinct > AS_DISTINCT_MAX {
            continue;
        }
        let best = distances.best(&order).map_or(0.0, |(_, best)| best);
        as_distinct += u32::from(best >= observed);
    }
    let p = f64::from(as_distinct + 1) / f64::from(PERMUTATIONS + 1);
    (as_distinct <= AS_DISTINCT_MAX).then_some((at, p))
}

/// Length of a block: the cube root of the length, the usual rate of block resampling (Hall,
/// Horowitz and Jing 1995, Biometrika 82:561).
fn block_length(n: usize) -> usize {
    let mut root = 1;
    while (root + 1) * (root + 1) * (root + 1) <= n {
        root += 1;
    }
    root
}

/// Puts blocks of neighbours, cut from a random offset on around the end, in random order.
fn permute(order: &mut [usize], block: usize, rng: &mut Xoshiro256PlusPlus) {
    let n = order.len();
    let offset = below(block, rng);
    let mut starts: Vec<usize> = (0..n.div_ceil(block)).map(|number| number * block).collect();
    for last in (1..starts.len()).rev() {
        starts.swap(last, below(last + 1, rng));
    }
    let mut filled = 0;
    for start in starts {
        for index in start..(start + block).min(n) {
            order[filled] = (index + offset) % n;
            filled += 1;
        }
    }
    // Every value once: otherwise the permuted series is not one that chance could give.
    debug_assert_eq!(filled, n);
}

/// Uniform in 0..`end`; the bias of the remainder is below 1e-16 for the small ends used.
fn below(end: usize, rng: &mut Xoshiro256PlusPlus) -> usize {
    debug_assert!(end > 0);
    usize::try_from(rng.next_u64() % end as u64).expect("smaller than `end`")
}

/// Distances between all pairs of values.
struct Distances {
    n: usize,
    between: Vec<f64>,
}

impl Distances {
    fn new(series: &[f64]) -> Self {
        let n = series.len();
        // Values near the largest float must not overflow when they are summed.
        let scale = series.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let scaled: Vec<f64> = series.iter().map(|value| value / scale).collect();
        let mut between = vec![0.0; n * n];
        for (row, one) in between.chunks_exact_mut(n).zip(&scaled) {
            for (cell, other) in row.iter_mut().zip(&scaled) {
                *cell = (one - other).abs();
            }
        }
        Self { n, between }
    }

    /// The split of the series in this order with the largest statistic Q, and Q; `None` where all
    /// values are equal. The right part may end before the series does: otherwise a level that
    /// returns to an earlier one hides both of its changes.
    fn best(&self, order: &[usize]) -> Option<(usize, f64)> {
        let mut best = None;
        let inverse: Vec<f64> = (0..=self.n).map(|n| 1.0 / float(n)).collect();
        // Sums of distances: within the first values, and across a split of them at each index.
        let mut within = vec![0.0; self.n + 1];
        let mut across = vec![0.0; self.n + 1];
        // Each end adds one row of distances, so that all splits of all prefixes take n^2 steps.
        for end in 1..=self.n {
            let row = &self.between[order[end - 1] * self.n..][..self.n];
            let mut reached = 0.0;
            for at in 1..end {
                reached += row[order[at - 1]];
                across[at] += reached;
            }
            within[end] = within[end - 1] + reached;
            for at in SIDE_MIN..(end + 1).saturating_sub(SIDE_MIN) {
                let right = within[end] - within[at] - across[at];
                let q = energy([at, end - at], [within[at], right], across[at], &inverse);
                if q > best.map_or(0.0, |(_, most)| most) {
                    best = Some((at, q));
                }
            }
        }
        best
    }
}

/// Energy distance between two parts, scaled to grow with their sizes.
///
/// Of mn/(m+n) (2A/mn - 2W/m(m-1) - 2V/n(n-1)) the fractions are reduced: this is most of the time
/// of a search, and divisions are slow.
fn energy([m, n]: [usize; 2], within: [f64; 2], across: f64, inverse: &[f64]) -> f64 {
    let first = within[0] * float(n) * inverse[m - 1];
    let second = within[1] * float(m) * inverse[n - 1];
    2.0 * (across - first - second) * inverse[m + n]
}
