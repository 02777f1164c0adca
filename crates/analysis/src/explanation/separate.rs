//! The measurement that would separate what remains.

use drivelab_stats::causes::{Outlook, Predicted, information};
use serde::Serialize;

use super::hypothesis::{About, Rates, effects, predicted};
use super::ranking::Explanation;

/// Hypotheses that a next measurement should separate.
const AT_MOST: usize = 6;
/// They hold this much of the probability, or there are as many as are looked at.
const OF_ALL: f64 = 0.95;
/// The deviation of the ratio of two single runs.
const RATIO_SD: f64 = 0.042;

/// The measurements to choose among, simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlooks {
    /// The command of each measurement.
    pub commands: Vec<String>,
    /// Their rates, for the sets of suspects of [`undecided`].
    pub rates: Rates,
}

/// A measurement, and what it is expected to tell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Next {
    /// The command, for both arms.
    pub command: String,
    /// The expected information about the causes, in bits.
    pub bits: f64,
    /// The information that is missing before it.
    pub missing_bits: f64,
    /// For each hypothesis that it separates: its place in the ranking from 0, and the median
    /// ratio that it predicts.
    pub ratios: Vec<(usize, f64)>,
}

/// The number of hypotheses at the head of a ranking that a measurement should separate.
fn remaining(explanation: &Explanation) -> usize {
    let mut sum = 0.0;
    let enough = explanation.ranking.iter().position(|it| {
        sum += it.probability;
        sum >= OF_ALL
    });
    enough.map_or(AT_MOST, |last| (last + 1).clamp(2, AT_MOST))
}

/// The sets of suspects whose rates are needed to choose the next measurement.
pub fn undecided(explanation: &Explanation) -> Vec<Vec<usize>> {
    let mut sets = vec![Vec::new()];
    for ranked in explanation.ranking.iter().take(remaining(explanation)) {
        if let About::Causes(acting) = &ranked.about {
            sets.extend(acting.iter().cloned());
        }
    }
    sets.sort();
    sets.dedup();
    sets
}

/// The measurement that separates the hypotheses that remain best; `None` where none does.
pub fn next(explanation: &Explanation, outlooks: &Outlooks) -> Option<Next> {
    let head = &explanation.ranking[..remaining(explanation).min(explanation.ranking.len())];
    // Of an unknown cause nothing is known that a measurement could separate.
    let known: Vec<_> =
        head.iter().enumerate().filter(|(_, it)| it.about != About::Unknown).collect();
    let total: f64 = known.iter().map(|(_, it)| it.probability).sum();
    let best = outlooks.commands.iter().enumerate().map(|(figure, command)| {
        let of_known = known.iter().filter_map(|(place, ranked)| {
            let (predicted, median) = alone(&ranked.about, figure, &outlooks.rates)?;
            let probability = ranked.probability / total;
            Some((Outlook { probability, predicted }, (*place, median)))
        });
        let (outlooks, ratios): (Vec<Outlook>, Vec<(usize, f64)>) = of_known.unzip();
        let missing = outlooks.iter().map(|it| -it.probability * libm::log2(it.probability));
        Next {
            command: command.clone(),
            bits: information(&outlooks, RATIO_SD),
            missing_bits: missing.sum::<f64>().max(0.0),
            ratios,
        }
    });
    best.max_by(|a, b| a.bits.total_cmp(&b.bits)).filter(|it| it.bits >= WORTH)
}

/// A measurement that tells less is not worth making.
const WORTH: f64 = 0.05;

/// The effect on one new figure, and its median as a ratio.
fn alone(about: &About, figure: usize, rates: &Rates) -> Option<(Predicted, f64)> {
    let About::Causes(acting) = about else { return Some((Predicted::Chance, 1.0)) };
    let drives: Vec<Vec<f64>> =
        effects(acting, rates)?.into_iter().map(|row| vec![row[figure]]).collect();
    let logs: Vec<f64> = drives.iter().map(|row| row[0]).collect();
    let median = libm::exp(drivelab_stats::numbers::median(&logs));
    Some((predicted(drives, &rates.model_sigma[figure..=figure]), median))
}
