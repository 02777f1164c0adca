//! The variance of the log ratio, divided among its causes.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::kinds;
use super::linear::{Fit, dot};
use super::predictive::indicators;
use super::unknown::Unknown;
use crate::criteria::Criteria;
use crate::distribution::{normal, student};
use crate::numbers::{float, mean};

/// The source of a part of the variance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// An unknown of the drive, by index.
    Unknown(usize),
    /// The addresses that the runs happened to request, and the rest that no single unknown
    /// explains.
    Addresses,
    /// Mechanisms missing in the model.
    Model,
}

/// A part of the variance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its cause.
    pub cause: Cause,
    /// Its share of the whole; all parts add up to 1.
    pub share: f64,
    /// 95 % interval of the share.
    pub ci95: [f64; 2],
}

/// Degrees of freedom that the unknowns must leave, or nothing can be attributed to them.
const FREEDOM_MIN: f64 = 3.0;
/// Draws for the intervals: the 2.5 % point is then known to a third of a point.
const DRAWS: usize = 2_000;

/// Divides the variance by a regression on all unknowns together; the largest part first.
///
/// An unknown's part is its coefficient times its covariance with the response, less the part due
/// to chance. Unknowns are drawn independently, so that this is its main effect, and a correlation
/// in the sample is chance; where one is beyond chance, they were drawn together, and it counts.
/// The intervals follow the distribution of the coefficients and of the residual variance; one
/// whose coefficients are not significant begins at zero.
pub(super) fn parts(
    d: &[f64],
    unknowns: &[Unknown],
    model_sigma: f64,
    criteria: &Criteria,
) -> Vec<Part> {
    let (groups, columns): (Vec<Group>, Vec<Vec<Vec<f64>>>) = unknowns.iter().map(columns).unzip();
    let columns: Vec<Vec<f64>> = columns.into_iter().flatten().collect();
    let Some(fit) = Fit::new(d, &columns).filter(|fit| fit.freedom >= FREEDOM_MIN) else {
        return Vec::new();
    };
    let shared = Shared {
        covariance: covariance(&fit, &groups),
        effects: group_effects(&fit, &groups),
        fit,
        groups,
        model_sigma,
    };
    let estimate = shared.estimate();
    if estimate.iter().sum::<f64>() <= 0.0 {
        return Vec::new();
    }
    let intervals = shared.intervals(criteria);
    let whole: f64 = estimate.iter().sum();
    let causes = (0..unknowns.len()).map(Cause::Unknown).chain([Cause::Addresses, Cause::Model]);
    let mut parts = Vec::new();
    for ((cause, own), [lo, hi]) in causes.zip(estimate).zip(intervals) {
        let share = own / whole;
        // The range of the draws may miss the estimate, which must lie inside.
        parts.push(Part { cause, share, ci95: [lo.min(share), hi.max(share)] });
    }
    parts.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.cause.cmp(&b.cause)));
    parts
}

/// The columns of an unknown.
#[derive(Debug, Clone)]
struct Group {
    columns: usize,
    /// Of an unknown that makes kinds: rows with the same number are exchangeable draws.
    exchangeable: Option<Vec<usize>>,
}

/// Kinds as indicators, and the scatter inside them where there is one; all else by its position in
/// the prior.
fn columns(unknown: &Unknown) -> (Group, Vec<Vec<f64>>) {
    let Some(kinds) = kinds::of(&unknown.values) else {
        return (Group { columns: 1, exchangeable: None }, vec![unknown.scores.clone()]);
    };
    let mut columns = indicators(&kinds);
    columns.extend(kinds::scatter(&unknown.values, &kinds));
    // In a Latin hypercube there are as many of each kind as among all drives.
    let exchangeable = if is_stratified(&unknown.scores) { kinds } else { vec![0; kinds.len()] };
    (Group { columns: columns.len(), exchangeable: Some(exchangeable) }, columns)
}

