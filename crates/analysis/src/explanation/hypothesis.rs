//! Hypotheses: the causes that act on each arm, and the ratios that they predict.

use std::collections::{BTreeMap, BTreeSet};

use drivelab_stats::causes::{Evidence, Hypothesis, ModelError, Noisy, Predicted, posterior};
use drivelab_stats::numbers::{float, mean, standard_deviation};

use super::question::{Asked, Question};
use super::shown::Shown;
use super::suspect::{About, Acting, Suspect};

/// The simulated rates of all loads of a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rates {
    /// By the suspects that act, in order: for each drive the logarithm of the rate of each load. A
    /// pair may have only the first few drives.
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

    /// True if a set of suspects was simulated on every drive.
    fn is_whole(&self, set: &[usize]) -> bool {
        let [known, healthy] = [set, &[]].map(|set| self.of.get(set).map_or(0, Vec::len));
        known > 0 && known == healthy
    }

    /// Sets the rates without any suspect, with other addresses.
    pub fn set_again(&mut self, rates: Vec<Vec<f64>>) {
        self.again = logarithms(rates);
    }
}

fn logarithms(rates: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    rates.into_iter().map(|row| row.into_iter().map(libm::log).collect()).collect()
}

// Our estimates: someone who asks for a cause has usually changed something.
/// The prior probability of chance.
const CHANCE: f64 = 0.2;
/// The prior probability of a cause outside the library.
const UNKNOWN: f64 = 0.1;
/// The prior probability of two causes at once; the rest is that of one.
const TWO: f64 = 0.15;
/// The deviation of a run on a real machine, before any was repeated.
const RUN_SD: f64 = 0.03;
/// Degrees of freedom that this prior counts for (moderated variances; Smyth 2004).
const RUN_SD_FREEDOM: f64 = 4.0;
/// The deviation between two sets of runs that no repetition of them shows: another boot,
/// temperature or layout of files.
const SETS_SD: f64 = 0.01;
/// A suspect that changes every figure by less than this, or by less than other addresses do,
/// cannot be seen in them.
const SEEN_MIN: f64 = 0.01;
/// Pairs that are tried on a few drives; the effects of all others are added up.
const TRIED_MAX: usize = 120;
/// Pairs that are simulated on every drive.
const PAIRS_MAX: usize = 10;
/// A pair that is less probable than this by what is known is not simulated on every drive.
const PROMISING_MIN: f64 = 0.001;
/// The deviation of the effect of a pair from the sum of its effects, as a share of the smaller
/// one: the whole of it is gone where one cause hides the other.
const INTERACTION: f64 = 0.5;
/// The share of the model's variance that is common to all effects of a mechanism.
const SHARED: f64 = 0.5;
/// The error in the strength of a mechanism, as a share of the logarithm of its effect.
const STRENGTH: f64 = 0.1;

/// The evidence of a question: its ratios with their variation.
pub(super) fn evidence(question: &Question, rates: &Rates) -> Evidence {
    let figures = question.figures.iter().enumerate().map(|(figure, asked)| {
        let variance = run_variance(asked, simulated_variance(rates, figure));
        let each = asked.runs.map(|runs| 1.0 / f64::from(runs));
        let sd = (variance * (each[0] + each[1]) + SETS_SD * SETS_SD).sqrt();
        Noisy { log_ratio: libm::log(asked.ratio), sd }
    });
    Evidence { figures: figures.collect() }
}

/// The variance between two runs of one drive with other addresses.
fn simulated_variance(rates: &Rates, figure: usize) -> f64 {
    let Some(healthy) = rates.of.get(&Vec::new()) else { return 0.0 };
    let both = healthy.iter().zip(&rates.again);
    let differences: Vec<f64> = both.map(|(one, other)| other[figure] - one[figure]).collect();
    0.5 * mean_square(&differences)
}

