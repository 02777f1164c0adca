//! The layer within a run: what happens if its samples are taken for independent runs.

use drivelab_stats::{Arm, Pair, Verdict, compare, steady_state};

use crate::mutation::welch_p;
use crate::truth::experiment::criteria;
use crate::truth::random::Random;

const SECONDS: usize = 60;
const BLOCKS: usize = 10;
const EXPERIMENTS: u32 = 300;

/// How one run behaves, second by second.
#[derive(Clone, Copy)]
struct Behaviour {
    /// Correlation of neighbouring seconds.
    correlation: f64,
    /// Deviation of the level from run to run.
    run_sd: f64,
    /// Every 17th second loses 40 % to garbage collection.
    stalls: bool,
}

fn run(behaviour: Behaviour, random: &mut Random) -> Vec<f64> {
    let level = 1000.0 * libm::exp(behaviour.run_sd * random.normal());
    let innovation = (1.0 - behaviour.correlation * behaviour.correlation).sqrt();
    let phase = random.below(17);
    let mut wander = random.normal();
    let mut second = |s: usize| {
        wander = behaviour.correlation * wander + innovation * random.normal();
        let stall = if behaviour.stalls && (s + phase).is_multiple_of(17) { 0.6 } else { 1.0 };
        level * stall * (1.0 + 0.02 * wander)
    };
    (0..SECONDS).map(&mut second).collect()
}

fn percent(hits: usize) -> f64 {
    100.0 * f64::from(u32::try_from(hits).expect("hundreds")) / f64::from(EXPERIMENTS)
}

/// One run per arm, its seconds taken for independent samples.
fn pooled_false_alarms(behaviour: Behaviour) -> f64 {
    let mut random = Random::new(21);
    let alarm = |_: &u32| {
        let (a, b) = (run(behaviour, &mut random), run(behaviour, &mut random));
        welch_p(&a, &b) < 0.05
    };
    percent((0..EXPERIMENTS).filter(alarm).count())
}

/// Ten runs per arm, each one number: its mean after the warm-up.
fn method_false_alarms(behaviour: Behaviour) -> f64 {
    let mut random = Random::new(22);
    let value = |random: &mut Random| {
        steady_state(&run(behaviour, random), 0.03).mean.expect("60 finite values")
    };
    let alarm = |_: &u32| {
        let pair = |block: usize| {
            let first = if block.is_multiple_of(2) { Arm::A } else { Arm::B };
            Pair::new(value(&mut random), value(&mut random)).with_first(first)
        };
        let pairs: Vec<Pair> = (0..BLOCKS).map(pair).collect();
        let verdict = compare(&pairs, &criteria()).expect("positive values").verdict;
        !matches!(verdict, Verdict::Inconclusive | Verdict::NoPracticalDifference)
    };
    percent((0..EXPERIMENTS).filter(alarm).count())
}

/// 5 % and three standard errors at 300 experiments.
const LIMIT: f64 = 5.0 + 3.8;

#[track_caller]
fn check_pooling_fails(behaviour: Behaviour) {
    let (pooled, method) = (pooled_false_alarms(behaviour), method_false_alarms(behaviour));
    assert!(pooled > 20.0, "pooled Welch raises only {pooled} % false alarms");
    assert!(method <= LIMIT, "the method raises {method} % false alarms, limit {LIMIT} %");
}

#[test]
fn pooling_fails_with_correlated_seconds() {
    check_pooling_fails(Behaviour { correlation: 0.9, run_sd: 0.0, stalls: false });
}

#[test]
fn pooling_fails_with_runs_that_differ() {
    check_pooling_fails(Behaviour { correlation: 0.0, run_sd: 0.03, stalls: false });
}

#[test]
fn pooling_fails_with_stalls_and_runs_that_differ() {
    check_pooling_fails(Behaviour { correlation: 0.5, run_sd: 0.03, stalls: true });
}
