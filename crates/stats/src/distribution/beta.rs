//! The regularised incomplete beta function.

/// Relative accuracy at which the continued fraction stops.
const ACCURACY: f64 = 1e-16;
/// The fraction needs about the square root of the larger parameter in terms.
const TERMS_MAX: u32 = 10_000;
/// Stands in for a zero denominator in Lentz's method.
const TINY: f64 = 1e-300;

/// Returns `I_x(a, b)` for positive `a` and `b`; `y` is 1 - x, passed separately to keep its
/// digits.
pub(super) fn regularized(a: f64, b: f64, x: f64, y: f64) -> f64 {
    debug_assert!(a > 0.0 && b > 0.0, "the beta function needs positive parameters");
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    // Logarithms, because gamma functions of thousands of degrees of freedom exceed a float.
    let front = libm::exp(
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
            + a * libm::log(x)
            + b * libm::log(y),
    );
    // The fraction converges fast below the mean only; above it the mirror image is taken.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, y) / b
    }
}

/// Evaluates the continued fraction DLMF 8.17.22 by the modified method of Lentz.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut upper = 1.0;
    let mut lower = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = lower;
    for term in 1..TERMS_MAX {
        let m = f64::from(term);
        // Coefficients of DLMF 8.17.23, two for each step.
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for coefficient in [even, odd] {
            lower = 1.0 / nonzero(1.0 + coefficient * lower);
            upper = nonzero(1.0 + coefficient / upper);
            value *= upper * lower;
        }
        if (upper * lower - 1.0).abs() < ACCURACY {
            break;
        }
    }
    value
}

fn nonzero(v: f64) -> f64 {
    if v.abs() < TINY { TINY } else { v }
}