/// The variance of a run: what was expected and what was measured, by their degrees of freedom.
fn run_variance(asked: &Asked, simulated: f64) -> f64 {
    let expected = simulated.max(RUN_SD * RUN_SD);
    let Some((sd, freedom)) = asked.run_sd else { return expected };
    let freedom = f64::from(freedom);
    (RUN_SD_FREEDOM * expected + freedom * sd * sd) / (RUN_SD_FREEDOM + freedom)
}

fn mean_square(values: &[f64]) -> f64 {
    let squares: f64 = values.iter().map(|it| it * it).sum();
    squares / float(values.len().max(1))
}

/// The suspects that some figure would show.
pub(super) fn seen(suspects: &[Suspect], rates: &Rates) -> BTreeSet<usize> {
    (0..suspects.len()).filter(|index| is_seen(*index, rates)).collect()
}

fn is_seen(suspect: usize, rates: &Rates) -> bool {
    let Some(effects) = effects(&[Vec::new(), vec![suspect]], rates) else { return false };
    (0..rates.model_sigma.len())
        .any(|figure| exceeds(&of_figure(&effects.drives, figure), figure, rates))
}

/// True if differences of a figure, one for each drive, exceed those that other addresses give.
fn exceeds(differences: &[f64], figure: usize, rates: &Rates) -> bool {
    let noise = 2.0 * simulated_variance(rates, figure);
    mean_square(differences) > SEEN_MIN * SEEN_MIN + noise
}

/// The column of a figure.
pub(super) fn of_figure(drives: &[Vec<f64>], figure: usize) -> Vec<f64> {
    drives.iter().map(|row| row[figure]).collect()
}

/// The effects of suspects.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Effects {
    /// The logarithm of each ratio on each drive.
    pub drives: Vec<Vec<f64>>,
    /// The deviation of each that comes from adding effects up.
    pub added_sd: Vec<f64>,
}

/// The effects of suspects on both arms; `None` if they were not simulated.
pub(super) fn effects([a, b]: &Acting, rates: &Rates) -> Option<Effects> {
    let ((a, a_sd), (b, b_sd)) = (logs(a, rates)?, logs(b, rates)?);
    let rows = a.iter().zip(&b);
    let drives = rows.map(|(a, b)| a.iter().zip(b).map(|(a, b)| b - a).collect()).collect();
    let added_sd = a_sd.iter().zip(&b_sd).map(|(a, b)| libm::hypot(*a, *b)).collect();
    Some(Effects { drives, added_sd })
}

/// The logarithms of the rates with a set of suspects, and their deviation where effects were
/// added up: those of a pair that was not simulated on every drive.
fn logs(set: &[usize], rates: &Rates) -> Option<(Vec<Vec<f64>>, Vec<f64>)> {
    let figures = rates.model_sigma.len();
    let known = rates.of.get(set);
    if let Some(known) = known.filter(|_| rates.is_whole(set)) {
        return Some((known.clone(), vec![0.0; figures]));
    }
    let [one, other] = set else { return None };
    let healthy = rates.of.get(&Vec::new())?;
    let (one, other) = (rates.of.get(&vec![*one])?, rates.of.get(&vec![*other])?);
    let each = one.iter().zip(other).zip(healthy);
    let added = each.map(|((one, other), healthy)| {
        let of_figures = one.iter().zip(other).zip(healthy);
        of_figures.map(|((one, other), healthy)| one + other - healthy).collect()
    });
    let mut rows: Vec<Vec<f64>> = added.collect();
    let mut deviations = Vec::with_capacity(figures);
    for figure in 0..figures {
        if let Some(known) = known {
            // The drives that were tried say by how much the two act together, and how regularly.
            let interactions =
                known.iter().zip(&rows).map(|(of, added)| of[figure] - added[figure]);
            let interactions: Vec<f64> = interactions.collect();
            let n = float(interactions.len());
            deviations.push(standard_deviation(&interactions) * (1.0 + 1.0 / n).sqrt());
            let usual = mean(&interactions);
            for row in &mut rows {
                row[figure] += usual;
            }
        } else {
            let [first, second] = [one, other].map(|with| {
                let effects = with.iter().zip(healthy).map(|(with, of)| with[figure] - of[figure]);
                mean_square(&effects.collect::<Vec<_>>()).sqrt()
            });
            deviations.push(INTERACTION * first.min(second));
        }
    }
    Some((rows, deviations))
}

