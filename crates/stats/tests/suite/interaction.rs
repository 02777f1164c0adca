//! Factorial designs of known truth.

use drivelab_stats::{
    Better, Contrast, Effect, Factorial, FactorialError, Interacts, effects, interacts,
};

use crate::truth::noise::Noise;
use crate::truth::random::Random;

const ARMS: [[usize; 2]; 4] = [[0, 0], [0, 1], [1, 0], [1, 1]];
/// Main effects of both factors on the log scale; they must not leak into the interaction.
const MAIN: [f64; 2] = [0.3, -0.2];
const SD: f64 = 0.03;
const MARGIN: f64 = 0.03;
const ALPHA: f64 = 0.05;

/// Values of four arms whose interaction is `truth`; blocks differ, and arms in their noise.
fn values(truth: f64, blocks: usize, noise: Noise, random: &mut Random) -> Vec<Vec<f64>> {
    let levels: Vec<f64> = (0..blocks).map(|_| 0.5 * random.normal()).collect();
    let arm = |arm: [usize; 2], random: &mut Random| {
        let at = |on: usize| if on == 1 { 1.0 } else { 0.0 };
        let effect = MAIN[0] * at(arm[0]) + MAIN[1] * at(arm[1]) + truth * at(arm[0] * arm[1]);
        let run = |level: &f64| 100.0 * libm::exp(level + effect + SD * noise.draw(random));
        levels.iter().map(run).collect()
    };
    ARMS.iter().map(|levels| arm(*levels, random)).collect()
}

fn analyse(design: &Factorial, values: &[Vec<f64>]) -> Vec<(Contrast, Effect)> {
    let contrasts = design.contrasts();
    let rows: Vec<Vec<f64>> =
        contrasts.iter().map(|it| design.row(*it, values, Better::More)).collect();
    contrasts.into_iter().zip(effects(&rows, ALPHA, 1)).collect()
}

/// The true log ratio of a contrast.
fn truth_of(contrast: Contrast, truth: f64) -> f64 {
    match contrast {
        Contrast::Main { factor, .. } => MAIN[factor] + 0.5 * truth,
        Contrast::Simple { factor, at, .. } => MAIN[factor] + if at == 1 { truth } else { 0.0 },
        Contrast::Interaction { .. } => truth,
    }
}

/// Percent of experiments.
#[derive(Debug, Default)]
struct Rates {
    /// In which the interval of the interaction contains the truth.
    covered: f64,
    /// In which every interval does.
    all_covered: f64,
    interact: f64,
    independent: f64,
}

const EXPERIMENTS: u32 = 1_500;
/// Three standard errors of a share of 5 %.
const SLACK: f64 = 1.7;

fn rates(truth: f64, blocks: usize, noise: Noise, seed: u64) -> Rates {
    let design = Factorial::new(ARMS.to_vec()).expect("all combinations");
    let (mut random, mut rates) = (Random::new(seed), Rates::default());
    let each = 100.0 / f64::from(EXPERIMENTS);
    for _ in 0..EXPERIMENTS {
        let found = analyse(&design, &values(truth, blocks, noise, &mut random));
        let covers = |(contrast, effect): &(Contrast, Effect)| {
            let [lo, hi] = effect.ci95.expect("many blocks");
            (lo..=hi).contains(&libm::exp(truth_of(*contrast, truth)))
        };
        let last = found.last().expect("an interaction comes last");
        assert_eq!(last.0, Contrast::Interaction { to: [1, 1] });
        let count = |yes: bool| if yes { each } else { 0.0 };
        rates.covered += count(covers(last));
        rates.all_covered += count(found.iter().all(covers));
        let verdict = interacts(&last.1, MARGIN, true);
        rates.interact += count(verdict == Interacts::Interact);
        rates.independent += count(verdict == Interacts::Independent);
    }
    rates
}

#[test]
fn intervals_cover_the_truth_one_by_one_and_together() {
    for (seed, noise) in (1..).zip([Noise::Normal, Noise::T3]) {
        for (blocks, truth) in [(6, 0.0), (10, 0.08), (20, 0.2)] {
            let rates = rates(truth, blocks, noise, seed);
            assert!(rates.covered >= 95.0 - SLACK, "{noise:?}, {blocks} blocks: {rates:?}");
            assert!(rates.all_covered >= 95.0 - SLACK, "{noise:?}, {blocks} blocks: {rates:?}");
        }
    }
}

#[test]
fn an_interaction_is_rarely_seen_where_there_is_none_and_often_where_there_is() {
    for (seed, blocks) in (11..).zip([6, 10, 20]) {
        let none = rates(0.0, blocks, Noise::Normal, seed);
        assert!(none.interact <= 5.0 + SLACK, "{blocks} blocks: {none:?}");
        let margin = rates(libm::log1p(MARGIN), blocks, Noise::Normal, seed);
        assert!(margin.independent <= 5.0 + SLACK, "{blocks} blocks: {margin:?}");
    }
    let clear = rates(0.15, 20, Noise::Normal, 20);
    assert!(clear.interact > 90.0, "{clear:?}");
}

#[test]
fn effects_without_noise_are_exact() {
    // A third level, and two arms in one cell, which count as one.
    let arms = vec![[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1], [2, 1]];
    let of = [100.0, 110.0, 120.0, 198.0, 200.0, 200.0, 242.0];
    let values: Vec<Vec<f64>> = of.iter().map(|value| vec![*value; 6]).collect();
    let design = Factorial::new(arms).unwrap();
    let found = analyse(&design, &values);
    let check = |contrast: Contrast, expected: f64| {
        let effect = found.iter().find(|(it, _)| *it == contrast).unwrap().1;
        assert!((effect.ratio - expected).abs() < 1e-12, "{contrast:?}: {effect:?}");
        assert!(effect.ci95.unwrap().iter().all(|limit| (limit - expected).abs() < 1e-12));
    };
    check(Contrast::Simple { factor: 0, to: 1, at: 0 }, 1.2);
    check(Contrast::Simple { factor: 0, to: 1, at: 1 }, 1.8);
    check(Contrast::Main { factor: 0, to: 1 }, (1.2_f64 * 1.8).sqrt());
    check(Contrast::Interaction { to: [1, 1] }, 1.5);
    check(Contrast::Interaction { to: [2, 1] }, 1.0);
    assert_eq!(found.len(), 2 + 1 + 4 + 3 + 2);
    let row = design.row(Contrast::Interaction { to: [1, 1] }, &values, Better::Less);
    assert!((row[0] + libm::log(1.5)).abs() < 1e-12, "less is better: the sign turns");
}

#[test]
fn a_layout_that_separates_nothing_is_refused() {
    let check = |arms: &[[usize; 2]], expected| {
        assert_eq!(Factorial::new(arms.to_vec()).unwrap_err(), expected);
    };
    check(&[[0, 0], [0, 1], [1, 0]], FactorialError::Missing([1, 1]));
    check(&[[0, 0], [1, 0]], FactorialError::SingleLevel(1));
    check(&[], FactorialError::SingleLevel(0));
}

#[test]
fn few_blocks_show_nothing() {
    let effect = Effect { ratio: 2.0, ci95: Some([1.9, 2.1]) };
    assert_eq!(interacts(&effect, MARGIN, false), Interacts::NotShown);
    assert_eq!(interacts(&effect, MARGIN, true), Interacts::Interact);
    let [one, all] = [vec![vec![0.1]], Vec::new()].map(|rows| effects(&rows, ALPHA, 1));
    assert_eq!((one[0].ci95, all.len()), (None, 0));
}
