//! Two factors at once: what each does alone, and whether it depends on the other.

use drivelab_core::Invalid;
use drivelab_core::plan::BLOCKS_MIN;
use drivelab_stats::{
    ALPHA_DEFAULT, Contrast, Effect, Factorial, FactorialError, Interacts, effects, interacts,
};

use crate::figures;
use crate::outcome::{self, Series, geometric_mean};
use crate::specimens::Sampled;
use crate::study::{ArmInfo, Experiment};

/// One effect of the factors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundEffect {
    /// The contrast of differences, as a ratio.
    pub contrast: Contrast,
    /// Over all blocks, with an interval that holds together with the others.
    pub mean: Effect,
    /// The bounds for one more drive, where each block simulated another one.
    pub prediction95: Option<[f64; 2]>,
}

/// The effects of two factors on one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct InteractionResult {
    /// The series, by index.
    pub series: usize,
    /// The two factors.
    pub factors: [String; 2],
    /// The levels of each factor, the base first.
    pub levels: [Vec<String>; 2],
    /// Every effect.
    pub effects: Vec<FoundEffect>,
    /// The interaction that is shown best, where there are several.
    pub strongest: FoundEffect,
    /// The conclusion.
    pub verdict: Interacts,
    /// The value of each combination of levels.
    pub cells: Vec<([usize; 2], f64)>,
    /// Why there is no conclusion although there are figures.
    pub withheld: Option<String>,
}

/// A pair of factors and the layout of the arms.
struct Layout {
    factors: [String; 2],
    levels: [Vec<String>; 2],
    arms: Vec<[usize; 2]>,
    design: Factorial,
}