/// The prediction of effects, with the errors of the model.
pub(super) fn predicted(effects: Effects, model_sigma: &[f64]) -> Predicted {
    let errors = model_sigma.iter().zip(&effects.added_sd).enumerate();
    let errors = errors.map(|(figure, (sigma, added_sd))| {
        let column = of_figure(&effects.drives, figure);
        let effect = mean(&column);
        // A mechanism that changes nothing is not off by more than nothing.
        let size = effect.abs() + standard_deviation(&column);
        let sd = (sigma * std::f64::consts::SQRT_2).min(size);
        let shared = libm::hypot(sd * SHARED.sqrt(), STRENGTH * effect).copysign(effect);
        ModelError { own: libm::hypot(sd * (1.0 - SHARED).sqrt(), *added_sd), shared }
    });
    let errors = errors.collect();
    Predicted::Effects { drives: effects.drives, errors }
}

/// All hypotheses whose rates are known: chance, an unknown cause, each suspect in each arm, and
/// pairs of them. Their priors take in what measurements of the drives themselves show.
pub(super) fn all(
    question: &Question,
    suspects: &[Suspect],
    rates: &Rates,
) -> Vec<(About, Hypothesis)> {
    let shown = seen(suspects, rates);
    let shown_by = Shown { signs: &question.signs, suspects, seen: &shown };
    let mut weights: BTreeMap<Acting, f64> = BTreeMap::new();
    for (acting, prior) in drawn(suspects) {
        // What no figure shows leaves them as they are, alone and in addition to another.
        let visible = acting.map(|set| visible(&set, &shown, rates));
        *weights.entry(visible).or_default() += prior;
    }
    let hidden = weights.remove(&Acting::default()).unwrap_or(0.0);
    let one = 1.0 - CHANCE - UNKNOWN - TWO;
    let total: f64 = suspects.iter().map(|it| it.prior).sum();
    let seen: f64 = shown.iter().map(|index| suspects[*index].prior / total).sum();
    debug_assert!(hidden <= one + TWO + 1e-9, "a prior is a share of one");
    // An unknown cause is hidden from the figures as often as a known one.
    let chance = CHANCE + hidden + UNKNOWN * (1.0 - seen).max(0.0);
    let unknown = UNKNOWN * seen;
    let mut all = vec![
        (About::Chance, Hypothesis { prior: chance, predicted: Predicted::Chance }),
        (About::Unknown, Hypothesis { prior: unknown, predicted: Predicted::Unknown }),
    ];
    all.extend(weights.into_iter().filter_map(|(acting, prior)| {
        let hypothesis = Hypothesis {
            prior,
            predicted: predicted(effects(&acting, rates)?, &rates.model_sigma),
        };
        Some((About::Causes(acting), hypothesis))
    }));
    for (about, hypothesis) in &mut all {
        hypothesis.prior *= shown_by.likelihood(about);
    }
    all
}

