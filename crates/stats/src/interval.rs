//! The two intervals of a verdict, on the log scale.

use serde::{Deserialize, Serialize};

use crate::distribution::{signed_rank, student};
use crate::numbers::{float, mean, ratio, standard_deviation};

/// An interval of log ratios.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower limit.
    pub lo: f64,
    /// Upper limit.
    pub hi: f64,
}

impl Interval {
    /// True if `value` lies inside or on the edge.
    pub fn contains(&self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// True if the whole interval lies strictly between -bound and +bound.
    pub fn is_within(&self, bound: f64) -> bool {
        -bound < self.lo && self.hi < bound
    }

    /// The values from `half` below `centre` to `half` above.
    pub(crate) fn around(centre: f64, half: f64) -> Self {
        debug_assert!(half >= 0.0 || half.is_nan());
        Self { lo: centre - half, hi: centre + half }
    }

    /// The interval moved by `offset`.
    pub(crate) fn shifted(self, offset: f64) -> Self {
        Self { lo: self.lo + offset, hi: self.hi + offset }
    }

    /// Returns the limits as ratios.
    pub fn ratios(&self) -> [f64; 2] {
        [ratio(self.lo), ratio(self.hi)]
    }
}

/// Returns Student's interval of the mean of `d`, or `None` for fewer than two values.
///
/// Assumes independent blocks and a mean that is about normal. With few blocks it is the safest in
/// level: with heavy tails it gets too wide, not too narrow.
pub fn student_interval(d: &[f64], confidence: f64) -> Option<Interval> {
    if d.len() < 2 {
        return None;
    }
    let n = float(d.len());
    debug_assert!(confidence > 0.0 && confidence < 1.0);
    let t = student::quantile(0.5 + 0.5 * confidence, n - 1.0);
    let half = t * standard_deviation(d) / n.sqrt();
    Some(Interval::around(mean(d), half))
}

/// A Hodges-Lehmann interval with its achieved confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RankInterval {
    /// The limits.
    pub interval: Interval,
    /// Achieved confidence: ranks come in steps, so it is a little more than asked for.
    pub confidence: f64,
}

/// Returns the exact signed-rank limits of the centre of `sorted`, which must be in order.
///
/// Assumes independent, symmetric differences (which the null and random order give). `None` if no
/// limits reach the confidence: below six values for 95 %, below five for 90 %.
pub fn hodges_lehmann_interval(sorted: &[f64], confidence: f64) -> Option<RankInterval> {
    debug_assert!(sorted.is_sorted());
    // 1 - 0.9 is a little below 0.1: without the slack an exact tail of 5 % would be rejected.
    let tail = 0.5 * (1.0 - confidence) + 1e-12;
    let (k, left) = signed_rank::cut(sorted.len(), tail)?;
    let count = walsh_count(sorted.len());
    let lo = walsh_average(sorted, k);
    let hi = walsh_average(sorted, count + 1 - k);
    Some(RankInterval { interval: Interval { lo, hi }, confidence: 1.0 - 2.0 * left })
}

/// Returns the Hodges-Lehmann estimate: the median of all Walsh averages of `sorted`.
///
/// # Panics
/// If `sorted` is empty.
pub fn hodges_lehmann(sorted: &[f64]) -> f64 {
    debug_assert!(sorted.is_sorted(), "averages are selected by their order");
    let count = walsh_count(sorted.len());
    let middle = walsh_average(sorted, count.div_ceil(2));
    if count % 2 == 1 || averages_up_to(sorted, middle) > count / 2 {
        return middle;
    }
    mean(&[middle, average_above(sorted, middle)])
}

fn walsh_count(n: usize) -> u64 {
    let n = n as u64;
    n * (n + 1) / 2
}

/// Returns the `k`-th smallest (from 1) of the averages (`x_i` + `x_j`) / 2, i <= j.
///
/// Exact, and without the n squared averages in memory: bisects until no more averages are left
/// than there are values, and selects among those.
fn walsh_average(sorted: &[f64], k: u64) -> f64 {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        panic!("the centre of no values is undefined");
    };
    let most = sorted.len() as u64;
    // Below zero, since -0 and 0 may come in any order.
    let (mut lo, mut hi) = (to_ordered(first.min(-f64::MIN_POSITIVE)), to_ordered(*last));
    // Averages below `lo`, and of at most `hi`.
    let (mut below, mut up_to) = (0, walsh_count(sorted.len()));
    debug_assert!(0 < k && k <= up_to, "there are only {up_to} averages");
    // What is asked for is nearly always a few standard errors from the mean; where it is not, the
    // counts say so.
    let reach = 8.0 * standard_deviation(sorted) / float(sorted.len()).sqrt();
    for guess in [mean(sorted) - reach, mean(sorted) + reach].map(to_ordered) {
        if guess < lo || hi <= guess {
            continue;
        }
        let count = averages_up_to(sorted, from_ordered(guess));
        if count >= k {
            (hi, up_to) = (guess, count);
        } else {
            (lo, below) = (guess + 1, count);
        }
    }
    let mut counts = 0;
    while lo < hi && up_to - below > most {
        // Halving the values first takes fewer counts; halving the bit patterns always ends.
        let halfway = to_ordered(0.5 * from_ordered(lo) + 0.5 * from_ordered(hi));
        let middle = if counts < 32 { halfway.clamp(lo, hi - 1) } else { midpoint(lo, hi) };
        counts += 1;
        let count = averages_up_to(sorted, from_ordered(middle));
        if count >= k {
            (hi, up_to) = (middle, count);
        } else {
            (lo, below) = (middle + 1, count);
        }
    }
    if lo == hi {
        // Adding zero turns -0 into 0.
        return from_ordered(lo) + 0.0;
    }
    // The same comparison as in the counts, which does not distinguish -0 from 0.
    let mut left = averages_between(sorted, from_ordered(lo - 1), from_ordered(hi));
    debug_assert_eq!(left.len() as u64, up_to - below);
    let rank = usize::try_from(k - below - 1).expect("a rank among as many as there are values");
    *left.select_nth_unstable_by(rank, f64::total_cmp).1 + 0.0
}

