//! The density of measured ratios under a hypothesis.

use std::f64::consts::PI;

use super::cholesky::Cholesky;
use crate::distribution::{normal, student};

/// Degrees of freedom of a kernel: a figure that is three deviations off is not impossible, as runs
/// have outliers.
const DF: f64 = 6.0;
/// The effects of an unknown cause have Cauchy's distribution: half are within this logarithm, a
/// quarter beyond 2.4 times as much. Of eleven causes on nine loads of a disk 36 effects of 99 are
/// above 1.5 %, and their quartiles 0.07, 0.25 and 0.6: small ones are as usual as large ones.
const UNKNOWN_SCALE: f64 = 0.25;
const UNKNOWN_DF: f64 = 1.0;
/// The share of figures that an unknown cause leaves as they are.
const UNTOUCHED: f64 = 0.6;
/// The share of the others that it changes in the same direction: a cause mostly slows all down.
const SAME_SIGN: f64 = 0.9;

/// The measured logarithm of each ratio, and its deviation from run to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// One entry a figure.
    pub figures: Vec<Noisy>,
}

/// A logarithm of a ratio that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noisy {
    /// The logarithm.
    pub log_ratio: f64,
    /// Its standard deviation, if the runs were made again; positive.
    pub sd: f64,
}

impl Evidence {
    /// All figures but one.
    pub fn without(&self, figure: usize) -> Self {
        Self { figures: rest(&self.figures, figure) }
    }
}

/// The ratios under a hypothesis.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicted {
    /// Nothing differs: all is variation from run to run.
    Chance,
    /// A difference of which nothing is known.
    Unknown,
    /// The effects of a known cause.
    Effects {
        /// The logarithm of each ratio, for each drive that was simulated.
        drives: Vec<Vec<f64>>,
        /// The error of the model in each logarithm.
        errors: Vec<ModelError>,
    },
}

/// The error of a model in the logarithm of a ratio, as standard deviations.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ModelError {
    /// The part that is this figure's alone.
    pub own: f64,
    /// The part that all figures share, with the sign that it has in this one.
    pub shared: f64,
}

impl ModelError {
    /// The standard deviation of both parts together.
    pub fn sd(self) -> f64 {
        libm::hypot(self.own, self.shared)
    }
}

impl Predicted {
    /// The same for all figures but one.
    pub fn without(&self, figure: usize) -> Self {
        match self {
            Self::Effects { drives, errors } => Self::Effects {
                drives: drives.iter().map(|row| rest(row, figure)).collect(),
                errors: rest(errors, figure),
            },
            other => other.clone(),
        }
    }

    /// The logarithm of the density of the evidence.
    ///
    /// # Panics
    /// A deviation is not positive, or a row has not one entry for each figure.
    pub fn log_density(&self, evidence: &Evidence) -> f64 {
        assert!(evidence.figures.iter().all(|it| it.sd > 0.0), "a deviation is positive");
        match self {
            Self::Chance => evidence.figures.iter().map(|it| untouched(*it)).sum(),
            Self::Unknown => unknown(&evidence.figures),
            Self::Effects { drives, errors } => mixture(drives, errors, evidence),
        }
    }
}

/// All entries but one.
fn rest<T: Clone>(all: &[T], without: usize) -> Vec<T> {
    [&all[..without], &all[without + 1..]].concat()
}

/// A hypothesis and its prior weight, not necessarily normalised.
#[derive(Debug, Clone, PartialEq)]
pub struct Hypothesis {
    /// The prior weight.
    pub prior: f64,
    /// The effects.
    pub predicted: Predicted,
}

/// The logarithm of the density of a t distribution with the given variance.
fn log_t(squared: f64, log_determinant: f64, dimensions: f64, df: f64) -> f64 {
    let constant = libm::lgamma(0.5 * (df + dimensions))
        - libm::lgamma(0.5 * df)
        - 0.5 * dimensions * libm::log(df * PI);
    constant - 0.5 * log_determinant - 0.5 * (df + dimensions) * libm::log1p(squared / df)
}

/// The covariance of t is its scale matrix times this.
const WIDER: f64 = DF / (DF - 2.0);

