//! How far a run's mean still is from where the run is heading.

/// The fit of y = asymptote + amplitude exp(-t / tau).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Mean of the fitted curve over the asymptote, less 1: what the mean is off by.
    pub relative: f64,
    /// Standard error of `relative`.
    pub error: f64,
}

/// Time constants tried, as fractions of the series: from a quick settling to one so slow that
/// half of the run cannot tell it from a line (the trend test sees those).
const TAU_FIRST: f64 = 0.05;
const TAU_LAST: f64 = 0.5;
const TAU_STEPS: u32 = 16;

/// Fits an exponential approach to an asymptote by least squares.
///
/// `None` for fewer than four values or if the asymptote is not positive.
pub fn fit(series: &[f64]) -> Option<Drift> {
    if series.len() < 4 {
        return None;
    }
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
    let asymptote = line.centre - line.slope * line.regressor_mean;
    (asymptote > 0.0).then(|| Drift {
        relative: line.slope * line.regressor_mean / asymptote,
        error: line.slope_error * line.regressor_mean / asymptote,
    })
}

/// A regression on exp(-t / tau).
struct Line {
    centre: f64,
    slope: f64,
    slope_error: f64,
    regressor_mean: f64,
    squares: f64,
}

#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
fn regress(series: &[f64], tau: f64) -> Line {
    let n = series.len() as f64;
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
    let slope = products / spread;
    let squares = (total - slope * products).max(0.0);
    let slope_error = (squares / (n - 2.0) / spread).sqrt();
    Line { centre, slope, slope_error, regressor_mean, squares }
}
