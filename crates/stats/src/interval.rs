//! The two intervals of a verdict, on the log scale.

use serde::{Deserialize, Serialize};

use crate::distribution::{signed_rank, student};

/// An interval of log ratios.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower limit.
    pub lo: f64,
    /// Upper limit.
    pub hi: f64,
}

impl Interval {
    /// Says whether `value` lies inside or on the edge.
    pub fn contains(&self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Says whether the whole interval lies strictly between -bound and +bound.
    pub fn is_within(&self, bound: f64) -> bool {
        -bound < self.lo && self.hi < bound
    }

    /// Returns the limits as ratios.
    pub fn ratios(&self) -> [f64; 2] {
        [ratio(self.lo), ratio(self.hi)]
    }
}

/// Returns exp(`log`), kept inside what JSON can hold: neither zero nor infinity.
pub(crate) fn ratio(log: f64) -> f64 {
    libm::exp(log).clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// A count of blocks, batches or flips as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

/// Returns the arithmetic mean; zero for nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    match values {
        [] => 0.0,
        // The mean of equal values must be that value to the last bit: no variation is then zero.
        [first, rest @ ..] if rest.iter().all(|v| v.total_cmp(first).is_eq()) => *first,
        _ => values.iter().sum::<f64>() / float(values.len()),
    }
}

/// Returns the standard deviation with n - 1; zero for fewer than two values.
pub(crate) fn standard_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    (squares / float(values.len() - 1)).sqrt()
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
    let t = student::quantile(0.5 + 0.5 * confidence, n - 1.0);
    let half = t * standard_deviation(d) / n.sqrt();
    let centre = mean(d);
    Some(Interval { lo: centre - half, hi: centre + half })
}

/// Confidence of what is predicted of the rest of some work.
const CONFIDENCE: f64 = 0.95;

/// Returns the interval of time that `rest` more units of work take, with 95 % confidence, from
/// stretches of `[work, time]` that were observed; `None` for fewer than two of them.
///
/// A prediction, not the interval of a mean: it holds the noise of what is still to come as well as
/// that of what is known. Assumes that the rest is like the stretches, and that the variance of a
/// stretch grows with its work.
pub fn remaining(stretches: &[[f64; 2]], rest: f64) -> Option<[f64; 2]> {
    let sum = |of: &dyn Fn(&[f64; 2]) -> f64| stretches.iter().map(of).sum::<f64>();
    let [work, time] = [sum(&|[work, _]| *work), sum(&|[_, time]| *time)];
    if stretches.len() < 2 || stretches.iter().any(|[work, _]| *work <= 0.0) {
        return None;
    }
    let pace = time / work;
    let df = float(stretches.len() - 1);
    let variance = sum(&|[work, time]| (time - work * pace).powi(2) / work) / df;
    let deviation = (variance * rest * (1.0 + rest / work)).sqrt();
    let half = student::quantile(0.5 + 0.5 * CONFIDENCE, df) * deviation;
    let centre = rest * pace;
    Some([(centre - half).max(0.0), centre + half])
}

/// A Hodges-Lehmann interval with the confidence it really has.
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
    // 1 - 0.9 is a little below 0.1: without the slack an exact tail of 5 % would be turned away.
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
    let count = walsh_count(sorted.len());
    let upper = walsh_average(sorted, count / 2 + 1);
    if count % 2 == 1 { upper } else { mean(&[walsh_average(sorted, count / 2), upper]) }
}

fn walsh_count(n: usize) -> u64 {
    let n = n as u64;
    n * (n + 1) / 2
}

/// Returns the `k`-th smallest (from 1) of the averages (`x_i` + `x_j`) / 2, i <= j.
///
/// Exact, and without the n squared averages in memory.
fn walsh_average(sorted: &[f64], k: u64) -> f64 {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        panic!("the centre of no values is undefined");
    };
    select(Interval { lo: *first, hi: *last }, k, |limit| averages_up_to(sorted, limit))
}

/// Returns the `k`-th smallest (from 1) of the numbers within `limits`, of which `up_to` counts
/// those of at most a limit.
///
/// Bisects over the bit patterns of floating-point numbers, which takes at most 64 counts.
pub(crate) fn select(limits: Interval, k: u64, up_to: impl Fn(f64) -> u64) -> f64 {
    let (mut lo, mut hi) = (to_ordered(limits.lo), to_ordered(limits.hi));
    while lo < hi {
        // The midpoint without overflow, rounded down.
        let middle = (lo & hi) + ((lo ^ hi) >> 1);
        if up_to(from_ordered(middle)) >= k {
            hi = middle;
        } else {
            lo = middle + 1;
        }
    }
    // Adding zero turns -0 into 0.
    from_ordered(lo) + 0.0
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
    fn an_even_pace_has_no_width_and_one_stretch_says_nothing() {
        assert_eq!(remaining(&[[1.0, 2.0], [3.0, 6.0]], 5.0), Some([10.0, 10.0]));
        assert_eq!(remaining(&[[1.0, 2.0]], 5.0), None);
        assert_eq!(remaining(&[[1.0, 2.0], [0.0, 1.0]], 5.0), None);
    }

    #[test]
    fn it_holds_what_the_rest_really_takes_nineteen_times_of_twenty() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut step =
            || 0.5 + f64::from(u32::try_from(rng.next_u64() >> 32).unwrap()) / 2_f64.powi(32);
        let (mut held, cases) = (0_u32, 2000_u32);
        for case in 0..cases {
            // Few stretches and many, little left and much.
            let [known, rest] = [3 + case % 8, 1 + case % 50];
            let stretches: Vec<[f64; 2]> = (0..known).map(|_| [1.0, step()]).collect();
            let took: f64 = (0..rest).map(|_| step()).sum();
            let [least, most] = remaining(&stretches, f64::from(rest)).unwrap();
            held += u32::from((least..=most).contains(&took));
        }
        let share = f64::from(held) / f64::from(cases);
        assert!((0.93..0.98).contains(&share), "{share}");
    }
}
