//! The standard normal distribution.
//!
//! `stats` has it too, which this crate does not use: nothing there is needed but these two.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// P(Z <= z).
pub fn cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The z with P(Z <= z) = `p`.
///
/// # Panics
/// `p` is not strictly between 0 and 1.
pub fn quantile(p: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a quantile needs 0 < p < 1, got {p}");
    let tail = p.min(1.0 - p);
    // Start: Abramowitz & Stegun 26.2.22, absolute error below 0.003; each Newton step doubles the
    // digits.
    let t = libm::sqrt(-2.0 * libm::log(tail));
    let mut z = t - (2.307_53 + 0.270_61 * t) / (1.0 + t * (0.992_29 + 0.044_81 * t));
    for _ in 0..4 {
        let density = libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * PI);
        z += (cdf(-z) - tail) / density;
    }
    if p < 0.5 { -z } else { z }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959_963_984_540_054), (0.001, -3.090_232_306_167_813)]
        {
            assert!((quantile(p) - z).abs() < 1e-12, "{p}: {}", quantile(p));
        }
        for z in [-5.0, -1.0, 0.3, 4.0] {
            assert!((quantile(cdf(z)) - z).abs() < 1e-9, "{z}");
        }
    }
}
