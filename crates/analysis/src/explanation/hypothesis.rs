//! Hypotheses: which causes act on which arm, and the ratios that they predict.

use std::collections::{BTreeMap, BTreeSet};

use drivelab_stats::causes::{Evidence, Hypothesis, Noisy, Predicted, posterior};
use drivelab_stats::numbers::{float, mean, standard_deviation};

use super::question::Question;

/// A cause that can be simulated on the drive of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// Its name.
    pub id: String,
    /// What it is, in words.
    pub words: String,
    /// A command that shows whether it is so.
    pub look: String,
    /// Its weight among all suspects before the evidence.
    pub prior: f64,
}

/// The simulated rates of all loads of a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rates {
    /// By the suspects that act, in order: for each drive the logarithm of the rate of each load.
    pub of: BTreeMap<Vec<usize>, Vec<Vec<f64>>>,
    /// The same without any suspect, with other addresses.
    pub again: Vec<Vec<f64>>,
    /// The error of the model in the logarithm of each rate, as a standard deviation.
    pub model_sigma: Vec<f64>,
}

impl Rates {
    /// Adds the rates of all drives with each set of suspects.
    pub fn add(&mut self, sets: &[Vec<usize>], rates: Vec<Vec<Vec<f64>>>) {
        for (set, drives) in sets.iter().zip(rates) {
            self.of.insert(set.clone(), logarithms(drives));
        }
    }

    /// Sets the rates without any suspect, with other addresses.
    pub fn set_again(&mut self, rates: Vec<Vec<f64>>) {
        self.again = logarithms(rates);
    }
}

fn logarithms(rates: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    rates.into_iter().map(|row| row.into_iter().map(libm::log).collect()).collect()
}

/// The prior probability of chance, of an unknown cause, and of two causes at once; the rest is
/// that of one cause. Our estimate: someone who asks for a cause has usually changed something.
const CHANCE: f64 = 0.2;
const UNKNOWN: f64 = 0.1;
const TWO: f64 = 0.15;
/// The least deviation of a single run on a real machine, where runs were not repeated.
const RUN_SD_MIN: f64 = 0.03;
/// The least deviation of repeated runs: what stays the same in all of them is in none.
const REPEATED_SD_MIN: f64 = 0.005;
/// A suspect that changes every figure by less than this cannot be seen in them.
const SEEN_MIN: f64 = 0.01;
/// Pairs that are simulated; the effects of all others add up, as far as is known, to something
/// else than what was measured.
const PAIRS_MAX: usize = 10;

/// The suspects that act on each arm; none on both is chance.
pub(super) type Acting = [Vec<usize>; 2];

/// A hypothesis about the arms.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum About {
    /// Variation from run to run.
    Chance,
    /// A cause outside the library.
    Unknown,
    /// Suspects.
    Causes(Acting),
}

/// The evidence of a question: its ratios with their variation.
pub(super) fn evidence(question: &Question, rates: &Rates) -> Evidence {
    let healthy = rates.of.get(&Vec::new());
    let figures = question.figures.iter().enumerate().map(|(index, asked)| {
        // Two runs of one drive with other addresses.
        let differences: Vec<f64> = healthy
            .into_iter()
            .flatten()
            .zip(&rates.again)
            .map(|(one, other)| other[index] - one[index])
            .collect();
        let simulated = root_mean_square(&differences) / std::f64::consts::SQRT_2;
        let run_sd = match asked.run_sd {
            Some(sd) => sd.max(REPEATED_SD_MIN),
            None => simulated.max(RUN_SD_MIN),
        };
        let each = asked.runs.map(|runs| 1.0 / f64::from(runs));
        Noisy { log_ratio: libm::log(asked.ratio), sd: run_sd * (each[0] + each[1]).sqrt() }
    });
    Evidence { figures: figures.collect() }
}

fn root_mean_square(values: &[f64]) -> f64 {
    let squares: f64 = values.iter().map(|it| it * it).sum();
    (squares / float(values.len().max(1))).sqrt()
}

/// The suspects that some figure would show.
pub(super) fn seen(suspects: &[Suspect], rates: &Rates) -> BTreeSet<usize> {
    let is_seen = |index: &usize| {
        let acting = [Vec::new(), vec![*index]];
        effects(&acting, rates).is_some_and(|drives| {
            (0..rates.model_sigma.len()).any(|figure| {
                let of_figure: Vec<f64> = drives.iter().map(|row| row[figure]).collect();
                root_mean_square(&of_figure) > SEEN_MIN
            })
        })
    };
    (0..suspects.len()).filter(is_seen).collect()
}