/// The effects of every declared pair of factors on the headline metric of each workload, and why a
/// pair is left out. Those on the primary metric are one family, all others another. `doubt` says
/// of a series why no verdict may rest on it: every arm is in an interaction.
pub(crate) fn interactions(
    experiment: &Experiment,
    (series, sampled): (&[Series], &Sampled<'_>),
    gate: usize,
    doubt: &dyn Fn(usize) -> Option<String>,
) -> (Vec<InteractionResult>, Vec<String>) {
    let (mut layouts, mut notes) = (Vec::new(), Vec::new());
    for declared in &experiment.interactions {
        for (index, first) in declared.factors.iter().enumerate() {
            for second in &declared.factors[index + 1..] {
                match layout(&experiment.arms, [first, second]) {
                    Ok(layout) => layouts.push(layout),
                    Err(why) => notes.push(format!(
                        "The interaction of {first} and {second} is not analysed: {why}."
                    )),
                }
            }
        }
    }
    let others: Vec<usize> = (0..series.len())
        .filter(|index| {
            let series = &series[*index];
            *index != gate && experiment.workloads[series.workload].headline == series.metric
        })
        .collect();
    // Two families: the primary metric is not adjusted for the others.
    let mut results = family(experiment, &layouts, (series, sampled), &[gate]);
    results.extend(family(experiment, &layouts, (series, sampled), &others));
    for result in &mut results {
        result.withheld = doubt(result.series);
        if result.withheld.is_some() {
            result.verdict = Interacts::NotShown;
        }
    }
    (results, notes)
}

fn layout(arms: &[ArmInfo], factors: [&String; 2]) -> Result<Layout, Invalid> {
    let mut levels: [Vec<String>; 2] = [Vec::new(), Vec::new()];
    let mut cells = Vec::new();
    for arm in arms {
        let mut cell = [0; 2];
        for (factor, name) in factors.iter().enumerate() {
            let level = arm.levels.iter().find(|(known, _)| known == *name);
            let (_, level) =
                level.ok_or_else(|| format!("arm `{}` has no level of {name}", arm.name))?;
            let known = levels[factor].iter().position(|known| known == level);
            cell[factor] = known.unwrap_or_else(|| {
                levels[factor].push(level.clone());
                levels[factor].len() - 1
            });
        }
        cells.push(cell);
    }
    let design = Factorial::new(cells.clone()).map_err(|error| match error {
        FactorialError::SingleLevel(factor) => format!("{} has one level only", factors[factor]),
        FactorialError::Missing([first, second]) => format!(
            "no arm has {} {} with {} {}",
            factors[0], levels[0][first], factors[1], levels[1][second]
        ),
    })?;
    Ok(Layout { factors: factors.map(Clone::clone), levels, arms: cells, design })
}

fn family(
    experiment: &Experiment,
    layouts: &[Layout],
    (series, sampled): (&[Series], &Sampled<'_>),
    indices: &[usize],
) -> Vec<InteractionResult> {
    let asked: Vec<(&Layout, usize)> =
        layouts.iter().flat_map(|it| indices.iter().map(move |index| (it, *index))).collect();
    let rows: Vec<Vec<f64>> = asked
        .iter()
        .flat_map(|(layout, index)| {
            let series = &series[*index];
            layout
                .design
                .contrasts()
                .into_iter()
                .map(|contrast| layout.design.row(contrast, &series.values, series.better))
                .collect::<Vec<Vec<f64>>>()
        })
        .collect();
    let means = effects(&rows, ALPHA_DEFAULT, experiment.seed);
    debug_assert_eq!(means.len(), rows.len(), "one effect for each row");
    let mut found = means.into_iter().zip(&rows);
    asked
        .into_iter()
        .map(|(layout, index)| {
            let contrasts = layout.design.contrasts().into_iter().zip(&mut found);
            let of_layout = contrasts.map(|(contrast, (mean, row))| {
                let prediction95 = one_more((series, sampled), index, contrast, row);
                FoundEffect { contrast, mean, prediction95 }
            });
            result(layout, &series[index], index, of_layout.collect())
        })
        .collect()
}

/// The effect on one more drive. What the model gets wrong in an interaction it gets wrong in two
/// effects.
fn one_more(
    (series, sampled): (&[Series], &Sampled<'_>),
    index: usize,
    contrast: Contrast,
    row: &[f64],
) -> Option<[f64; 2]> {
    let arms: Vec<usize> = (0..series[index].values.len()).collect();
    let effects = outcome::effects(series, index, &arms);
    // An interaction is the ratio of two ratios, each with its error.
    let times = if matches!(contrast, Contrast::Interaction { .. }) { 2 } else { 1 };
    sampled.one_more((series[index].workload, &arms), (row, &effects), times)
}

fn result(
    layout: &Layout,
    series: &Series,
    index: usize,
    effects: Vec<FoundEffect>,
) -> InteractionResult {
    let enough = series.values.first().is_some_and(|values| values.len() >= BLOCKS_MIN as usize);
    let all = effects.iter().filter(|it| matches!(it.contrast, Contrast::Interaction { .. }));
    let strongest = *all
        .clone()
        .max_by(|one, other| {
            // A shown interaction before a larger one that may be chance.
            let [shown, other_shown] =
                [one, other].map(|it| verdict(it, series.margin, enough) == Interacts::Interact);
            let [strength, other_strength] = [one, other].map(|it| libm::log(it.mean.ratio).abs());
            shown.cmp(&other_shown).then(strength.total_cmp(&other_strength))
        })
        .expect("two factors of two levels interact somewhere");
    let independent =
        all.clone().all(|it| verdict(it, series.margin, enough) == Interacts::Independent);
    let verdict = match verdict(&strongest, series.margin, enough) {
        Interacts::Interact => Interacts::Interact,
        _ if independent => Interacts::Independent,
        _ => Interacts::NotShown,
    };
    let mut cells: Vec<[usize; 2]> = layout.arms.clone();
    cells.sort_unstable();
    cells.dedup();
    InteractionResult {
        series: index,
        factors: layout.factors.clone(),
        levels: layout.levels.clone(),
        cells: cells.iter().map(|cell| (*cell, mean_of_cell(layout, series, *cell))).collect(),
        effects,
        strongest,
        verdict,
        withheld: None,
    }
}

impl InteractionResult {
    /// `mode ahci helps by 12 % with caching on and by 3 % with caching off`.
    pub fn sentence(&self) -> String {
        let Contrast::Interaction { to: [to, other] } = self.strongest.contrast else {
            unreachable!("the strongest interaction is one")
        };
        let FoundEffect { mean: effect, prediction95, .. } = self.strongest;
        let interval = effect.ci95.map_or_else(
            || "no interval".to_owned(),
            |limits| format!("95 % interval {}", figures::range(limits)),
        );
        let drive =
            prediction95.map(|limits| format!("; one such drive: {}", figures::range(limits)));
        let interval = interval + &drive.unwrap_or_default();
        let withheld = self.withheld.as_ref().map_or_else(String::new, |why| format!("; {why}"));
        format!(
            "`{}` {} instead of {} {} and {} (interaction {}, {interval}){withheld}",
            self.factors[0],
            self.levels[0][to],
            self.levels[0][0],
            self.simple_effect(to, other),
            self.simple_effect(to, 0),
            figures::times(effect.ratio),
        )
    }

    /// The effect of level `to` of the first factor at one level of the second, in words.
    fn simple_effect(&self, to: usize, level: usize) -> String {
        let simple = Contrast::Simple { factor: 0, to, at: level };
        let effect = self.effects.iter().find(|it| it.contrast == simple);
        let what = helps(effect.map_or(1.0, |it| it.mean.ratio));
        format!("{what} with {} {}", self.factors[1], self.levels[1][level])
    }
}

/// A ratio above 1 as a gain.
fn helps(ratio: f64) -> String {
    let percent = figures::percent_change(ratio);
    if ratio >= 1.0 { format!("helps by {percent}") } else { format!("costs {percent}") }
}

/// The verdict on one interaction. Of drives it is shown that is true of their mean and of one more
/// of them.
fn verdict(effect: &FoundEffect, margin: f64, enough: bool) -> Interacts {
    let of_mean = interacts(&effect.mean, margin, enough);
    let of_drive = effect
        .prediction95
        .map(|limits| interacts(&Effect { ci95: Some(limits), ..effect.mean }, margin, enough));
    match of_drive {
        Some(of_drive) if of_drive != of_mean => Interacts::NotShown,
        _ => of_mean,
    }
}

/// The mean of the arms at one level of each factor.
fn mean_of_cell(layout: &Layout, series: &Series, cell: [usize; 2]) -> f64 {
    let arms = layout.arms.iter().zip(&series.values).filter(|(levels, _)| **levels == cell);
    let means: Vec<f64> = arms.map(|(_, values)| geometric_mean(values)).collect();
    debug_assert!(!means.is_empty(), "a cell is listed for its arms");
    geometric_mean(&means)
}
