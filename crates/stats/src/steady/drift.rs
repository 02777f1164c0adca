//! The distance of a run's mean from the level that the run approaches.

use crate::numbers::float;

/// The fit of y = asymptote + amplitude exp(-t / tau).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drift {
    /// Mean of the fitted curve over the asymptote, less 1: the relative error of the mean.
    pub(super) relative: f64,
    pub(super) error: f64,
}

/// Time constants tried, as fractions of the series: from a quick settling to one so slow that half
/// of the run cannot distinguish it from a line (the trend test sees those).
const TAU_FIRST: f64 = 0.05;
const TAU_LAST: f64 = 0.5;
const TAU_STEPS: u32 = 16;

/// Fits an exponential approach to an asymptote by least squares.
///
/// `None` for fewer than four values or if the asymptote is not positive.
pub(super) fn fit(series: &[f64]) -> Option<Drift> {
    if series.len() < 4 {
        return None;
    }
    // Geometric steps: each time constant is tried to the same relative accuracy.
    let step = libm::pow(TAU_LAST / TAU_FIRST, 1.0 / f64::from(TAU_STEPS - 1));
    let mut tau = TAU_FIRST;
    let mut best: Option<Line> = None;
    for _ in 0..TAU_STEPS {
        let line = regress(series, tau);
        if best.as_ref().is_none_or(|b| line.squares < b.squares) {
            best = Some(line);
        }
        tau *= step;
    }
    let line = best?;
    // The regressor falls to 0, so the line's value there is the asymptote.
    let asymptote = line.centre - line.slope * line.regressor_mean;
    (asymptote > 0.0).then(|| Drift {
        relative: line.slope * line.regressor_mean / asymptote,
        error: line.slope_error * line.regressor_mean / asymptote,
    })
}

struct Line {
    centre: f64,
    slope: f64,
    slope_error: f64,
    regressor_mean: f64,
    squares: f64,
}
fn regress(series: &[f64], tau: f64) -> Line {
    debug_assert!(series.len() > 2 && tau > 0.0);
    let n = float(series.len());
    // `tau` is a fraction of the series, and a step of `x` is one value.
    let decay = libm::exp(-1.0 / (tau * n));
    let regressor: Vec<f64> =
        std::iter::successors(Some(1.0), |x| Some(x * decay)).take(series.len()).collect();
    let regressor_mean = regressor.iter().sum::<f64>() / n;
    let centre = series.iter().sum::<f64>() / n;
    let (mut products, mut spread, mut total) = (0.0, 0.0, 0.0);
    for (x, y) in regressor.iter().zip(series) {
        products += (x - regressor_mean) * (y - centre);
        spread += (x - regressor_mean) * (x - regressor_mean);
        total += (y - centre) * (y - centre);
    }
    // Least squares for one regressor; `squares` is what the line leaves unexplained.
    let slope = products / spread;
    let squares = (total - slope * products).max(0.0);
    let slope_error = (squares / (n - 2.0) / spread).sqrt();
    Line { centre, slope, slope_error, regressor_mean, squares }
}

#[cfg(test)]
mod tests {
    use super::fit;

    /// A curve that approaches 1000 from `amplitude` above, with a time constant of `tau` values.
    fn curve(amplitude: f64, tau: f64) -> Vec<f64> {
        (0..200).map(|t| 1000.0 * (1.0 + amplitude * libm::exp(-f64::from(t) / tau))).collect()
    }

    #[track_caller]
    fn check(series: &[f64], expected: f64) {
        let drift = fit(series).expect("a positive asymptote");
        assert!((drift.relative - expected).abs() < 0.05 * expected.abs() + 1e-9, "{drift:?}");
    }

    #[test]
    fn measures_the_mean_against_the_asymptote() {
        // Mean of exp(-t / tau) over 200 values, about tau / 200 (1 - exp(-200 / tau)).
        check(&curve(0.05, 60.0), 0.05 * 0.2918);
        check(&curve(-0.05, 60.0), -0.05 * 0.2918);
        check(&curve(0.2, 20.0), 0.2 * 0.1025);
        check(&[7.0; 10], 0.0);
    }

    #[test]
    fn falling_to_nothing_has_no_asymptote() {
        // Positive so far, but heading for -50.
        let falling: Vec<f64> =
            (0..100).map(|t| 1000.0 * libm::exp(-f64::from(t) / 40.0) - 50.0).collect();
        assert_eq!(fit(&falling), None);
        assert_eq!(fit(&[1.0, 2.0, 3.0]), None);
    }
}