/// True if one score lies in each of as many strata of equal probability.
fn is_stratified(scores: &[f64]) -> bool {
    let mut quantiles: Vec<f64> = scores.iter().map(|score| normal::cdf(*score)).collect();
    quantiles.sort_unstable_by(f64::total_cmp);
    let count = float(scores.len());
    // A quantile at the edge of its stratum may have been rounded out of it.
    let slack = 1e-6;
    quantiles.iter().enumerate().all(|(stratum, quantile)| {
        let position = quantile * count;
        position >= float(stratum) - slack && position <= float(stratum) + 1.0 + slack
    })
}

/// The covariance of the columns among all drives: of those of one unknown, and of those that vary
/// together beyond chance.
///
/// A position in a prior is a standard normal deviate: its variance is known, and that of a sample
/// would only add noise.
fn covariance(fit: &Fit, groups: &[Group]) -> Vec<Vec<f64>> {
    let owners = groups.iter().enumerate();
    let owner: Vec<(usize, bool)> = owners
        .flat_map(|(at, group)| {
            std::iter::repeat_n((at, group.exchangeable.is_some()), group.columns)
        })
        .collect();
    let columns = &fit.centred;
    let rows = float(fit.fitted.len());
    // Correlations that chance explains would only move variance between unknowns.
    let limit = chance(rows);
    let sum = |a: usize, b: usize| dot(&columns[a], &columns[b]);
    let deviation = |a: usize| if owner[a].1 { (sum(a, a) / (rows - 1.0)).sqrt() } else { 1.0 };
    let covariance = |a: usize, b: usize| {
        let scale = (sum(a, a) * sum(b, b)).sqrt();
        let correlation = if scale > 0.0 { sum(a, b) / scale } else { 0.0 };
        let counts = owner[a].0 == owner[b].0 || correlation.abs() > limit;
        if counts { correlation * deviation(a) * deviation(b) } else { 0.0 }
    };
    (0..columns.len()).map(|a| (0..columns.len()).map(|b| covariance(a, b)).collect()).collect()
}

/// The correlation of `rows` pairs that chance exceeds once in a thousand times.
fn chance(rows: f64) -> f64 {
    let t = student::quantile(1.0 - 0.0005, rows - 2.0);
    t / (rows - 2.0 + t * t).sqrt()
}

fn group_effects(fit: &Fit, groups: &[Group]) -> Vec<Option<Effects>> {
    let mut first = 0;
    let mut effects = Vec::with_capacity(groups.len());
    for group in groups {
        let columns = first..first + group.columns;
        first = columns.end;
        effects.push(group.exchangeable.as_ref().map(|own| Effects::new(fit, columns, own)));
    }
    effects
}

struct Shared {
    fit: Fit,
    covariance: Vec<Vec<f64>>,
    groups: Vec<Group>,
    /// Of unknowns that make kinds.
    effects: Vec<Option<Effects>>,
    model_sigma: f64,
}

/// The contribution to each row of an unknown that makes kinds. Its variance among all drives is
/// not known as that of a score is: other specimens would have another one.
struct Effects {
    /// Contributions of exchangeable rows, together.
    strata: Vec<Vec<f64>>,
    variance: f64,
}

impl Effects {
    fn new(fit: &Fit, columns: std::ops::Range<usize>, exchangeable: &[usize]) -> Self {
        let mut strata = vec![Vec::new(); exchangeable.iter().max().map_or(0, |most| most + 1)];
        for (row, stratum) in exchangeable.iter().enumerate() {
            let own = columns.clone().map(|at| fit.coefficients[at] * fit.centred[at][row]);
            strata[*stratum].push(own.sum::<f64>());
        }
        let variance = spread(&strata.concat());
        Self { strata, variance }
    }

    /// The variance among specimens redrawn from these, over that among these.
    fn redrawn(&self, rng: &mut Xoshiro256PlusPlus) -> f64 {
        let mut redrawn = Vec::new();
        for own in &self.strata {
            redrawn.extend(own.iter().map(|_| own[below(own.len(), rng)]));
        }
        if self.variance > 0.0 { spread(&redrawn) / self.variance } else { 1.0 }
    }
}

/// The mean square of the distances from the mean.
fn spread(values: &[f64]) -> f64 {
    let centre = mean(values);
    mean(&values.iter().map(|value| (value - centre) * (value - centre)).collect::<Vec<f64>>())
}

