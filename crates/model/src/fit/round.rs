//! Where drives are simulated, round after round, and what is kept of the draws of the last one.

use std::ops::RangeInclusive;

use drivelab_core::Rng;

use super::linear::Cholesky;
use super::outcome::LeftOpen;
use super::posterior::{self, spread};
use super::unknown::Unknown;

/// Draws that a profile holds.
pub(super) const DRAWS: usize = 200;
/// How much wider than the last posterior the next drives are drawn.
const WIDER: f64 = 1.6;
/// The mean square distance of draws from the centre of a round, in deviations of its drives, up to
/// which they lie among them: 0.4 where the round was drawn around the answer.
const AMONG: f64 = 0.8;

/// How far a fit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Drives that were simulated.
    pub simulated: u64,
    /// Drives that will have been simulated in the end, at least.
    pub least: u64,
    /// The same, at most: how many rounds it takes is not known before.
    pub most: u64,
}

impl Standing {
    /// After some drives of a round, of rounds of `drives` each.
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

/// A normal distribution of scores that drives are drawn from.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) centre: Vec<f64>,
    form: Cholesky,
}

impl Round {
    /// As wide as the prior.
    pub(super) fn first(centre: Vec<f64>) -> Self {
        let width = centre.len();
        let unit = |row: usize| (0..width).map(|at| f64::from(u8::from(at == row))).collect();
        let form = Cholesky::of(&(0..width).map(unit).collect::<Vec<Vec<f64>>>());
        Self { centre, form }
    }

    /// Where the draws of a posterior lie, with room around them.
    pub(super) fn around(draws: &[Vec<f64>]) -> Self {
        let wider = |row: Vec<f64>| row.into_iter().map(|x| x * WIDER * WIDER).collect();
        let form = Cholesky::of(&spread(draws).into_iter().map(wider).collect::<Vec<Vec<f64>>>());
        Self { centre: posterior::centre(draws), form }
    }

    /// The scores of `drives` drives.
    pub(super) fn design(&self, drives: usize, seed: u64, number: u64) -> Vec<Vec<f64>> {
        let mut rng = Rng::for_part(seed, 10 + number);
        let one = |_| {
            let normal: Vec<f64> =
                self.centre.iter().map(|_| posterior::normal(&mut rng)).collect();
            let moved = self.form.coloured(&normal);
            self.centre.iter().zip(moved).map(|(centre, by)| centre + by).collect()
        };
        (0..drives).map(one).collect()
    }

    /// Whether draws lie among its drives.
    pub(super) fn holds(&self, draws: &[Vec<f64>]) -> bool {
        posterior::distance(draws, &self.centre, &self.form) < AMONG
    }
}

/// The lowest and the highest score of each unknown among simulated drives, with a little room.
pub(super) fn bounds(design: &[Vec<f64>]) -> Vec<[f64; 2]> {
    let width = design.first().map_or(0, Vec::len);
    let of = |at: usize| {
        let scores = || design.iter().map(|row| row[at]);
        let (low, high) =
            (scores().fold(f64::INFINITY, f64::min), scores().fold(f64::NEG_INFINITY, f64::max));
        let room = 0.1 * (high - low);
        [low - room, high + room]
    };
    (0..width).map(of).collect()
}

/// The draw nearest to the mean of all: each number is a median, and they go together.
pub(super) fn middle(draws: &[Vec<f64>]) -> Vec<f64> {
    let centre = posterior::centre(draws);
    let factor = Cholesky::of(&spread(draws));
    let distance = |draw: &Vec<f64>| {
        let off: Vec<f64> = draw.iter().zip(&centre).map(|(x, mean)| x - mean).collect();
        factor.whitened(&off).iter().map(|x| x * x).sum::<f64>()
    };
    let nearer = |one: &&Vec<f64>, other: &&Vec<f64>| distance(one).total_cmp(&distance(other));
    draws.iter().min_by(nearer).cloned().unwrap_or(centre)
}

/// The draws that a profile holds.
pub(super) fn kept(draws: &[Vec<f64>]) -> impl Iterator<Item = &Vec<f64>> {
    draws.iter().step_by(draws.len().div_ceil(DRAWS))
}

/// What is left open of each unknown, from drawn numbers.
pub(super) fn left_open(unknowns: &[Unknown], drawn: &[Vec<f64>]) -> Vec<LeftOpen> {
    let of = |(place, unknown): (usize, &Unknown)| {
        let mut values: Vec<f64> = drawn.iter().map(|draw| draw[place]).collect();
        values.sort_unstable_by(f64::total_cmp);
        let at = |permille: usize| values[(values.len() - 1) * permille / 1000];
        let (key, unit) = (unknown.key, unknown.unit);
        LeftOpen { key, median: at(500), range95: [at(25), at(975)], unit }
    };
    unknowns.iter().enumerate().map(of).collect()
}
