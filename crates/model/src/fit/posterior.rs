//! Draws from the posterior of the unknowns.

use drivelab_core::Rng;
use drivelab_core::numbers::float;

use super::linear::Cholesky;

/// Possible errors of the model in the quantiles of a real drive or in its rates at depth, as
/// standard deviations of logarithms. Each has the same prior probability; the figures decide.
pub const OFF: [f64; 5] = [0.0, 0.01, 0.02, 0.04, 0.08];
const CHAINS: u64 = 4;
const STEPS: usize = 6_000;
/// Discarded steps at the beginning of a chain, before it has reached the posterior.
const BURN_IN: usize = 1_500;

/// Figures with a common error of the model.
#[derive(Debug, Clone)]
pub(super) struct Group {
    indices: Vec<usize>,
    /// The factor of their covariance for each possible error of the model.
    factors: Vec<Cholesky>,
}

impl Group {
    /// The figures at `indices`, with errors of measurement and of the emulator, and an error of
    /// the model from `off` for each figure that `may_be_off`.
    pub(super) fn new(
        indices: Vec<usize>,
        off: &[f64],
        covariance: &[Vec<f64>],
        variances: &[f64],
        may_be_off: impl Fn(usize) -> bool,
    ) -> Self {
        let mut factors = Vec::with_capacity(off.len());
        for off in off {
            let mut matrix = Vec::with_capacity(indices.len());
            for (diagonal, figure) in indices.iter().enumerate() {
                let mut row: Vec<f64> =
                    indices.iter().map(|other| covariance[*figure][*other]).collect();
                row[diagonal] += variances[*figure];
                row[diagonal] += if may_be_off(*figure) { off * off } else { 0.0 };
                matrix.push(row);
            }
            factors.push(Cholesky::of(&matrix));
        }
        Self { indices, factors }
    }
}

/// The logarithm of the probability of unknowns.
pub(super) struct Posterior<'a> {
    /// The figures of a drive at these scores.
    figures: &'a dyn Fn(&[f64]) -> Vec<f64>,
    measured: Vec<f64>,
    /// Range of the simulated scores of each unknown; the emulator does not extrapolate.
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

    /// The logarithm, up to a constant; `None` outside the simulated range.
    fn log(&self, scores: &[f64]) -> Option<f64> {
        let mut ranges = scores.iter().zip(&self.bounds);
        if !ranges.all(|(score, [low, high])| (low..=high).contains(&score)) {
            return None;
        }
        let prior: f64 = scores.iter().map(|score| log_prior(*score)).sum();
        let found = (self.figures)(scores);
        let likelihood: f64 =
            self.groups.iter().map(|group| self.log_likelihood(group, &found)).sum();
        Some(prior + likelihood)
    }

    /// The log likelihood of a group, averaged over the possible errors of the model.
    fn log_likelihood(&self, group: &Group, found: &[f64]) -> f64 {
        let residuals: Vec<f64> =
            group.indices.iter().map(|figure| self.measured[*figure] - found[*figure]).collect();
        let logs: Vec<f64> = group
            .factors
            .iter()
            .map(|factor| {
                let white = factor.whitened(&residuals);
                let squares: f64 = white.iter().map(|x| x * x).sum();
                -0.5 * (squares + factor.log_determinant())
            })
            .collect();
        // The largest term is factored out, so that the exponentials cannot all underflow.
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        largest + libm::log(logs.iter().map(|log| libm::exp(log - largest)).sum())
    }

    /// `count` draws, by random walks (Metropolis et al. 1953) from `start`, with steps adapted to
    /// the rate of acceptance.
    pub(super) fn draws(&self, start: &[f64], count: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut kept = Vec::new();
        // Four chains from one start: they differ only in their random numbers.
        for chain in 0..CHAINS {
            kept.extend(self.chain(start, seed, chain));
        }
        let step = (kept.len() / count.max(1)).max(1);
        kept.into_iter().step_by(step).take(count).collect()
    }

    fn chain(&self, start: &[f64], seed: u64, chain: u64) -> Vec<Vec<f64>> {
        let mut rng = Rng::for_part(seed, 100 + chain);
        let mut at: Vec<f64> = start.to_vec();
        let mut log = self.log(&at).unwrap_or(f64::NEG_INFINITY);
        // Narrow during the first half of the burn-in, in the shape of the prior.
        let (mut width, mut walked) = (0.5, Vec::new());
        let mut form = Cholesky::of(&identity(at.len()));
        for step in 0..STEPS {
            let deviates: Vec<f64> = at.iter().map(|_| normal(&mut rng)).collect();
            let moved = form.coloured(&deviates);
            let next: Vec<f64> = at.iter().zip(moved).map(|(x, by)| x + width * by).collect();
            let found = self.log(&next).unwrap_or(f64::NEG_INFINITY);
            let accepted = libm::log(rng.unit().max(1e-300)) < found - log;
            if accepted {
                (at, log) = (next, found);
            }
            if step < BURN_IN {
                // These factors balance at one accepted step in four, about the optimum in a few
                // dimensions (Roberts et al. 1997).
                width *= if accepted { 1.06 } else { 0.98 };
            }
            walked.push(at.clone());
            if step == BURN_IN / 2 {
                // From here steps have the shape of the posterior, as far as it was walked.
                form = Cholesky::of(&spread(&walked[BURN_IN / 4..]));
                width = 1.0;
            }
        }
        walked.split_off(BURN_IN)
    }
}

