//! The ranking of hypotheses after the evidence.

use drivelab_stats::causes::{Evidence, Hypothesis, Predicted, contributions, posterior};
use drivelab_stats::numbers::{float, mean, median, standard_deviation};
use serde::Serialize;

use super::hypothesis::{Rates, all, effects, evidence, of_figure, predicted, seen};
use super::question::Question;
use super::suspect::{About, Suspect};
use crate::signs::Sign;

/// The conclusion about the cause of a difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The names of the arms.
    pub arms: [String; 2],
    /// The figures, in order.
    pub figures: Vec<Figure>,
    /// Hypotheses, the most probable first.
    pub ranking: Vec<Ranked>,
    /// The lead of the first hypothesis.
    pub strength: Strength,
    /// Each suspect that some figure shows, on each arm, the most probable first.
    pub causes: Vec<Accused>,
    /// Suspects that none of the figures would show, as if they acted on the first arm.
    pub unseen: Vec<Accused>,
    /// The properties that measurements of the drives themselves show, by arm.
    pub signs: [Vec<Sign>; 2],
}

/// A suspect on one arm: its probability, alone or with another, and its own prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Accused {
    /// The suspect and the arm.
    #[serde(flatten)]
    pub cause: Share,
    /// The probability of all hypotheses that it is part of.
    pub probability: f64,
    /// For each figure the median ratio if it acts alone.
    pub predicted: Vec<f64>,
    /// For each figure the interval of 95 % of ratios if it acts alone.
    pub predicted95: Vec<[f64; 2]>,
}

/// A figure that was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// The rate of the second arm as a multiple of that of the first.
    pub ratio: f64,
    /// The factor within which 95 % of two runs of one arm stay.
    pub chance_factor: f64,
}

/// A hypothesis with its probability.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Its kind.
    pub kind: Kind,
    /// The causes, and the arm that each acts on; none for chance and an unknown cause.
    pub causes: Vec<Share>,
    /// The probability after the evidence.
    pub probability: f64,
    /// For each figure the interval of 95 % of ratios; none for an unknown cause.
    pub predicted95: Vec<[f64; 2]>,
    /// The figure that speaks for it most, against its strongest rival.
    pub speaks_for: Option<Spoken>,
    /// The figure that speaks against it most.
    pub speaks_against: Option<Spoken>,
    #[serde(skip)]
    pub(super) about: About,
}

/// A figure, and what it contributes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spoken {
    /// The index of the figure.
    pub figure: usize,
    /// By which factor it makes the hypothesis more probable than its rival, given all others.
    pub factor: f64,
}

/// A kind of hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Variation from run to run, or a cause that no figure here shows.
    Chance,
    /// None of the causes in the library.
    NoneOfThese,
    /// One cause.
    Cause,
    /// Two causes.
    Two,
}

/// A cause of a hypothesis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// Its name.
    pub id: String,
    /// Its description.
    pub words: String,
    /// A command that shows whether it is so.
    pub look: String,
    /// The arm that it acts on: 0 or 1; absent where no arm is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<usize>,
}

/// The lead of the first hypothesis over the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// A hundred to one, or more.
    Decisive,
    /// Ten to one.
    Strong,
    /// Three to one.
    Moderate,
    /// Less.
    Undecided,
}

impl Strength {
    fn of(odds: f64) -> Self {
        match odds {
            _ if odds >= 100.0 => Self::Decisive,
            _ if odds >= 10.0 => Self::Strong,
            _ if odds >= 3.0 => Self::Moderate,
            _ => Self::Undecided,
        }
    }
}

/// Hypotheses of a ranking that are reported.
const RANKED: usize = 12;

/// Ranks all hypotheses whose rates were simulated.
pub fn explain(question: &Question, suspects: &[Suspect], rates: &Rates) -> Explanation {
    let measured = evidence(question, rates);
    let (abouts, hypotheses): (Vec<About>, Vec<Hypothesis>) =
        all(question, suspects, rates).into_iter().unzip();
    let found = posterior(&measured, &hypotheses);
    debug_assert_eq!(found.len(), hypotheses.len(), "a probability for each hypothesis");
    let mut order: Vec<usize> = (0..hypotheses.len()).collect();
    order.sort_by(|a, b| found[*b].total_cmp(&found[*a]));
    let leading = order.iter().take(RANKED);
    let contributions: Vec<Vec<f64>> =
        leading.clone().map(|it| contributions(&measured, &hypotheses[*it].predicted)).collect();
    let ranked = leading.zip(&contributions).enumerate().map(|(rank, (&index, own))| {
        // The rival of the first is the second, and of all others the first.
        let rival = usize::from(rank == 0);
        let (speaks_for, speaks_against) = spoken(own, &contributions[rival]);
        Ranked {
            kind: kind(&abouts[index]),
            causes: shares(&abouts[index], suspects),
            probability: found[index],
            predicted95: predicted95(&hypotheses[index].predicted, &measured),
            speaks_for,
            speaks_against,
            about: abouts[index].clone(),
        }
    });
    let ranking: Vec<Ranked> = ranked.collect();
    debug_assert!(ranking.len() > 1, "chance and an unknown cause are always in");
    let odds = ranking[0].probability / ranking[1].probability.max(f64::MIN_POSITIVE);
    let shown = seen(suspects, rates);
    let unseen = (0..suspects.len()).filter(|index| !shown.contains(index));
    let unseen = unseen.filter_map(|index| {
        let alone = effects(&[vec![index], Vec::new()], rates)?;
        let alone = predicted(alone, &rates.model_sigma);
        Some(accused(share(&suspects[index], None), 0.0, &alone, &measured))
    });
    let unseen = unseen.collect();
    let single = abouts.iter().zip(&hypotheses).filter_map(|(about, hypothesis)| {
        let About::Causes([a, b]) = about else { return None };
        let (suspect, arm) = match (&a[..], &b[..]) {
            ([suspect], []) => (*suspect, 0),
            ([], [suspect]) => (*suspect, 1),
            _ => return None,
        };
        let probable = abouts.iter().zip(&found).filter(|(it, _)| acts(it, suspect, arm));
        let probability = probable.map(|(_, probability)| probability).sum();
        let cause = share(&suspects[suspect], Some(arm));
        Some(accused(cause, probability, &hypothesis.predicted, &measured))
    });
    let mut causes: Vec<Accused> = single.collect();
    causes.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    Explanation {
        arms: question.arms.clone(),
        figures: figures(question, &measured),
        strength: Strength::of(odds),
        ranking,
        causes,
        unseen,
        signs: question.signs.clone(),
    }
}

