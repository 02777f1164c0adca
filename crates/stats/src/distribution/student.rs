//! Student's t distribution; the degrees of freedom need not be whole (Welch).

use std::f64::consts::PI;

use super::{beta, normal};

/// From here on the normal distribution is used: they differ by less than 1e-7 in probability.
const DF_NORMAL: f64 = 1e7;
/// Newton's steps allowed; even one degree of freedom at a tail of 1e-10 needs fewer than 40.
const STEPS_MAX: u32 = 200;
/// Limits beyond which the expansion around the normal quantile starts Newton's method close
/// enough.
const DF_EXPANSION: f64 = 5.0;
const TAIL_EXPANSION: f64 = 1e-4;

/// Returns P(T > t) with `df` degrees of freedom.
pub fn upper_tail(t: f64, df: f64) -> f64 {
    if df >= DF_NORMAL {
        return normal::upper_tail(t);
    }
    // Abramowitz & Stegun 26.7.1 by the incomplete beta function; both arguments keep their digits.
    let square = t * t;
    let half = 0.5 * beta::regularized(0.5 * df, 0.5, df / (df + square), square / (df + square));
    if t >= 0.0 { half } else { 1.0 - half }
}

/// Returns P(T <= t) with `df` degrees of freedom.
pub fn cdf(t: f64, df: f64) -> f64 {
    upper_tail(-t, df)
}

/// Returns the probability that |T| is at least |t|.
pub fn two_sided(t: f64, df: f64) -> f64 {
    (2.0 * upper_tail(t.abs(), df)).min(1.0)
}

/// Returns the t with P(T <= t) = `p`.
///
/// # Panics
/// If `p` is not strictly between 0 and 1 or `df` is not positive: the callers choose them.
pub fn quantile(p: f64, df: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a quantile needs 0 < p < 1, got {p}");
    assert!(df > 0.0, "degrees of freedom must be positive, got {df}");
    if p < 0.5 { -upper_quantile(p, df) } else { upper_quantile(1.0 - p, df) }
}

/// Solves P(T > t) = `tail` by Newton's method.
///
/// The tail is convex right of zero, so steps from the left climb to the solution and never pass
/// it. The normal quantile lies left; with a few degrees of freedom an expansion gets closer, and
/// a first step from the right lands left as well.
fn upper_quantile(tail: f64, df: f64) -> f64 {
    debug_assert!(tail > 0.0 && tail <= 0.5 && df > 0.0);
    let z = normal::upper_quantile(tail);
    if df >= DF_NORMAL {
        return z;
    }
    let mut t = if df < DF_EXPANSION || tail < TAIL_EXPANSION { z } else { expansion(z, df) };
    for _ in 0..STEPS_MAX {
        let step = (upper_tail(t, df) - tail) / density(t, df);
        t += step;
        if step.abs() <= 1e-14 * t.abs() {
            break;
        }
    }
    t
}

/// Expands Student's quantile around the normal one (Abramowitz & Stegun 26.7.5).
fn expansion(z: f64, df: f64) -> f64 {
    let square = z * z;
    let first = z * (square + 1.0) / 4.0;
    let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    z + (first + (second + third / df) / df) / df
}

/// Returns the density at `t` with `df` degrees of freedom.
pub fn density(t: f64, df: f64) -> f64 {
    // Differences of logarithms: the gamma functions themselves overflow from 340 degrees on.
    let log_scale = libm::lgamma(0.5 * (df + 1.0)) - libm::lgamma(0.5 * df);
    let log_shape = -0.5 * (df + 1.0) * libm::log1p(t * t / df);
    libm::exp(log_scale + log_shape) / libm::sqrt(df * PI)
}
