//! The standard normal distribution.

use std::f64::consts::{PI, SQRT_2};

/// Returns P(Z > z).
pub fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / SQRT_2)
}

/// Returns P(Z <= z).
pub fn cdf(z: f64) -> f64 {
    upper_tail(-z)
}

/// Returns the z with P(Z <= z) = `p`.
///
/// # Panics
/// If `p` is not strictly between 0 and 1: the callers choose it.
pub fn quantile(p: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a quantile needs 0 < p < 1, got {p}");
    if p < 0.5 { -upper_quantile(p) } else { upper_quantile(1.0 - p) }
}

/// Returns the z >= 0 with P(Z > z) = `tail`, for a tail of at most one half.
pub(super) fn upper_quantile(tail: f64) -> f64 {
    debug_assert!(tail > 0.0 && tail <= 0.5);
    // Start: Abramowitz & Stegun 26.2.23, absolute error below 4.5e-4 (it may start below zero).
    let t = libm::sqrt(-2.0 * libm::log(tail));
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let denominator = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut z = (t - numerator / denominator).max(0.0);
    // Newton doubles the digits: 4e-4, 1e-7, 1e-14; a fourth step costs nothing.
    for _ in 0..4 {
        z += (upper_tail(z) - tail) / density(z);
    }
    z
}

fn density(z: f64) -> f64 {
    libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * PI)
}