impl Shared {
    /// The variance of each unknown, of the addresses and of the model.
    fn estimate(&self) -> Vec<f64> {
        let rows = float(self.fit.fitted.len());
        let mut parts = self.of_unknowns(&self.fit.coefficients);
        for (part, group) in parts.iter_mut().zip(&self.groups) {
            // The expectation of a square is larger than the square of the expectation.
            *part = (*part - self.fit.variance * float(group.columns) / (rows - 1.0)).max(0.0);
        }
        parts.extend([self.fit.variance, self.model_sigma * self.model_sigma]);
        parts
    }

    fn of_unknowns(&self, coefficients: &[f64]) -> Vec<f64> {
        debug_assert_eq!(coefficients.len(), self.covariance.len());
        let own = coefficients.iter().zip(&self.covariance);
        let mut each = own.map(|(b, row)| b * dot(row, coefficients));
        let mut sums = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            sums.push(each.by_ref().take(group.columns).sum::<f64>());
        }
        sums
    }

    /// An interval of each share, in the order of [`Shared::estimate`].
    fn intervals(&self, criteria: &Criteria) -> Vec<[f64; 2]> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(criteria.seed);
        let count = self.groups.len() + 2;
        let mut drawn: Vec<Vec<f64>> = vec![Vec::with_capacity(DRAWS); count];
        for _ in 0..DRAWS {
            let shares = self.draw(&mut rng);
            drawn.iter_mut().zip(shares).for_each(|(all, share)| all.push(share));
        }
        let outside = 0.5 * criteria.alpha;
        let mut intervals = Vec::with_capacity(count);
        for mut all in drawn {
            all.sort_unstable_by(f64::total_cmp);
            intervals.push([outside, 1.0 - outside].map(|p| all[draw_rank(p)]));
        }
        for (interval, is_shown) in intervals.iter_mut().zip(self.shown(criteria.alpha)) {
            interval[0] = if is_shown { interval[0] } else { 0.0 };
        }
        intervals
    }

    /// Shares drawn from their distribution, given the data.
    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        let freedom = self.fit.freedom;
        // Wilson and Hilferty's approximation of chi-square over its degrees of freedom.
        let third = 2.0 / (9.0 * freedom);
        let root = (1.0 - third + deviate(rng) * third.sqrt()).max(0.1);
        let variance = self.fit.variance / (root * root * root);
        let deviates: Vec<f64> = self.fit.coefficients.iter().map(|_| deviate(rng)).collect();
        let mut parts = self.of_unknowns(&self.fit.moved(&deviates, variance.sqrt()));
        for (part, group) in parts.iter_mut().zip(&self.effects) {
            *part = part.max(0.0) * group.as_ref().map_or(1.0, |effects| effects.redrawn(rng));
        }
        parts.extend([variance, self.model_sigma * self.model_sigma]);
        let whole: f64 = parts.iter().sum();
        parts.iter().map(|part| if whole > 0.0 { part / whole } else { 0.0 }).collect()
    }

    /// For each unknown, true if it has a significant coefficient, adjusted for its columns.
    fn shown(&self, alpha: f64) -> Vec<bool> {
        let Fit { coefficients, variance, freedom, .. } = &self.fit;
        let mut column = 0;
        let mut shown = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let mut own = column..column + group.columns;
            column += group.columns;
            let outside = 0.5 * alpha / float(group.columns.max(1));
            let limit = student::quantile(1.0 - outside, *freedom) * variance.sqrt();
            shown.push(own.any(|at| coefficients[at].abs() > limit * self.fit.error(at)));
        }
        shown
    }
}

/// A standard normal deviate.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
fn deviate(rng: &mut Xoshiro256PlusPlus) -> f64 {
    normal::quantile(((rng.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64)
}

/// One of `count` numbers from 0.
fn below(count: usize, rng: &mut Xoshiro256PlusPlus) -> usize {
    let wide = u128::from(rng.next_u64()) * count as u128;
    usize::try_from(wide >> 64).expect("less than the count")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index among two thousand"
)]
fn draw_rank(p: f64) -> usize {
    ((p * DRAWS as f64) as usize).min(DRAWS - 1)
}