/// A figure that nothing changes.
fn untouched(Noisy { log_ratio, sd }: Noisy) -> f64 {
    let scale = sd * sd / WIDER;
    log_t(log_ratio * log_ratio / scale, libm::log(scale), 1.0, DF)
}

/// A figure that an unknown cause changes, mostly in the direction of `sign`.
fn touched(Noisy { log_ratio, sd }: Noisy, sign: f64) -> f64 {
    let scale = libm::hypot(UNKNOWN_SCALE, sd);
    let density = student::density(log_ratio / scale, UNKNOWN_DF) / scale;
    // What is within its noise may have either sign.
    let is_along = normal::upper_tail(-sign * log_ratio / sd);
    let share = SAME_SIGN * is_along + (1.0 - SAME_SIGN) * (1.0 - is_along);
    libm::log(2.0 * share * density)
}

/// An unknown cause: each figure is touched or not, and one of them at least is.
fn unknown(figures: &[Noisy]) -> f64 {
    let of_signs = [1.0, -1.0].map(|sign| unknown_along(figures, sign));
    log_sum(&of_signs) - std::f64::consts::LN_2
}

fn unknown_along(figures: &[Noisy], sign: f64) -> f64 {
    let (stay, change) = (libm::log(UNTOUCHED), libm::log(1.0 - UNTOUCHED));
    let both =
        figures.iter().map(|it| log_sum(&[stay + untouched(*it), change + touched(*it, sign)]));
    let both: Vec<f64> = both.collect();
    // By the first figure that is touched: a difference would cancel where all are as they were.
    let mut before = 0.0;
    let mut terms = Vec::with_capacity(figures.len());
    for (first, it) in figures.iter().enumerate() {
        terms.push(before + change + touched(*it, sign) + both[first + 1..].iter().sum::<f64>());
        before += stay + untouched(*it);
    }
    let all: f64 = 1.0 - libm::pow(UNTOUCHED, crate::numbers::float(figures.len()));
    log_sum(&terms) - libm::log(all)
}

fn mixture(drives: &[Vec<f64>], errors: &[ModelError], evidence: &Evidence) -> f64 {
    let dimensions = evidence.figures.len();
    assert!(drives.iter().all(|row| row.len() == dimensions), "one effect a figure");
    assert_eq!(errors.len(), dimensions, "one error a figure");
    let n = crate::numbers::float(drives.len());
    let d = crate::numbers::float(dimensions);
    // Shrunk kernels keep the mean and the covariance of the drives.
    let means: Vec<f64> =
        (0..dimensions).map(|i| drives.iter().map(|row| row[i]).sum::<f64>() / n).collect();
    // Silverman's rule: the share of the deviation that the kernels take over.
    let width = libm::pow(4.0 / ((d + 2.0) * n), 1.0 / (d + 4.0)).min(1.0);
    let shrunk = libm::sqrt(1.0 - width * width);
    let mut scale = vec![vec![0.0; dimensions]; dimensions];
    for (i, row) in scale.iter_mut().enumerate() {
        for (j, entry) in row.iter_mut().enumerate() {
            let (sd, own) = (evidence.figures[i].sd, errors[i].own);
            let alone = if i == j { sd * sd + own * own } else { 0.0 };
            let shared = errors[i].shared * errors[j].shared;
            let products = drives.iter().map(|row| (row[i] - means[i]) * (row[j] - means[j]));
            let covariance = products.sum::<f64>() / (n - 1.0).max(1.0);
            *entry = (width * width * covariance + shared + alone) / WIDER;
        }
    }
    let factor = Cholesky::new(&scale).expect("a positive diagonal is added to a covariance");
    let log_determinant = factor.log_determinant();
    let kernels = drives.iter().map(|row| {
        let difference: Vec<f64> = evidence
            .figures
            .iter()
            .zip(row.iter().zip(&means))
            .map(|(it, (own, mean))| it.log_ratio - (mean + shrunk * (own - mean)))
            .collect();
        log_t(factor.distance(&difference), log_determinant, d, DF)
    });
    log_sum(&kernels.collect::<Vec<_>>()) - libm::log(n)
}

/// The logarithm of a sum of numbers that are given by their logarithms.
pub(super) fn log_sum(logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + libm::log(logs.iter().map(|it| libm::exp(it - largest)).sum())
}
