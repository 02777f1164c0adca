//! A small, seeded part of the known-truth grid; the whole is `benches/known_truth.rs`.

use drivelab_stats::{Arm, Verdict, WarningId, compare};

use crate::truth::boots::{Boots, Reboots};
use crate::truth::drift::Drift;
use crate::truth::experiment::{Cell, MARGIN, RUN_SD, criteria, randomised_blocks};
use crate::truth::noise::Noise;
use crate::truth::random::Random;
use crate::truth::rates::{Rates, judge, measure, rates_of, violations};

/// Experiments per cell: a share of 5 % is known to 2.1 points (three standard errors).
const EXPERIMENTS: u32 = 1_000;

#[track_caller]
fn check(cells: &[Cell], experiments: u32) {
    let mut broken = Vec::new();
    for (seed, cell) in (1..).zip(cells) {
        let rates = measure(cell, experiments, seed, randomised_blocks, judge);
        broken.extend(violations(cell, &rates));
    }
    assert!(broken.is_empty(), "limits exceeded:\n{}", broken.join("\n"));
}

fn plain(effect: f64, noise: Noise, blocks: usize) -> Cell {
    Cell { effect, noise, drift: Drift::None, unequal: false, blocks, run_sd: RUN_SD }
}

#[test]
fn errors_stay_within_limits_for_every_noise() {
    let mut cells = Vec::new();
    for noise in Noise::ALL {
        for blocks in [6, 10, 20] {
            cells.extend([0.0, MARGIN].map(|effect| plain(effect, noise, blocks)));
        }
    }
    check(&cells, EXPERIMENTS);
}

#[test]
fn no_false_alarms_under_drift() {
    let drifts = Drift::ALL.map(|drift| Cell { drift, ..plain(0.0, Noise::Normal, 10) });
    check(&drifts, 3 * EXPERIMENTS);
}

#[test]
fn errors_stay_within_limits_for_unequal_spread() {
    let cells = Noise::ALL.map(|noise| Cell { unequal: true, ..plain(0.0, noise, 10) });
    check(&cells, EXPERIMENTS);
}

#[test]
fn loud_hosts_get_no_verdict_rather_than_a_wrong_one() {
    let cells =
        [0.0, MARGIN, 0.10].map(|effect| Cell { run_sd: 0.3, ..plain(effect, Noise::Normal, 20) });
    check(&cells, EXPERIMENTS);
}

/// Arms that take a reboot, without a true difference.
fn reboots(boots: Boots, boot_sd: f64, repeats: u32) -> Rates {
    let it = Reboots { boots, blocks: 6, repeats, boot_sd, run_sd: 0.01, truth: 0.0 };
    rates_of(3 * EXPERIMENTS, 23, it.truth, |random| it.experiment(random))
}

#[test]
fn boots_that_differ_are_not_taken_for_arms() {
    for boot_sd in [0.01, 0.03, 0.10] {
        for repeats in [1, 2] {
            let rates = reboots(Boots::Own, boot_sd, repeats);
            assert!(!rates.has_false_alarms(), "boots of {boot_sd}, {repeats} runs: {rates:?}");
            let covered = rates.percent(rates.covered);
            assert!((93.0..=97.0).contains(&covered), "boots of {boot_sd}: {covered} %");
        }
    }
}

#[test]
fn boots_shared_by_neighbouring_blocks_are_caught() {
    for boot_sd in [0.03, 0.10] {
        let rates = reboots(Boots::Shared, boot_sd, 1);
        assert!(rates.has_false_alarms(), "boots of {boot_sd}: {rates:?}");
    }
}

#[test]
fn carry_over_is_found() {
    // What runs after A gets 8 % more: half of it would count for B.
    let mut random = Random::new(6);
    let (mut withheld, mut material) = (0, 0);
    for _ in 0..EXPERIMENTS {
        let mut pairs = plain(0.0, Noise::Normal, 20).experiment(randomised_blocks, &mut random);
        for pair in pairs.iter_mut().filter(|p| p.first == Some(Arm::A)) {
            pair.b *= 1.08;
        }
        let result = compare(&pairs, &criteria()).expect("positive values");
        withheld += u32::from(result.warnings.iter().any(|w| w.id == WarningId::CarryOver));
        material += u32::from(result.verdict == Verdict::Faster);
    }
    assert!(withheld > EXPERIMENTS * 9 / 10, "withheld in {withheld} of {EXPERIMENTS}");
    assert!(material < EXPERIMENTS / 20, "faster in {material} of {EXPERIMENTS}");
}

#[test]
fn verdicts_have_the_power_the_method_promises() {
    // Of the method's evidence, at 3 % run-to-run deviation: equivalence without a difference
    // 34 % (10 blocks), 83 % (20); a 10 % effect shown material 99 % (10).
    let share = |effect, blocks, equivalent: bool| {
        let cell = plain(effect, Noise::Normal, blocks);
        let rates = measure(&cell, EXPERIMENTS, 17, randomised_blocks, judge);
        rates.percent(if equivalent { rates.equivalent } else { rates.material })
    };
    let check = |seen: f64, least: f64| assert!(seen > least, "{seen} %, expected {least} %");
    // The second interval, the order test and a 3 % chance of error cost a few points each.
    check(share(0.0, 10, true), 20.0);
    check(share(0.0, 20, true), 70.0);
    check(share(0.10, 10, false), 88.0);
    // Chance order effects withhold a clear verdict in about one case of a hundred.
    check(share(0.10, 20, false), 97.0);
}
