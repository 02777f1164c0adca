//! The null distribution of the Mann-Whitney statistic U of two groups.

use super::normal;
use crate::numbers::float;

/// Up to this product of the two numbers the distribution is exact; above, the normal
/// approximation is off by less than 1e-3.
const EXACT_MAX: usize = 2500;

/// Returns the number of ordered differences to cut off at each end, and the tail this leaves.
///
/// The k-th smallest and k-th largest of all differences bound the shift with confidence
/// 1 - 2 P(U <= k-1). `None` if even the extreme ones leave more than `tail` outside.
pub fn cut(a: usize, b: usize, tail: f64) -> Option<(usize, f64)> {
    debug_assert!(tail > 0.0 && tail < 0.5);
    if a * b > EXACT_MAX {
        return Some(approximate_cut(a, b, tail));
    }
    // The largest cut whose tail still fits: the exact confidence is then at least that asked for.
    let (mut below, mut cut) = (0.0, None);
    for (k, p) in (1..).zip(probabilities(a, b)) {
        below += p;
        if below > tail {
            break;
        }
        cut = Some((k, below));
    }
    cut
}

/// P(U = u) for u = 0, 1, ... `a * b`, by the recurrence of Mann and Whitney (1947): the largest
/// value is of the first group, above all `b` others, or of the second.
fn probabilities(a: usize, b: usize) -> Vec<f64> {
    // counts[j][u]: of i values of the first group and j of the second, as probabilities.
    let mut counts: Vec<Vec<f64>> = (0..=b).map(|_| vec![1.0]).collect();
    for i in 1..=a {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for j in 1..=b {
            let total = float(i + j);
            let (first, second) = (float(i) / total, float(j) / total);
            let p = (0..=i * j).map(|u| {
                let above = u.checked_sub(j).and_then(|u| counts[j].get(u)).unwrap_or(&0.0);
                first * above + second * next[j - 1].get(u).unwrap_or(&0.0)
            });
            next.push(p.collect());
        }
        counts = next;
    }
    counts.pop().expect("there is one a number of the second group, zero included")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between one and the number of differences"
)]
fn approximate_cut(a: usize, b: usize, tail: f64) -> (usize, f64) {
    debug_assert!(a > 0 && b > 0);
    let (a, b) = (float(a), float(b));
    // Mean and variance of U without ties (Mann and Whitney 1947); half a unit of continuity.
    let (mean, sd) = (0.5 * a * b, libm::sqrt(a * b * (a + b + 1.0) / 12.0));
    let last = libm::floor(mean + normal::quantile(tail) * sd - 0.5).max(0.0);
    (last as usize + 1, normal::cdf((last + 0.5 - mean) / sd))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_that_of_the_tables() {
        // Mann and Whitney (1947), table I: P(U <= 2) of 4 and 4 is 0.029, of 5 and 5 0.016.
        let cumulative = |a, b, u: usize| probabilities(a, b)[..=u].iter().sum::<f64>();
        assert!((cumulative(4, 4, 0) - 1.0 / 70.0).abs() < 1e-12);
        assert!((cumulative(4, 4, 1) - 2.0 / 70.0).abs() < 1e-12);
        assert!((cumulative(5, 5, 2) - 4.0 / 252.0).abs() < 1e-12);
        assert!((probabilities(3, 7).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(cut(3, 3, 0.025), None);
        assert_eq!(cut(4, 4, 0.025).map(|(k, _)| k), Some(1));
        assert_eq!(cut(10, 10, 0.025).map(|(k, _)| k), Some(24));
    }

    #[test]
    fn the_approximation_meets_the_exact_distribution() {
        let (exact, _) = cut(50, 50, 0.025).unwrap();
        let (near, tail) = approximate_cut(50, 50, 0.025);
        assert!(exact.abs_diff(near) <= 2, "{exact} {near}");
        assert!((tail - 0.025).abs() < 1e-3, "{tail}");
    }
}