/// One suspect or two, in every arrangement on the arms, with their prior probability.
fn drawn(suspects: &[Suspect]) -> Vec<(Acting, f64)> {
    let total: f64 = suspects.iter().map(|it| it.prior).sum();
    let shares: Vec<f64> = suspects.iter().map(|it| it.prior / total).collect();
    let one = 1.0 - CHANCE - UNKNOWN - TWO;
    let mut drawn: Vec<(Acting, f64)> = Vec::new();
    for (index, share) in shares.iter().enumerate() {
        drawn.push(([vec![index], Vec::new()], 0.5 * one * share));
        drawn.push(([Vec::new(), vec![index]], 0.5 * one * share));
    }
    let alone = drawn.len();
    for (first, second) in pairs(&(0..suspects.len()).collect()) {
        let weight = shares[first] * shares[second];
        let apart = [[vec![first], vec![second]], [vec![second], vec![first]]];
        drawn.extend(apart.map(|acting| (acting, weight)));
        if !suspects[first].excludes.contains(&second) {
            let together = vec![first, second];
            drawn.push(([together.clone(), Vec::new()], weight));
            drawn.push(([Vec::new(), together], weight));
        }
    }
    let of_pairs: f64 = drawn[alone..].iter().map(|(_, weight)| weight).sum();
    for (_, weight) in &mut drawn[alone..] {
        *weight *= TWO / of_pairs;
    }
    drawn
}

/// The suspects of one arm that the figures show: of a pair both, until a simulation has shown that
/// one hides the other.
fn visible(set: &[usize], seen: &BTreeSet<usize>, rates: &Rates) -> Vec<usize> {
    let set: Vec<usize> = set.iter().copied().filter(|it| seen.contains(it)).collect();
    let ([one, other], Some(joint)) = (&set[..], rates.of.get(&set)) else { return set };
    match [*one, *other].map(|alone| adds_nothing(joint, alone, rates)) {
        [true, _] => vec![*one],
        [false, true] => vec![*other],
        [false, false] => set,
    }
}

/// True if a pair, whose rates are `joint`, changes no figure beyond what one suspect of it does.
fn adds_nothing(joint: &[Vec<f64>], alone: usize, rates: &Rates) -> bool {
    let Some(known) = rates.of.get(&vec![alone]) else { return false };
    (0..rates.model_sigma.len()).all(|figure| {
        let [both, one] = [joint, known].map(|rows| of_figure(rows, figure));
        let added: Vec<f64> = both.iter().zip(one).map(|(both, one)| both - one).collect();
        !exceeds(&added, figure, rates)
    })
}

fn pairs(seen: &BTreeSet<usize>) -> Vec<(usize, usize)> {
    seen.iter().flat_map(|one| seen.range(one + 1..).map(|other| (*one, *other))).collect()
}

/// The pairs of suspects that can act on one arm and that the figures show, the most usual first.
pub fn possible_pairs(suspects: &[Suspect], rates: &Rates) -> Vec<Vec<usize>> {
    let mut all = pairs(&seen(suspects, rates));
    all.retain(|(one, other)| !suspects[*one].excludes.contains(other));
    all.sort_by(|a, b| {
        let weights = [a, b].map(|it| suspects[it.0].prior * suspects[it.1].prior);
        weights[1].total_cmp(&weights[0])
    });
    all.into_iter().take(TRIED_MAX).map(|(one, other)| vec![one, other]).collect()
}

/// The pairs of suspects that are worth a simulation on every drive: those whose effects, as far as
/// they are known, come nearest to what was measured.
pub fn promising_pairs(
    question: &Question,
    suspects: &[Suspect],
    rates: &Rates,
) -> Vec<Vec<usize>> {
    let (abouts, hypotheses): (Vec<About>, Vec<Hypothesis>) =
        all(question, suspects, rates).into_iter().unzip();
    let found = posterior(&evidence(question, rates), &hypotheses);
    let mut of_pairs: BTreeMap<&Vec<usize>, f64> = BTreeMap::new();
    for (about, probability) in abouts.iter().zip(&found) {
        let About::Causes(acting) = about else { continue };
        for set in acting.iter().filter(|set| !rates.is_whole(set)) {
            *of_pairs.entry(set).or_default() += probability;
        }
    }
    let mut of_pairs: Vec<(&Vec<usize>, f64)> =
        of_pairs.into_iter().filter(|(_, probability)| *probability >= PROMISING_MIN).collect();
    of_pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
    of_pairs.into_iter().take(PAIRS_MAX).map(|(set, _)| set.clone()).collect()
}