/// The logarithm of a prior: normal up to two deviations, and exponential beyond. A drive that far
/// from the ones behind the prior is of another kind, and its measurements should outweigh it.
fn log_prior(score: f64) -> f64 {
    let far = score.abs();
    if far < 2.0 { -0.5 * far * far } else { 2.0 - 2.0 * far }
}

/// The covariance of draws.
pub(super) fn spread(draws: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let centre = mean(draws);
    let n = float(draws.len() as u64);
    let width = centre.len();
    let mut matrix = vec![vec![0.0; width]; width];
    for (row, entries) in matrix.iter_mut().enumerate() {
        for (column, entry) in entries.iter_mut().enumerate() {
            let products = draws
                .iter()
                .map(|draw| (draw[row] - centre[row]) * (draw[column] - centre[column]));
            // The diagonal stays positive even if all draws agree in an unknown.
            *entry = products.sum::<f64>() / n + if row == column { 1e-6 } else { 0.0 };
        }
    }
    matrix
}

/// The identity matrix.
pub(super) fn identity(width: usize) -> Vec<Vec<f64>> {
    let mut matrix = vec![vec![0.0; width]; width];
    for (index, row) in matrix.iter_mut().enumerate() {
        row[index] = 1.0;
    }
    matrix
}

/// The mean square distance of draws from `centre`, per unknown, in deviations of `form`.
pub(super) fn distance(draws: &[Vec<f64>], centre: &[f64], form: &Cholesky) -> f64 {
    let n = float((draws.len() * centre.len()) as u64);
    draws.iter().map(|draw| squared_distance(draw, centre, form)).sum::<f64>() / n
}

/// The square distance of a draw from `centre`, in deviations of `form`.
pub(super) fn squared_distance(draw: &[f64], centre: &[f64], form: &Cholesky) -> f64 {
    let off: Vec<f64> = draw.iter().zip(centre).map(|(x, centre)| x - centre).collect();
    form.whitened(&off).iter().map(|x| x * x).sum::<f64>()
}

/// The mean of draws.
pub(super) fn mean(draws: &[Vec<f64>]) -> Vec<f64> {
    let n = float(draws.len() as u64);
    let width = draws.first().map_or(0, Vec::len);
    (0..width).map(|at| draws.iter().map(|draw| draw[at]).sum::<f64>() / n).collect()
}

/// A standard normal deviate (Box and Muller 1958).
pub(super) fn normal(rng: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.unit()));
    radius * libm::cos(2.0 * std::f64::consts::PI * rng.unit())
}
