//! The factors of a sweep that matter: the share of the variance that each explains by itself.
//!
//! The main effect of a factor is the variance of the mean response given the factor, over the
//! variance of the response (Saltelli et al. 2008, *Global Sensitivity Analysis*, section 1.2.5).
//! It is estimated from the points as they are, without a special design: the points are grouped by
//! the factor, and the spread of group means due to chance alone is subtracted (Kelley 1935,
//! epsilon squared). Its interval comes from a jackknife that omits a twentieth of the points at a
//! time.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use crate::distribution::student;
use crate::numbers::{float, mean};

/// Parts of the jackknife.
const PARTS: usize = 20;
/// Fewest points: two in each part.
pub const MAIN_EFFECTS_MIN: usize = 2 * PARTS;
/// A factor with more values is cut into groups of equal size.
const GROUPS_MAX: usize = 16;
/// Points in each of those groups, as long as there are enough for [`GROUPS_MIN`].
const IN_A_GROUP: usize = 25;
const GROUPS_MIN: usize = 4;

/// A share of the variance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MainEffect {
    /// From 0 to 1.
    pub share: f64,
    /// 95 % interval of the share.
    pub ci95: [f64; 2],
}

/// The variance explained by the factors of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MainEffects {
    /// One entry a factor, in their order.
    pub factors: Vec<MainEffect>,
    /// The part that no factor explains by itself: factors together, and chance.
    pub rest: MainEffect,
}

/// The main effects of `factors`, each with a value for every entry of `response`.
///
/// `None` for fewer than [`MAIN_EFFECTS_MIN`] points, and for a response that does not vary.
///
/// # Panics
/// A factor has another length than the response.
pub fn main_effects(response: &[f64], factors: &[Vec<f64>]) -> Option<MainEffects> {
    if response.len() < MAIN_EFFECTS_MIN || squares(response) <= 0.0 {
        return None;
    }
    let groups: Vec<Vec<usize>> = factors.iter().map(|values| groups(values)).collect();
    // In shuffled order, so that a part of the jackknife is not a row of a grid.
    let all = shuffled(response.len());
    let whole = shares(response, &groups, &all);
    let mut parts: Vec<Vec<f64>> = Vec::with_capacity(PARTS);
    for part in 0..PARTS {
        let rest = all.iter().enumerate().filter(|(rank, _)| rank % PARTS != part);
        let rest: Vec<usize> = rest.map(|(_, index)| *index).collect();
        parts.push(shares(response, &groups, &rest));
    }
    let mut effects: Vec<MainEffect> = (0..whole.len())
        .map(|at| interval(whole[at], &parts.iter().map(|part| part[at]).collect::<Vec<f64>>()))
        .collect();
    let rest = effects.pop().expect("the rest is the last share");
    Some(MainEffects { factors: effects, rest })
}

/// All indices in an order that is independent of that of a grid.
fn shuffled(count: usize) -> Vec<usize> {
    // A fixed seed, so that the same points always give the same intervals.
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
    let mut order: Vec<(u64, usize)> = (0..count).map(|index| (rng.next_u64(), index)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, index)| index).collect()
}

/// The share that each factor explains among the points of `indices`, then the unexplained rest.
fn shares(response: &[f64], groups: &[Vec<usize>], indices: &[usize]) -> Vec<f64> {
    let chosen: Vec<f64> = indices.iter().map(|index| response[*index]).collect();
    let whole = squares(&chosen);
    let mut shares: Vec<f64> = groups
        .iter()
        .map(|of| {
            let of: Vec<usize> = indices.iter().map(|index| of[*index]).collect();
            if whole > 0.0 { explained(&chosen, &of) / whole } else { 0.0 }
        })
        .collect();
    // Factors are independent in a design, so their shares add up and the rest is the remainder.
    shares.push(1.0 - shares.iter().sum::<f64>());
    shares
}

/// The sum of squares between groups, less that of meaningless groups.
fn explained(response: &[f64], of: &[usize]) -> f64 {
    debug_assert_eq!(response.len(), of.len());
    let count = of.iter().max().map_or(0, |most| most + 1);
    let mut members = vec![Vec::new(); count];
    for (value, group) in response.iter().zip(of) {
        members[*group].push(*value);
    }
    members.retain(|values| !values.is_empty());
    let within: f64 = members.iter().map(|values| squares(values)).sum();
    let freedom = response.len().saturating_sub(members.len());
    if members.len() < 2 || freedom == 0 {
        return 0.0;
    }
    // Chance alone gives each group's mean the variance within a group.
    let between = squares(response) - within;
    between - float(members.len() - 1) * within / float(freedom)
}

