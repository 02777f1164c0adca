//! Rounds of simulated drives, and the draws of the last one.

use std::ops::RangeInclusive;

use drivelab_core::Rng;

use super::linear::Cholesky;
use super::outcome::LeftOpen;
use super::posterior::{self, identity, spread, squared_distance};
use super::unknown::Unknown;

/// Draws in a profile.
pub(super) const DRAWS: usize = 200;
/// Width of the next round, in widths of the last posterior.
const WIDER: f64 = 1.6;
/// Maximum mean square distance of draws from the centre of their round, in deviations of its
/// drives: it is 0.4 for a round around the answer.
const DISTANCE_MAX: f64 = 0.8;

/// Progress of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Simulated drives so far.
    pub simulated: u64,
    /// Minimum of simulated drives at the end.
    pub least: u64,
    /// Maximum of simulated drives at the end; the number of rounds is not known in advance.
    pub most: u64,
}

impl Standing {
    /// The progress after `simulated` drives of round `number`, with `drives` drives each.
    pub(super) fn of(
        number: u64,
        simulated: u64,
        drives: u64,
        rounds: &RangeInclusive<u64>,
    ) -> Self {
        Self {
            simulated: number * drives + simulated,
            least: drives * (number + 1).max(*rounds.start()),
            most: drives * rounds.end(),
        }
    }
}

/// A normal distribution of the scores of drives.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) centre: Vec<f64>,
    form: Cholesky,
}

impl Round {
    /// The width of the prior around `centre`.
    pub(super) fn first(centre: Vec<f64>) -> Self {
        let form = Cholesky::of(&identity(centre.len()));
        Self { centre, form }
    }

    /// The distribution of the draws of a posterior, made wider.
    pub(super) fn around(draws: &[Vec<f64>]) -> Self {
        let mut covariance = spread(draws);
        for entry in covariance.iter_mut().flatten() {
            // The order of the products is part of the digits of a profile.
            *entry = *entry * WIDER * WIDER;
        }
        Self { centre: posterior::mean(draws), form: Cholesky::of(&covariance) }
    }

    /// The scores of `drives` drives.
    pub(super) fn design(&self, drives: usize, seed: u64, number: u64) -> Vec<Vec<f64>> {
        let mut rng = Rng::for_part(seed, 10 + number);
        (0..drives)
            .map(|_| {
                let deviates: Vec<f64> =
                    self.centre.iter().map(|_| posterior::normal(&mut rng)).collect();
                let moved = self.form.coloured(&deviates);
                self.centre.iter().zip(moved).map(|(centre, by)| centre + by).collect()
            })
            .collect()
    }

    /// Returns true if the draws are near its drives, where the emulator is reliable.
    pub(super) fn covers(&self, draws: &[Vec<f64>]) -> bool {
        posterior::distance(draws, &self.centre, &self.form) < DISTANCE_MAX
    }
}

/// The range of each unknown's scores among simulated drives, widened by a tenth on either side.
pub(super) fn bounds(design: &[Vec<f64>]) -> Vec<[f64; 2]> {
    let width = design.first().map_or(0, Vec::len);
    let mut bounds = Vec::with_capacity(width);
    for unknown in 0..width {
        let low = design.iter().map(|row| row[unknown]).fold(f64::INFINITY, f64::min);
        let high = design.iter().map(|row| row[unknown]).fold(f64::NEG_INFINITY, f64::max);
        let margin = 0.1 * (high - low);
        bounds.push([low - margin, high + margin]);
    }
    bounds
}

/// The draw nearest to the mean of all: a consistent substitute for separate medians.
pub(super) fn middle(draws: &[Vec<f64>]) -> Vec<f64> {
    let centre = posterior::mean(draws);
    let factor = Cholesky::of(&spread(draws));
    // The conditional centre keeps correlated unknowns consistent in the median drive.
    let nearest = draws.iter().min_by(|one, other| {
        let one = squared_distance(one, &centre, &factor);
        one.total_cmp(&squared_distance(other, &centre, &factor))
    });
    nearest.cloned().unwrap_or(centre)
}

/// The draws for a profile.
pub(super) fn kept(draws: &[Vec<f64>]) -> impl Iterator<Item = &Vec<f64>> {
    debug_assert!(!draws.is_empty(), "a posterior has draws");
    draws.iter().step_by(draws.len().div_ceil(DRAWS))
}

/// The posterior range of each unknown, from drawn numbers.
pub(super) fn left_open(unknowns: &[Unknown], drawn: &[Vec<f64>]) -> Vec<LeftOpen> {
    debug_assert!(drawn.iter().all(|draw| draw.len() == unknowns.len()), "a number each");
    let mut ranges = Vec::with_capacity(unknowns.len());
    for (index, unknown) in unknowns.iter().enumerate() {
        let mut values: Vec<f64> = drawn.iter().map(|draw| draw[index]).collect();
        values.sort_unstable_by(f64::total_cmp);
        let [low, median, high] =
            [25, 500, 975].map(|permille| values[(values.len() - 1) * permille / 1000]);
        let (key, unit) = (unknown.key, unknown.unit);
        ranges.push(LeftOpen { key, median, range95: [low, high], unit });
    }
    ranges
}