/// The logarithm of each ratio on each drive; `None` if it was not simulated.
pub(super) fn effects([a, b]: &Acting, rates: &Rates) -> Option<Vec<Vec<f64>>> {
    let [a, b] = [rates.of.get(a)?, rates.of.get(b)?];
    let rows = a.iter().zip(b);
    Some(rows.map(|(a, b)| a.iter().zip(b).map(|(a, b)| b - a).collect()).collect())
}

/// What suspects predict.
pub(super) fn predicted(drives: Vec<Vec<f64>>, model_sigma: &[f64]) -> Predicted {
    let model_sd = model_sigma.iter().enumerate().map(|(figure, sigma)| {
        let of_figure: Vec<f64> = drives.iter().map(|row| row[figure]).collect();
        // An error in the effect of a mechanism: it is not larger than the effect.
        let effect = mean(&of_figure).abs() + standard_deviation(&of_figure);
        (sigma * std::f64::consts::SQRT_2).min(effect)
    });
    let model_sd = model_sd.collect();
    Predicted::Effects { drives, model_sd }
}

/// All hypotheses whose rates are known: chance, an unknown cause, each suspect in each arm, and
/// pairs of them.
pub(super) fn all(suspects: &[Suspect], rates: &Rates) -> Vec<(About, Hypothesis)> {
    let seen = seen(suspects, rates);
    let total: f64 = seen.iter().map(|index| suspects[*index].prior).sum();
    let share = |index: usize| suspects[index].prior / total;
    let mut all = vec![
        (About::Chance, Hypothesis { prior: CHANCE, predicted: Predicted::Chance }),
        (About::Unknown, Hypothesis { prior: UNKNOWN, predicted: Predicted::Unknown }),
    ];
    let mut add = |acting: Acting, prior: f64| {
        if let Some(drives) = effects(&acting, rates) {
            let predicted = predicted(drives, &rates.model_sigma);
            all.push((About::Causes(acting), Hypothesis { prior, predicted }));
        }
    };
    for &index in &seen {
        let prior = 0.5 * (1.0 - CHANCE - UNKNOWN - TWO) * share(index);
        add([vec![index], Vec::new()], prior);
        add([Vec::new(), vec![index]], prior);
    }
    for (one, other) in pairs(&seen) {
        // Each of the two is in either arm.
        let prior = 0.25 * TWO * 2.0 * share(one) * share(other);
        add([vec![one, other], Vec::new()], prior);
        add([Vec::new(), vec![one, other]], prior);
        add([vec![one], vec![other]], prior);
        add([vec![other], vec![one]], prior);
    }
    all
}

fn pairs(seen: &BTreeSet<usize>) -> Vec<(usize, usize)> {
    let rest = |one: usize| seen.range(one + 1..).map(move |other| (one, *other));
    seen.iter().flat_map(|one| rest(*one)).collect()
}

/// The pairs of suspects that are worth a simulation: those whose effects, added up, come nearest
/// to what was measured. `excludes` is true for suspects that cannot act together.
pub fn promising_pairs(
    question: &Question,
    suspects: &[Suspect],
    rates: &Rates,
    excludes: impl Fn(usize, usize) -> bool,
) -> Vec<Vec<usize>> {
    let evidence = evidence(question, rates);
    let healthy = &rates.of[&Vec::new()];
    let mut added = rates.clone();
    for (one, other) in pairs(&seen(suspects, rates)) {
        if excludes(one, other) {
            continue;
        }
        let sum = |drive: usize, figure: usize| {
            let of = |index: usize| rates.of[&vec![index]][drive][figure];
            of(one) + of(other) - healthy[drive][figure]
        };
        let rows = (0..healthy.len())
            .map(|drive| (0..rates.model_sigma.len()).map(|figure| sum(drive, figure)).collect());
        added.of.insert(vec![one, other], rows.collect());
    }
    let hypotheses = all(suspects, &added);
    let only: Vec<Hypothesis> = hypotheses.iter().map(|(_, it)| it.clone()).collect();
    let found = posterior(&evidence, &only);
    let mut of_pairs: BTreeMap<&Vec<usize>, f64> = BTreeMap::new();
    for ((about, _), probability) in hypotheses.iter().zip(&found.probabilities) {
        if let About::Causes(acting) = about {
            for set in acting.iter().filter(|set| set.len() == 2) {
                *of_pairs.entry(set).or_default() += probability;
            }
        }
    }
    let mut of_pairs: Vec<(&Vec<usize>, f64)> = of_pairs.into_iter().collect();
    of_pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
    of_pairs.into_iter().take(PAIRS_MAX).map(|(set, _)| set.clone()).collect()
}