/// Returns the `k`-th smallest (from 1) of the numbers within `limits`, of which `up_to` counts
/// those of at most a limit.
///
/// Bisects over the bit patterns of floating-point numbers, which takes at most 64 counts.
pub(crate) fn select(limits: Interval, k: u64, up_to: impl Fn(f64) -> u64) -> f64 {
    debug_assert!(k > 0 && up_to(limits.hi) >= k, "there are fewer than {k} numbers");
    let (mut lo, mut hi) = (to_ordered(limits.lo), to_ordered(limits.hi));
    while lo < hi {
        let middle = midpoint(lo, hi);
        if up_to(from_ordered(middle)) >= k {
            hi = middle;
        } else {
            lo = middle + 1;
        }
    }
    // Adding zero turns -0 into 0.
    from_ordered(lo) + 0.0
}

/// Returns the midpoint without overflow, rounded down.
fn midpoint(lo: i64, hi: i64) -> i64 {
    (lo & hi) + ((lo ^ hi) >> 1)
}

/// Returns the Walsh averages above `below` and of at most `limit`, in no order.
fn averages_between(sorted: &[f64], below: f64, limit: f64) -> Vec<f64> {
    let mut within = Vec::new();
    // The partners of x are those in start..end; both limits fall as x grows.
    let (mut start, mut end) = (sorted.len(), sorted.len());
    for (i, x) in sorted.iter().enumerate() {
        while start > i && 0.5 * (x + sorted[start - 1]) > below {
            start -= 1;
        }
        while end > i && 0.5 * (x + sorted[end - 1]) > limit {
            end -= 1;
        }
        if end <= i {
            break;
        }
        within.extend(sorted[start.max(i)..end].iter().map(|y| 0.5 * (x + y)));
    }
    within
}

/// Returns the smallest Walsh average above `limit`, which some average must be.
fn average_above(sorted: &[f64], limit: f64) -> f64 {
    let (mut smallest, mut start) = (f64::INFINITY, sorted.len());
    for (i, x) in sorted.iter().enumerate() {
        // As x grows, smaller partners are enough.
        while start > i && 0.5 * (x + sorted[start - 1]) > limit {
            start -= 1;
        }
        if let Some(y) = sorted.get(start.max(i)) {
            smallest = smallest.min(0.5 * (x + y));
        }
    }
    debug_assert!(smallest > limit && smallest.is_finite());
    // Adding zero turns -0 into 0.
    smallest + 0.0
}

/// Counts the Walsh averages of at most `limit`.
fn averages_up_to(sorted: &[f64], limit: f64) -> u64 {
    let mut count = 0;
    let mut end = sorted.len();
    for (i, x) in sorted.iter().enumerate() {
        // As x grows, fewer partners stay below the limit.
        while end > i && 0.5 * (x + sorted[end - 1]) > limit {
            end -= 1;
        }
        if end <= i {
            break;
        }
        count += (end - i) as u64;
    }
    count
}

/// Maps a float to an integer of the same order.
fn to_ordered(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// Undoes [`to_ordered`], which is its own inverse on bit patterns.
fn from_ordered(key: i64) -> f64 {
    let bits = key ^ ((key >> 63).cast_unsigned() >> 1).cast_signed();
    f64::from_bits(bits.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn each_rank_is_that_of_all_averages_in_order() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        // Few values make ties, many make none.
        for (n, kinds) in [(1, 3), (2, 2), (7, 1), (8, 3), (33, 5), (40, 1 << 20), (90, 7)] {
            let mut draw = || f64::from(u32::try_from(rng.next_u64() % kinds).unwrap()) / 3.0 - 0.5;
            let mut values: Vec<f64> = (0..n).map(|_| draw()).collect();
            values.sort_unstable_by(f64::total_cmp);
            let pairs = (0..n).flat_map(|i| (i..n).map(move |j| (i, j)));
            let mut averages: Vec<f64> =
                pairs.map(|(i, j)| 0.5 * (values[i] + values[j])).collect();
            averages.sort_unstable_by(f64::total_cmp);
            let (lower, upper) = (averages[(averages.len() - 1) / 2], averages[averages.len() / 2]);
            let centre = hodges_lehmann(&values);
            assert!((centre - mean(&[lower, upper])).abs() <= 0.0, "{n}: {centre}");
            for (k, average) in (1..).zip(&averages) {
                let selected = walsh_average(&values, k);
                assert!((selected - average).abs() <= 0.0, "{k} of {n}: {selected}, {average}");
            }
        }
    }
}
