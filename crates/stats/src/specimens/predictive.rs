//! The distribution of the log ratio of one more specimen.

use super::kinds;
use super::linear::Fit;
use super::unknown::Unknown;
use crate::distribution::student;
use crate::numbers::float;

/// Degrees of freedom that kinds must leave for the scatter inside them.
const FREEDOM_MIN: f64 = 5.0;
/// Halvings of the interval that holds a quantile: more than a float has digits.
const HALVINGS: u32 = 200;

/// Student's distribution around a mean.
#[derive(Debug, Clone, Copy)]
struct Around {
    mean: f64,
    scale: f64,
    freedom: f64,
}

/// Student's distributions, each as likely as the next: one for each specimen, around the mean of
/// its kind.
#[derive(Debug)]
pub(super) struct Predictive(Vec<Around>);

impl Predictive {
    /// From at least two log ratios.
    pub(super) fn new(d: &[f64], unknowns: &[Unknown], model_sigma: f64) -> Self {
        let columns: Vec<Vec<f64>> = unknowns
            .iter()
            .filter_map(|it| kinds::of(&it.values))
            .flat_map(|k| indicators(&k))
            .collect();
        let fit = Fit::new(d, &columns).filter(|fit| fit.freedom >= FREEDOM_MIN);
        let fit = fit
            .or_else(|| Fit::new(d, &[]))
            .expect("a mean leaves a degree of freedom of two values");
        let mut parts = Vec::with_capacity(d.len());
        // Without kinds all rows have the same mean and leverage.
        let rows = if fit.coefficients.is_empty() { 1 } else { d.len() };
        for row in 0..rows {
            let own = fit.variance * (1.0 + fit.leverage(row));
            let both = own + model_sigma * model_sigma;
            // Welch and Satterthwaite: the model's part is known, so it adds no doubt about the
            // scatter.
            let freedom =
                if own > 0.0 { fit.freedom * (both / own) * (both / own) } else { f64::MAX };
            parts.push(Around { mean: fit.fitted[row], scale: both.sqrt(), freedom });
        }
        Self(parts)
    }

    /// The probability of less than `value`.
    pub(super) fn below(&self, value: f64) -> f64 {
        let each = self.0.iter().map(|it| it.below(value));
        each.sum::<f64>() / float(self.0.len())
    }

    /// The probability of more than `value`.
    pub(super) fn above(&self, value: f64) -> f64 {
        let each = self.0.iter().map(|it| it.mirrored().below(-value));
        each.sum::<f64>() / float(self.0.len())
    }

    /// The value below which the next log ratio lies with probability `p`.
    pub(super) fn quantile(&self, p: f64) -> f64 {
        debug_assert!(p > 0.0 && p < 1.0);
        // A mixture's quantile lies among those of its parts.
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for part in &self.0 {
            let quantile = part.quantile(p);
            (lo, hi) = (lo.min(quantile), hi.max(quantile));
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(lo, hi);
            if middle <= lo || middle >= hi {
                break;
            }
            if self.below(middle) < p {
                lo = middle;
            } else {
                hi = middle;
            }
        }
        if p < 0.5 { lo } else { hi }
    }
}

impl Around {
    fn below(self, value: f64) -> f64 {
        if self.scale > 0.0 {
            student::cdf((value - self.mean) / self.scale, self.freedom)
        } else {
            float(usize::from(self.mean < value))
        }
    }

    fn mirrored(self) -> Self {
        Self { mean: -self.mean, ..self }
    }

    fn quantile(self, p: f64) -> f64 {
        self.mean + self.scale * student::quantile(p, self.freedom)
    }
}

/// A column for each kind but the first.
pub(super) fn indicators(kinds: &[usize]) -> Vec<Vec<f64>> {
    let count = kinds.iter().max().map_or(0, |most| most + 1);
    let mut columns = Vec::new();
    for kind in 1..count {
        columns.push(kinds.iter().map(|own| float(usize::from(*own == kind))).collect());
    }
    columns
}
