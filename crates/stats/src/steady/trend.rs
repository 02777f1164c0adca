//! The Mann-Kendall trend test, plain and corrected for autocorrelation.

use crate::distribution::normal;
use crate::interval::mean;

/// Result of a trend test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Pairs in rising order less pairs in falling order.
    pub score: i64,
    /// Variance of the score without a trend.
    pub variance: f64,
    /// Two-sided p value of "there is no trend".
    pub p: f64,
}

/// Tests for a monotone trend among independent values (Mann 1945, Kendall 1975).
pub fn mann_kendall(series: &[f64]) -> Trend {
    let score = score(series);
    trend(score, independent_variance(series))
}

/// Tests for a monotone trend when neighbours resemble each other.
///
/// The variance of the score is inflated as Hamed & Rao derived it (1998, J. Hydrology 204:182),
/// but with the correlations of a first-order process in place of those observed. Observed ones
/// are too small in short series: 60 steady values with a correlation of 0.5 (0.9) then show a
/// "trend" at 10 % in 23 % (46 %) of cases, without any correction in 31 % (69 %), with this one
/// in 12 % (18 %). The rest errs on the side of calling a run unsteady.
pub fn mann_kendall_corrected(series: &[f64]) -> Trend {
    trend(score(series), independent_variance(series) * inflation(series))
}

#[expect(clippy::cast_precision_loss, reason = "a score is at most the square of the length")]
fn trend(score: i64, variance: f64) -> Trend {
    // One unit of continuity correction: the score moves in steps of two.
    let distance = (score.abs() - 1).max(0) as f64;
    let p = if variance > 0.0 {
        (2.0 * normal::upper_tail(distance / variance.sqrt())).min(1.0)
    } else {
        1.0
    };
    Trend { score, variance, p }
}

fn score(series: &[f64]) -> i64 {
    let mut score = 0;
    for (i, earlier) in series.iter().enumerate() {
        for later in &series[i + 1..] {
            score += i64::from(later > earlier) - i64::from(later < earlier);
        }
    }
    score
}

#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
fn independent_variance(series: &[f64]) -> f64 {
    let term = |n: usize| {
        let n = n as f64;
        n * (n - 1.0) * (2.0 * n + 5.0) / 18.0
    };
    let mut sorted = series.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let tied: f64 = sorted.chunk_by(|a, b| a >= b).map(|ties| term(ties.len())).sum();
    term(series.len()) - tied
}

/// Returns by how much autocorrelation inflates the variance of the score; at least 1.
#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
fn inflation(series: &[f64]) -> f64 {
    let n = series.len() as f64;
    let neighbours = first_autocorrelation(&detrended(series));
    let mut sum = 0.0;
    let mut power = 1.0;
    for lag in 1..series.len() {
        power *= neighbours;
        let left = n - lag as f64;
        // Correlation of ranks for a given correlation of normal values.
        let ranks = 6.0 / std::f64::consts::PI * libm::asin(0.5 * power);
        sum += left * (left - 1.0) * (left - 2.0) * ranks;
    }
    (1.0 + 2.0 * sum / (n * (n - 1.0) * (n - 2.0))).max(1.0)
}

/// Returns the residuals of a straight line by least squares.
#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
fn detrended(series: &[f64]) -> Vec<f64> {
    let centre = mean(series);
    let middle = 0.5 * (series.len() as f64 - 1.0);
    let (mut slope, mut spread) = (0.0, 0.0);
    for (i, y) in series.iter().enumerate() {
        let t = i as f64 - middle;
        slope += t * (y - centre);
        spread += t * t;
    }
    slope /= spread.max(1.0);
    let residual = |(i, y): (usize, &f64)| y - centre - slope * (i as f64 - middle);
    series.iter().enumerate().map(residual).collect()
}

/// Returns the correlation of neighbours, corrected for what the line and the mean took away
/// (bias of about -(2 + 4 rho) / n), between 0 and 0.99.
#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
fn first_autocorrelation(residuals: &[f64]) -> f64 {
    let n = residuals.len() as f64;
    let products: f64 = residuals.windows(2).map(|w| w[0] * w[1]).sum();
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    if n <= 4.0 || squares <= 0.0 {
        return 0.0;
    }
    ((n * products / squares + 2.0) / (n - 4.0)).clamp(0.0, 0.99)
}