/// A cause with its own predictions.
fn accused(cause: Share, probability: f64, predicted: &Predicted, evidence: &Evidence) -> Accused {
    let (medians, range95) = (medians(predicted), predicted95(predicted, evidence));
    Accused { cause, probability, predicted: medians, predicted95: range95 }
}

/// True if a hypothesis has this suspect act on this arm, alone or with another.
fn acts(about: &About, suspect: usize, arm: usize) -> bool {
    matches!(about, About::Causes(acting) if acting[arm].contains(&suspect))
}

/// The median ratio of each figure.
fn medians(predicted: &Predicted) -> Vec<f64> {
    let Predicted::Effects { drives, errors } = predicted else { return Vec::new() };
    let columns = (0..errors.len()).map(|figure| of_figure(drives, figure));
    columns.map(|column| libm::exp(median(&column))).collect()
}

fn figures(question: &Question, evidence: &Evidence) -> Vec<Figure> {
    let both = question.figures.iter().zip(&evidence.figures);
    let figure = both.map(|(asked, noisy)| Figure {
        name: asked.name.clone(),
        ratio: asked.ratio,
        chance_factor: libm::exp(WITHIN_95 * noisy.sd),
    });
    figure.collect()
}

fn kind(about: &About) -> Kind {
    match about {
        About::Chance => Kind::Chance,
        About::Unknown => Kind::NoneOfThese,
        About::Causes([a, b]) if a.len() + b.len() > 1 => Kind::Two,
        About::Causes(_) => Kind::Cause,
    }
}

fn share(suspect: &Suspect, arm: Option<usize>) -> Share {
    let Suspect { id, words, look, .. } = suspect.clone();
    Share { id, words, look, arm }
}

fn shares(about: &About, suspects: &[Suspect]) -> Vec<Share> {
    let About::Causes(acting) = about else { return Vec::new() };
    let each = acting.iter().enumerate().flat_map(|(arm, set)| set.iter().map(move |it| (arm, it)));
    each.map(|(arm, suspect)| share(&suspects[*suspect], Some(arm))).collect()
}

/// 95 % of a normal distribution are within this.
const WITHIN_95: f64 = 1.959_964;

/// The middle 95 % of a normal distribution of a logarithm, as ratios.
fn interval(centre: f64, sd: f64) -> [f64; 2] {
    [centre - WITHIN_95 * sd, centre + WITHIN_95 * sd].map(libm::exp)
}

fn predicted95(predicted: &Predicted, evidence: &Evidence) -> Vec<[f64; 2]> {
    let figures = evidence.figures.iter();
    match predicted {
        Predicted::Unknown => Vec::new(),
        Predicted::Chance => figures.map(|it| interval(0.0, it.sd)).collect(),
        Predicted::Effects { drives, errors } => figures
            .enumerate()
            .map(|(figure, it)| {
                let column = of_figure(drives, figure);
                let sd = standard_deviation(&column);
                // The mean of the drives is itself not known better than this.
                let centre = sd / float(column.len()).sqrt();
                let all = [sd, centre, errors[figure].sd(), it.sd];
                let sd = all.iter().map(|sd| sd * sd).sum::<f64>().sqrt();
                interval(mean(&column), sd)
            })
            .collect(),
    }
}

/// The figures that speak most for and against a hypothesis and not its rival.
fn spoken(own: &[f64], rival: &[f64]) -> (Option<Spoken>, Option<Spoken>) {
    let factors = own.iter().zip(rival).enumerate().map(|(figure, (own, rival))| {
        let factor = libm::exp(own - rival).clamp(f64::MIN_POSITIVE, f64::MAX);
        Spoken { figure, factor }
    });
    let mut factors: Vec<Spoken> = factors.collect();
    factors.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    let speaks_for = factors.first().copied().filter(|it| it.factor > NOTED);
    let speaks_against = factors.last().copied().filter(|it| it.factor < 1.0 / NOTED);
    (speaks_for, speaks_against)
}

/// A figure that changes the odds by less than this factor says nothing.
const NOTED: f64 = 1.5;
