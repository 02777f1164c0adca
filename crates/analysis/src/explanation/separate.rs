//! The measurement that would separate what remains.

use drivelab_stats::causes::{Outlook, Predicted, information};
use drivelab_stats::numbers::median;
use serde::Serialize;

use super::hypothesis::{Effects, Rates, effects, of_figure, predicted};
use super::ranking::Explanation;
use super::suspect::About;

/// Hypotheses that a next measurement should separate.
const AT_MOST: usize = 6;
/// They hold this much of the probability, or there are as many as are looked at.
const OF_ALL: f64 = 0.95;
/// The deviation of the ratio of two single runs.
const RATIO_SD: f64 = 0.042;

/// The measurements to choose among, simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlooks {
    /// The options of `drivelab run` for each measurement.
    pub options: Vec<String>,
    /// Their rates, for the sets of suspects of [`undecided`].
    pub rates: Rates,
}

/// A measurement, and the information that it is expected to give.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Next {
    /// The options of `drivelab run`, for both arms.
    pub options: String,
    /// The expected information about the causes, in bits.
    pub bits: f64,
    /// The information that is missing before it.
    pub missing_bits: f64,
    /// For each hypothesis that it separates: its index in the ranking, and the median ratio that
    /// it predicts.
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
    let total = total.max(f64::MIN_POSITIVE);
    let best = outlooks.options.iter().enumerate().map(|(figure, options)| {
        let of_known = known.iter().filter_map(|(index, ranked)| {
            let (predicted, median) = alone(&ranked.about, figure, &outlooks.rates)?;
            let probability = ranked.probability / total;
            Some((Outlook { probability, predicted }, (*index, median)))
        });
        let (outlooks, ratios): (Vec<Outlook>, Vec<(usize, f64)>) = of_known.unzip();
        let probable = outlooks.iter().map(|it| it.probability).filter(|it| *it > 0.0);
        let missing = probable.map(|it| -it * libm::log2(it));
        Next {
            options: options.clone(),
            bits: information(&outlooks, RATIO_SD),
            missing_bits: missing.sum::<f64>().max(0.0),
            ratios,
        }
    });
    best.max_by(|a, b| a.bits.total_cmp(&b.bits)).filter(|it| it.bits >= WORTH)
}

/// A measurement that gives less is not worth making.
const WORTH: f64 = 0.05;

/// The effect on one new figure, and its median as a ratio.
fn alone(about: &About, figure: usize, rates: &Rates) -> Option<(Predicted, f64)> {
    let About::Causes(acting) = about else { return Some((Predicted::Chance, 1.0)) };
    let all = effects(acting, rates)?;
    let logs = of_figure(&all.drives, figure);
    let median = libm::exp(median(&logs));
    let drives = logs.into_iter().map(|it| vec![it]).collect();
    let effects = Effects { drives, added_sd: vec![all.added_sd[figure]] };
    Some((predicted(effects, &rates.model_sigma[figure..=figure]), median))
}
