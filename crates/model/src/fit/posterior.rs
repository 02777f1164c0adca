//! Draws from what is known of the unknowns once the figures are.

use drivelab_core::Rng;

use super::linear::Cholesky;

/// How far the model may be off the quantiles of a real drive, or off its rates at depth, as
/// standard deviations of logarithms: the figures themselves show it. Before they are known each is
/// as likely as the others.
pub const OFF: [f64; 5] = [0.0, 0.01, 0.02, 0.04, 0.08];
const CHAINS: u64 = 4;
const STEPS: usize = 6_000;
/// Of which so many are thrown away: the chains begin anywhere.
const BURN_IN: usize = 1_500;

/// Figures that the model may be off together.
#[derive(Debug, Clone)]
pub(super) struct Group {
    places: Vec<usize>,
    /// The factor of their covariance for each deviation that the model may be off by.
    factors: Vec<Cholesky>,
}

impl Group {
    /// The figures at `places`, with errors of measurement and of the emulator, and each that
    /// `may_be_off` off by any of `off`.
    pub(super) fn new(
        places: Vec<usize>,
        off: &[f64],
        covariance: &[Vec<f64>],
        variances: &[f64],
        may_be_off: impl Fn(usize) -> bool,
    ) -> Self {
        let factor = |off: &f64| {
            let row = |(own, at): (usize, &usize)| {
                let mut row: Vec<f64> =
                    places.iter().map(|other| covariance[*at][*other]).collect();
                row[own] += variances[*at];
                row[own] += if may_be_off(*at) { off * off } else { 0.0 };
                row
            };
            Cholesky::of(&places.iter().enumerate().map(row).collect::<Vec<_>>())
        };
        let factors = off.iter().map(factor).collect();
        Self { places, factors }
    }
}

/// The logarithm of the probability of unknowns.
pub(super) struct Posterior<'a> {
    /// The figures of a drive at these scores.
    figures: &'a dyn Fn(&[f64]) -> Vec<f64>,
    measured: Vec<f64>,
    /// The lowest and the highest score of each unknown that was simulated.
    bounds: Vec<[f64; 2]>,
    groups: Vec<Group>,
}

impl<'a> Posterior<'a> {
    pub(super) fn new(
        figures: &'a dyn Fn(&[f64]) -> Vec<f64>,
        measured: Vec<f64>,
        bounds: Vec<[f64; 2]>,
        groups: Vec<Group>,
    ) -> Self {
        Self { figures, measured, bounds, groups }
    }

    /// Up to a constant; nothing where nothing was simulated.
    fn log(&self, scores: &[f64]) -> Option<f64> {
        let inside = |(score, [low, high]): (&f64, &[f64; 2])| (low..=high).contains(&score);
        if !scores.iter().zip(&self.bounds).all(inside) {
            return None;
        }
        let prior: f64 = scores.iter().map(|score| log_prior(*score)).sum();
        let found = (self.figures)(scores);
        let group = |Group { places, factors }: &Group| {
            let off: Vec<f64> =
                places.iter().map(|place| self.measured[*place] - found[*place]).collect();
            let likely = factors.iter().map(|factor| {
                let white = factor.whitened(&off);
                let squares: f64 = white.iter().map(|x| x * x).sum();
                -0.5 * (squares + factor.log_determinant())
            });
            let likely: Vec<f64> = likely.collect();
            let most = likely.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            most + libm::log(likely.iter().map(|one| libm::exp(one - most)).sum())
        };
        Some(prior + self.groups.iter().map(group).sum::<f64>())
    }

    /// `count` draws, by random walks (Metropolis et al. 1953) that begin at `start` and whose
    /// steps adapt to how often they are taken.
    pub(super) fn draws(&self, start: &[f64], count: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut kept = Vec::new();
        for chain in 0..CHAINS {
            kept.extend(self.chain(start, seed, chain));
        }
        let step = (kept.len() / count.max(1)).max(1);
        kept.into_iter().step_by(step).take(count).collect()
    }

    fn chain(&self, start: &[f64], seed: u64, chain: u64) -> Vec<Vec<f64>> {
        let mut rng = Rng::for_part(seed, 100 + chain);
        let mut at: Vec<f64> = start.to_vec();
        let mut likely = self.log(&at).unwrap_or(f64::NEG_INFINITY);
        let (mut width, mut walked) = (0.5, Vec::new());
        let identity = |n: usize| -> Vec<Vec<f64>> {
            (0..n).map(|row| (0..n).map(|x| f64::from(u8::from(x == row))).collect()).collect()
        };
        let mut form = Cholesky::of(&identity(at.len()));
        for step in 0..STEPS {
            let normal: Vec<f64> = at.iter().map(|_| normal(&mut rng)).collect();
            let moved = form.coloured(&normal);
            let next: Vec<f64> = at.iter().zip(moved).map(|(x, by)| x + width * by).collect();
            let found = self.log(&next).unwrap_or(f64::NEG_INFINITY);
            let taken = libm::log(rng.unit().max(1e-300)) < found - likely;
            if taken {
                (at, likely) = (next, found);
            }
            if step < BURN_IN {
                // One in four is about best in a few dimensions (Roberts et al. 1997).
                width *= if taken { 1.06 } else { 0.98 };
            }
            walked.push(at.clone());
            if step == BURN_IN / 2 {
                form = Cholesky::of(&spread(&walked[BURN_IN / 4..]));
                width = 1.0;
            }
        }
        walked.split_off(BURN_IN)
    }
}

/// The logarithm of a prior: normal up to two deviations, and less steep beyond. A drive that is so
/// far from all that the prior was made from is of another kind, and what it shows counts.
fn log_prior(score: f64) -> f64 {
    let far = score.abs();
    if far < 2.0 { -0.5 * far * far } else { 2.0 - 2.0 * far }
}

/// The covariance of draws.
pub(super) fn spread(draws: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let centre = centre(draws);
    let n = super::simulate::float(draws.len() as u64);
    let entry = |row: usize, column: usize| {
        let off = |draw: &Vec<f64>| (draw[row] - centre[row]) * (draw[column] - centre[column]);
        draws.iter().map(off).sum::<f64>() / n + if row == column { 1e-6 } else { 0.0 }
    };
    let all = centre.len();
    (0..all).map(|row| (0..all).map(|column| entry(row, column)).collect()).collect()
}

/// The mean square distance of draws from `centre`, per unknown, in deviations of `form`.
pub(super) fn distance(draws: &[Vec<f64>], centre: &[f64], form: &Cholesky) -> f64 {
    let square = |draw: &Vec<f64>| {
        let off: Vec<f64> = draw.iter().zip(centre).map(|(x, centre)| x - centre).collect();
        form.whitened(&off).iter().map(|x| x * x).sum::<f64>()
    };
    let n = super::simulate::float((draws.len() * centre.len()) as u64);
    draws.iter().map(square).sum::<f64>() / n
}

/// The mean of draws.
pub(super) fn centre(draws: &[Vec<f64>]) -> Vec<f64> {
    let n = super::simulate::float(draws.len() as u64);
    let width = draws.first().map_or(0, Vec::len);
    (0..width).map(|at| draws.iter().map(|draw| draw[at]).sum::<f64>() / n).collect()
}

/// A standard normal deviate (Box and Muller 1958).
pub(super) fn normal(rng: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.unit()));
    radius * libm::cos(2.0 * std::f64::consts::PI * rng.unit())
}