/// The group of each value: its own where there are few values, or one of several of equal size.
fn groups(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut distinct = sorted.clone();
    distinct.dedup();
    if distinct.len() <= GROUPS_MAX {
        return values.iter().map(|value| rank(&distinct, *value)).collect();
    }
    let count = (values.len() / IN_A_GROUP).clamp(GROUPS_MIN, GROUPS_MAX);
    values.iter().map(|value| rank(&sorted, *value) * count / values.len()).collect()
}

/// The number of values below `value`.
fn rank(sorted: &[f64], value: f64) -> usize {
    sorted.partition_point(|other| other.total_cmp(&value).is_lt())
}

/// The sum of squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre) * (value - centre)).sum()
}

fn interval(share: f64, parts: &[f64]) -> MainEffect {
    debug_assert_eq!(parts.len(), PARTS);
    // The jackknife's variance (Efron and Tibshirani 1993, eq. 11.5), a group
    // instead of a value.
    let factor = float(PARTS - 1) / float(PARTS);
    let error = (factor * squares(parts)).sqrt();
    let half = student::quantile(0.975, float(PARTS - 1)) * error;
    // Less the part of chance, a share may be a little below 0.
    let share = share.clamp(0.0, 1.0);
    MainEffect { share, ci95: [(share - half).max(0.0), (share + half).min(1.0)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform in [0, 1).
    fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let bits = (rng.next_u64() >> 11) as f64;
        bits / 9_007_199_254_740_992.0
    }

    /// Points of a response whose shares are known: `3 a`, a parabola in `b`, `c` of three values,
    /// a product that no factor explains by itself, and chance.
    fn sweep(seed: u64, points: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut factors = vec![Vec::new(); 4];
        let mut response = Vec::new();
        for _ in 0..points {
            let (a, b) = (unit(&mut rng), unit(&mut rng));
            let c = (unit(&mut rng) * 3.0).floor();
            let d = unit(&mut rng);
            let chance = unit(&mut rng);
            let parabola = 6.0 * (b - 0.5) * (b - 0.5);
            let product = 3.0 * (a - 0.5) * (d - 0.5);
            response.push(3.0 * a + parabola + 0.5 * c + product + chance);
            for (factor, value) in factors.iter_mut().zip([a, b, c, d]) {
                factor.push(value);
            }
        }
        (response, factors)
    }

    /// Variances: 9/12 of `3 a`; 36/180 of the parabola; 0.25 * 2/3 of `c`; 9/144 of the product;
    /// 1/12 of chance.
    const PARTS_OF_VARIANCE: [f64; 5] =
        [9.0 / 12.0, 36.0 / 180.0, 0.25 * 2.0 / 3.0, 0.0, 9.0 / 144.0 + 1.0 / 12.0];

    #[test]
    fn intervals_hold_the_true_shares() {
        let whole: f64 = PARTS_OF_VARIANCE.iter().sum();
        let mut held = [0; 5];
        for seed in 0..200 {
            let (response, factors) = sweep(seed, 500);
            let found = main_effects(&response, &factors).unwrap();
            let shares = found.factors.iter().chain([&found.rest]);
            for ((count, effect), part) in held.iter_mut().zip(shares).zip(PARTS_OF_VARIANCE) {
                // Groups of a sixteenth hide what a factor does inside one: up to 1 point here.
                let (low, high) = (effect.ci95[0] - 0.01, effect.ci95[1] + 0.01);
                *count += usize::from((low..=high).contains(&(part / whole)));
            }
        }
        for (place, count) in held.iter().enumerate() {
            assert!(*count >= 180, "share {place}: {count} of 200 intervals, seeds 0 to 199");
        }
    }

    #[test]
    fn a_factor_of_no_effect_explains_nothing() {
        let (response, factors) = sweep(7, 2_000);
        let found = main_effects(&response, &factors).unwrap();
        assert!(found.factors[3].share < 0.02, "seed 7: {found:?}");
        assert!(found.factors[0].ci95[0] > 0.5, "seed 7: {found:?}");
    }

    #[test]
    fn too_little_gives_nothing() {
        let (response, factors) = sweep(1, MAIN_EFFECTS_MIN - 1);
        assert_eq!(main_effects(&response, &factors), None);
        let same = vec![1.0; MAIN_EFFECTS_MIN];
        assert_eq!(main_effects(&same, std::slice::from_ref(&same)), None);
    }

    #[test]
    fn a_factor_that_decides_alone_has_all() {
        let values: Vec<f64> = (0..60).map(|place| f64::from(place % 3)).collect();
        let found = main_effects(&values, &[values.clone(), vec![1.0; 60]]).unwrap();
        let shares = [found.factors[0].share, found.factors[1].share, found.rest.share];
        for (share, expected) in shares.into_iter().zip([1.0, 0.0, 0.0]) {
            assert!((share - expected).abs() < 1e-9, "{shares:?}");
        }
    }
}
