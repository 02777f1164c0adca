//! The distance of a model from a measured drive.

use crate::numbers::float;

/// A model's times against measured ones, request by request and as distributions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Number of requests compared.
    pub n: usize,
    /// The mean that was measured, in the unit of the samples.
    pub measured_mean: f64,
    /// The mean of the model.
    pub modelled_mean: f64,
    /// The demerit: the root mean square horizontal distance between the two distributions
    /// (Ruemmler and Wilkes, IEEE Computer, March 1994).
    pub demerit: f64,
    /// The root mean square of the single differences.
    pub rms_error: f64,
    /// The share of requests that are off by at most [`Score::NEAR`].
    pub within_near: f64,
    /// The share of requests that are off by at most [`Score::FAR`].
    pub within_far: f64,
}

/// Quantiles that are compared.
const POINTS: u32 = 10_000;

impl Score {
    /// The smaller distance that is counted, in the unit of the samples: 0.1 ms.
    pub const NEAR: f64 = 0.1;
    /// The larger distance that is counted: 0.5 ms.
    pub const FAR: f64 = 0.5;

    /// Compares pairs of measured and modelled times in ms; `None` where there are none.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let n = float(pairs.len());
        let squares: f64 = pairs.iter().map(|(x, y)| (x - y) * (x - y)).sum();
        let mut measured: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
        let mut modelled: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
        let (measured_mean, modelled_mean) =
            (measured.iter().sum::<f64>() / n, modelled.iter().sum::<f64>() / n);
        // Sorted apart: distributions are compared whichever request a time belongs to.
        measured.sort_unstable_by(f64::total_cmp);
        modelled.sort_unstable_by(f64::total_cmp);
        Some(Self {
            n: pairs.len(),
            measured_mean,
            modelled_mean,
            demerit: demerit(&measured, &modelled),
            rms_error: (squares / n).sqrt(),
            within_near: share_within(pairs, Self::NEAR),
            within_far: share_within(pairs, Self::FAR),
        })
    }
}

/// The share of pairs that differ by at most `limit`.
fn share_within(pairs: &[(f64, f64)], limit: f64) -> f64 {
    let within = pairs.iter().filter(|(x, y)| (x - y).abs() <= limit).count();
    float(within) / float(pairs.len())
}

/// The root mean square distance between the quantiles of two sorted samples.
fn demerit(left: &[f64], right: &[f64]) -> f64 {
    debug_assert!(left.is_sorted(), "quantiles are positions in order");
    debug_assert!(right.is_sorted(), "quantiles are positions in order");
    let squares: f64 = (0..POINTS)
        .map(|point| {
            // Midpoints, so that neither end of a distribution counts twice.
            let share = (f64::from(point) + 0.5) / f64::from(POINTS);
            let distance = quantile(left, share) - quantile(right, share);
            distance * distance
        })
        .sum();
    (squares / f64::from(POINTS)).sqrt()
}

/// The quantile between the midpoints of neighbouring values.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index into the sample, which is far below 2^52"
)]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    debug_assert!(!sorted.is_empty() && (0.0..=1.0).contains(&share));
    // The value at index `k` is the quantile `(k + 0.5) / n`.
    let position = share * sorted.len() as f64 - 0.5;
    if position <= 0.0 {
        return sorted[0];
    }
    let index = position as usize;
    match sorted[index..] {
        [low, high, ..] => low + (position - index as f64) * (high - low),
        _ => sorted[sorted.len() - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_samples_have_no_demerit_whatever_their_order() {
        let pairs: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(i), f64::from(99 - i))).collect();
        let score = Score::of(&pairs).unwrap();
        assert!(score.demerit < 1e-12 && score.rms_error > 50.0, "{score:?}");
        assert!((score.measured_mean - score.modelled_mean).abs() < 1e-12);
    }

    #[test]
    fn a_shift_is_its_own_demerit() {
        let pairs: Vec<(f64, f64)> =
            (0..1000).map(|i| (f64::from(i) * 0.01, f64::from(i) * 0.01 + 0.3)).collect();
        let score = Score::of(&pairs).unwrap();
        assert!((score.demerit - 0.3).abs() < 1e-9, "{score:?}");
        assert_eq!((score.within_near, score.within_far), (0.0, 1.0));
    }

    #[test]
    fn small_samples_are_worked_out_by_hand() {
        // Two values each: the quantile runs along the line between the midpoints 0.25 and 0.75.
        let score = Score::of(&[(1.0, 2.0), (3.0, 6.0)]).unwrap();
        // Distances 1 below a quarter, 3 above three quarters, rising between: mean square
        // (1 + 9) / 4 + (1 + 3 + 9) / 3 / 2.
        let expected = (10.0_f64 / 4.0 + 13.0 / 6.0).sqrt();
        assert!((score.demerit - expected).abs() < 1e-4, "{score:?} {expected}");
        assert_eq!(Score::of(&[]), None);
        assert_eq!(Score::of(&[(1.0, 1.25)]).map(|score| score.demerit), Some(0.25));
    }
}
