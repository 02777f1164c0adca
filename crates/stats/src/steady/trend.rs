//! The Mann-Kendall trend test, corrected for autocorrelation.

use crate::kendall::Kendall;
use crate::numbers::{float, mean};

/// Returns the two-sided p value of "there is no trend" among values whose neighbours resemble
/// each other (Mann 1945, Kendall 1975).
///
/// The variance of the score is inflated as Hamed & Rao derived it (1998, J. Hydrology 204:182),
/// but with the correlations of a first-order process instead of the observed ones. Observed ones
/// are too small in short series: 60 steady values with a correlation of 0.5 (0.9) then show a
/// "trend" at 10 % in 23 % (46 %) of cases, without any correction in 31 % (69 %), with this one
/// in 12 % (18 %). The rest errs on the side of calling a run unsteady.
pub(super) fn mann_kendall(series: &[f64]) -> f64 {
    let time: Vec<f64> = (0..series.len()).map(float).collect();
    Kendall::new(&time, series).p(inflation(series))
}

/// Returns the factor by which autocorrelation inflates the variance of the score; at least 1.
fn inflation(series: &[f64]) -> f64 {
    let n = float(series.len());
    let neighbours = first_autocorrelation(&detrended(series));
    let mut sum = 0.0;
    let mut power = 1.0;
    for lag in 1..series.len() {
        power *= neighbours;
        let left = n - float(lag);
        // Correlation of ranks for a given correlation of normal values.
        let ranks = 6.0 / std::f64::consts::PI * libm::asin(0.5 * power);
        sum += left * (left - 1.0) * (left - 2.0) * ranks;
    }
    (1.0 + 2.0 * sum / (n * (n - 1.0) * (n - 2.0))).max(1.0)
}

/// Returns the residuals of a straight line by least squares.
fn detrended(series: &[f64]) -> Vec<f64> {
    let centre = mean(series);
    let middle = 0.5 * (float(series.len()) - 1.0);
    let (mut slope, mut spread) = (0.0, 0.0);
    for (i, y) in series.iter().enumerate() {
        let t = float(i) - middle;
        slope += t * (y - centre);
        spread += t * t;
    }
    // A trend inflates the autocorrelation of neighbours, so the line is removed first.
    slope /= spread.max(1.0);
    let rows = series.iter().enumerate();
    rows.map(|(i, y)| y - centre - slope * (float(i) - middle)).collect()
}

/// Returns the correlation of neighbours, corrected for the part that the line and the mean took
/// (bias of about -(2 + 4 rho) / n), between 0 and 0.99.
fn first_autocorrelation(residuals: &[f64]) -> f64 {
    let n = float(residuals.len());
    let products: f64 = residuals.windows(2).map(|w| w[0] * w[1]).sum();
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    if n <= 4.0 || squares <= 0.0 {
        return 0.0;
    }
    ((n * products / squares + 2.0) / (n - 4.0)).clamp(0.0, 0.99)
}
