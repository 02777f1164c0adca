//! The search: seeks and retries whose distribution comes nearest to the measured one.

use drivelab_core::Rng;

use super::curve::{self, Curve};
use super::measurements::Figures;
use super::sample::{Extremes, Sample};

pub(super) const TRIALS: u32 = 6_000;

/// The widest step, as a logarithm, and the one below which steps grow again.
const WIDEST: f64 = 1.0;
const NARROWEST: f64 = 0.005;

/// How much the mean, or its inverse, counts against a quantile: there are up to eleven of them.
const MEAN_WEIGHT: f64 = 11.0;

/// What it costs to depart from the usual seek curve: one deviation counts as an error of 0.7 %. It
/// decides only what the figures leave open.
const DEPARTURE_WEIGHT: f64 = 5e-5;

/// Hits on random addresses: so many count as much as a curve of twice the usual times.
const RARE: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Solution {
    pub(super) seeks: Curve,
    pub(super) extremes: Extremes,
}

/// Searches from a usual drive whose mean seek is `average` ms.
pub(super) fn search(sample: &Sample, wanted: &Figures, average: f64, seed: u64) -> Solution {
    let usual = Curve::usual(average);
    let cost = |found: &Solution| {
        let error = distance(wanted, &sample.figures(&found.seeks, found.extremes));
        let hits = found.extremes.hits / RARE;
        error * error + DEPARTURE_WEIGHT * (found.seeks.departure(&usual) + hits * hits)
    };
    // Retries show above p99 only, hits below p5.
    let given = |names: [&str; 2]| wanted.iter().any(|(name, _)| names.contains(name));
    let retries = if given(["p99_5_ms", "p99_9_ms"]) { 0.005 } else { 0.0 };
    let hits = if given(["p1_ms", "p5_ms"]) { 0.001 } else { 0.0 };
    let mut rng = Rng::for_part(seed, 1);
    let mut best = Solution { seeks: usual, extremes: Extremes { hits, retries, revolutions: 2 } };
    let (mut least, mut width) = (cost(&best), WIDEST);
    for _ in 0..TRIALS {
        let trial = moved(&best, &mut rng, width);
        let found = cost(&trial);
        if found < least {
            (best, least) = (trial, found);
            width = f64::min(width * 1.5, WIDEST);
        } else if width < NARROWEST {
            // Once the steps have become small, large ones are tried again: there may be a better
            // valley.
            width = WIDEST;
        } else {
            width *= 0.97;
        }
    }
    best
}

fn moved(from: &Solution, rng: &mut Rng, width: f64) -> Solution {
    let mut moved = *from;
    let extremes = &mut moved.extremes;
    match rng.below(6) {
        0 if extremes.retries > 0.0 => {
            let factor = libm::exp(curve::turn(rng) * width);
            extremes.retries = (extremes.retries * factor).clamp(1e-4, 0.03);
            extremes.revolutions = 1 + u32::try_from(rng.below(8)).expect("below 8");
            return moved;
        }
        1 if extremes.hits > 0.0 => {
            let factor = libm::exp(curve::turn(rng) * width);
            extremes.hits = (extremes.hits * factor).clamp(1e-4, 0.03);
        }
        _ => {}
    }
    moved.seeks = from.seeks.moved(rng, width);
    moved
}

/// The weighted root mean square of the logarithms of the ratios.
pub(super) fn distance(wanted: &Figures, found: &Figures) -> f64 {
    let (mut squares, mut weights) = (0.0, 0.0);
    for (name, measured) in wanted {
        let fitted = found.iter().find(|(known, _)| known == name).map_or(f64::MAX, |(_, x)| *x);
        let log = libm::log(fitted / measured);
        let weight = if matches!(*name, "mean_ms" | "iops") { MEAN_WEIGHT } else { 1.0 };
        squares += weight * log * log;
        weights += weight;
    }
    (squares / weights).sqrt()
}
