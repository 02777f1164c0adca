//! Kendall's test of whether two series rise and fall together.

use crate::distribution::normal;

/// Result of a rank correlation test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kendall {
    /// Pairs of points in the same order in both series, less pairs in opposite order.
    pub score: i64,
    /// Variance of the score if the series are independent.
    pub variance: f64,
}

impl Kendall {
    /// Compares two series of one length; takes time in the square of it.
    pub fn new(x: &[f64], y: &[f64]) -> Self {
        assert_eq!(x.len(), y.len(), "both series have a value for each point");
        Self { score: score(x, y), variance: variance(x, y) }
    }

    /// Returns the two-sided p value of independence, with the variance multiplied by `inflation`.
    #[expect(clippy::cast_precision_loss, reason = "a score is at most the square of the length")]
    pub fn p(&self, inflation: f64) -> f64 {
        // One unit of continuity correction: the score moves in steps of two.
        let distance = (self.score.abs() - 1).max(0) as f64;
        let variance = self.variance * inflation;
        if variance > 0.0 {
            (2.0 * normal::upper_tail(distance / variance.sqrt())).min(1.0)
        } else {
            1.0
        }
    }
}

fn score(x: &[f64], y: &[f64]) -> i64 {
    let mut score = 0;
    for i in 0..x.len() {
        for j in i + 1..x.len() {
            score += order(x[i], x[j]) * order(y[i], y[j]);
        }
    }
    score
}

/// 1 for ascending values, -1 for descending ones, 0 for equal ones.
fn order(a: f64, b: f64) -> i64 {
    i64::from(b > a) - i64::from(b < a)
}

/// Kendall's variance with ties in both series (Rank Correlation Methods, 4th ed., eq. 4.4).
#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
fn variance(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len() as f64;
    if x.len() < 2 {
        return 0.0;
    }
    let (ties_x, ties_y) = (ties(x), ties(y));
    let untied = (fives(n) - sum(&ties_x, fives) - sum(&ties_y, fives)) / 18.0;
    let both_twos = sum(&ties_x, twos) * sum(&ties_y, twos) / (2.0 * twos(n));
    // Two points cannot tie in threes.
    let both_threes = sum(&ties_x, threes) * sum(&ties_y, threes) / (9.0 * threes(n)).max(1.0);
    untied + both_twos + both_threes
}

fn sum(ties: &[f64], term: fn(f64) -> f64) -> f64 {
    ties.iter().map(|t| term(*t)).sum()
}

fn twos(t: f64) -> f64 {
    t * (t - 1.0)
}

fn threes(t: f64) -> f64 {
    t * (t - 1.0) * (t - 2.0)
}

fn fives(t: f64) -> f64 {
    t * (t - 1.0) * (2.0 * t + 5.0)
}

/// Returns the sizes of the groups of equal values.
#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
fn ties(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    // In order, "not smaller" is "equal", also for the two zeros.
    sorted.chunk_by(|a, b| a >= b).map(|group| group.len() as f64).collect()
}
