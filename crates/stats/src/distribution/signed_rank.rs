//! The null distribution of the signed-rank sum W of n values.

use super::normal;

/// Up to here the distribution is exact; above, the normal approximation is off by less than 1e-4.
pub const EXACT_MAX: usize = 200;

/// Returns the number of ordered Walsh averages to cut off at each end, and the tail this leaves.
///
/// The k-th smallest and k-th largest Walsh averages bound the centre with confidence
/// 1 - 2 P(W <= k-1). `None` if even the extreme averages leave more than `tail` outside: below
/// six values for 2.5 % a side, below five for 5 %.
pub fn cut(n: usize, tail: f64) -> Option<(u64, f64)> {
    if n > EXACT_MAX {
        return Some(approximate_cut(n, tail));
    }
    let mut below = 0.0;
    let mut cut = None;
    for (k, &p) in (1_u64..).zip(&probabilities(n)) {
        below += p;
        if below > tail {
            break;
        }
        cut = Some((k, below));
    }
    cut
}

/// Returns P(W <= w) for w = 0, 1, ... n(n+1)/2. `n` is at most [`EXACT_MAX`].
pub fn cumulative(n: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let mut cumulative = probabilities(n);
    for p in &mut cumulative {
        sum += *p;
        *p = sum;
    }
    cumulative
}

/// Adds one rank after the other: rank r is in the sum or not, with probability one half each.
fn probabilities(n: usize) -> Vec<f64> {
    assert!(n <= EXACT_MAX, "the exact distribution ends at {EXACT_MAX} values");
    let mut p = vec![0.0; n * (n + 1) / 2 + 1];
    p[0] = 1.0;
    let mut top = 0;
    for rank in 1..=n {
        top += rank;
        // Downwards, so that `p[w - rank]` is still the probability without this rank.
        for w in (0..=top).rev() {
            let with = if w >= rank { p[w - rank] } else { 0.0 };
            p[w] = 0.5 * (p[w] + with);
        }
    }
    p
}

#[expect(clippy::cast_precision_loss, reason = "n is far below 2^52")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "above EXACT_MAX values the bound is in the thousands, and below n squared"
)]
fn approximate_cut(n: usize, tail: f64) -> (u64, f64) {
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    // Variance of W without ties: n (n + 1) (2n + 1) / 24.
    let sd = libm::sqrt(n * (n + 1.0) * (2.0 * n + 1.0) / 24.0);
    // Half a unit of continuity correction: W takes whole values only.
    let k = libm::floor(mean + sd * normal::quantile(tail) + 0.5).max(1.0);
    (k as u64, normal::cdf((k - 0.5 - mean) / sd))
}
