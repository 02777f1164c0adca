//! Runs needed, and the noise floor of a host.

use drivelab_stats::{
    Better, CompareError, NoiseFloorError, Pair, RUNS_MAX, Verdict, compare, effective_margin,
    noise_floor, runs_needed,
};

use crate::truth::drift::Drift;
use crate::truth::experiment::{Cell, MARGIN, criteria, randomised_blocks};
use crate::truth::noise::Noise;
use crate::truth::random::Random;
use crate::truth::rates::{judge, measure};

fn cell(effect: f64, run_sd: f64, blocks: usize) -> Cell {
    Cell { effect, noise: Noise::Normal, drift: Drift::None, unequal: false, blocks, run_sd }
}

#[test]
fn six_is_the_floor_and_hopeless_is_none() {
    assert_eq!(runs_needed(0.0, &criteria()), Some(6));
    assert_eq!(runs_needed(0.005, &criteria()), Some(6));
    assert_eq!(runs_needed(1e3, &criteria()), None);
}

#[test]
fn planned_runs_have_the_power_promised() {
    for run_sd in [0.03, 0.05] {
        let sd_log = run_sd * 2.0_f64.sqrt();
        let blocks = runs_needed(sd_log, &criteria()).unwrap() as usize;
        let at =
            |effect| measure(&cell(effect, run_sd, blocks), 1_000, 5, randomised_blocks, judge);
        let (none, minimum) = (at(0.0), at(MARGIN));
        for power in [none.percent(none.equivalent), minimum.percent(minimum.difference)] {
            // 80 % less what the second interval and the order test cost.
            assert!((66.0..90.0).contains(&power), "{power} % with {blocks} blocks");
        }
    }
}

#[test]
fn an_unsettled_result_asks_for_more_blocks_than_it_had() {
    let mut random = Random::new(31);
    let mut unsettled = 0;
    for blocks in [6, 10, 20, 40] {
        for effect in [0.0, 0.5 * MARGIN, MARGIN] {
            let pairs = cell(effect, 0.03, blocks).experiment(randomised_blocks, &mut random);
            if let Some(runs) = compare(&pairs, &criteria()).unwrap().runs_needed {
                assert!(runs as usize > blocks && runs <= RUNS_MAX, "{runs} after {blocks}");
                unsettled += 1;
            }
        }
    }
    assert!(unsettled > 4, "only {unsettled} of 12 experiments were unsettled");
}

/// Blocks whose log ratios have exactly this mean and standard deviation.
fn blocks_of(n: u32, mean: f64, sd: f64) -> Vec<Pair> {
    let middle = 0.5 * f64::from(n - 1);
    let places: Vec<f64> = (0..n).map(|i| f64::from(i) - middle).collect();
    let squares: f64 = places.iter().map(|x| x * x).sum();
    let unit = sd * (f64::from(n - 1) / squares).sqrt();
    places.iter().map(|x| Pair::new(100.0, 100.0 * libm::exp(mean + unit * x))).collect()
}

#[test]
fn runs_needed_settle_on_which_side_of_the_margin_the_effect_lies() {
    let check = |n: u32, mean: f64, sd: f64, expected: u32| {
        let result = compare(&blocks_of(n, mean, sd), &criteria()).unwrap();
        assert_eq!(result.verdict, Verdict::Different, "{n} {mean} {sd}");
        let runs = result.runs_needed.unwrap();
        assert!(runs.abs_diff(expected) <= 1, "{n} {mean} {sd}: {runs} instead of {expected}");
    };
    // For "faster": (t(0.975) + t(0.8))^2 sd^2 / (mean - ln 1.03)^2.
    check(20, 0.0330, 0.010, 69);
    check(40, 0.0305, 0.004, 144);
    check(10, 0.0350, 0.010, 29);
    // For "no practical difference": (t(0.95) + t(0.8))^2 sd^2 / (ln 1.03 - mean)^2.
    check(40, 0.0290, 0.004, 319);
    check(40, -0.0290, 0.004, 319);
    check(20, 0.0260, 0.010, 51);
}

#[test]
fn runs_needed_have_the_power_they_promise() {
    // The effect seen taken for the truth, as many blocks as asked for show it in 80 of 100.
    let result = compare(&blocks_of(20, 0.0335, 0.010), &criteria()).unwrap();
    let blocks = result.runs_needed.unwrap() as usize;
    let truth = Cell { run_sd: 0.010 / 2.0_f64.sqrt(), ..cell(libm::expm1(0.0335), 0.0, blocks) };
    let rates = measure(&truth, 1_000, 9, randomised_blocks, judge);
    let power = rates.percent(rates.material);
    assert!((66.0..90.0).contains(&power), "{power} % with {blocks} blocks");
}

#[test]
fn the_noise_floor_is_the_farther_limit() {
    let aa = [0.99, 1.01, 1.0, 0.98, 1.03, 1.0, 1.005, 0.995].map(|r| Pair::new(100.0, 100.0 * r));
    for better in [Better::More, Better::Less] {
        let rules = drivelab_stats::Criteria { better, ..criteria() };
        let floor = noise_floor(&aa, &rules).unwrap();
        let [lo, hi] = floor.ci95;
        assert!((floor.margin - (hi - 1.0).max(1.0 / lo - 1.0)).abs() < 1e-12);
        assert!(floor.margin > 0.01 && floor.margin < 0.02 && !floor.biased, "{floor:?}");
        assert!(effective_margin(0.005, &floor).to_bits() == floor.margin.to_bits());
        assert!(effective_margin(0.03, &floor).to_bits() == 0.03_f64.to_bits());
    }
}

#[test]
fn one_more_pair_of_equal_runs_differs_by_less_than_was_said() {
    let mut random = Random::new(6);
    let (mut inside, mut below_mean, trials) = (0_u32, 0_u32, 2_000);
    for _ in 0..trials {
        let mut pairs = cell(0.0, 0.03, 11).experiment(randomised_blocks, &mut random);
        let next = pairs.pop().unwrap();
        let floor = noise_floor(&pairs, &criteria()).unwrap();
        let differs = libm::exp((next.b / next.a).ln().abs()) - 1.0;
        inside += u32::from(differs <= floor.single);
        below_mean += u32::from(differs <= floor.margin);
    }
    let share = |count: u32| 100.0 * f64::from(count) / f64::from(trials);
    // 95 % less three standard errors.
    assert!(share(inside) > 93.5, "{} %", share(inside));
    // The floor of the mean, which says nothing of single runs.
    assert!(share(below_mean) < 80.0, "{} %", share(below_mean));
}

#[test]
fn a_host_that_tells_an_arm_from_itself_is_biased() {
    let aa = [1.05, 1.06, 1.05, 1.04, 1.055, 1.045].map(|r| Pair::new(100.0, 100.0 * r));
    let floor = noise_floor(&aa, &criteria()).unwrap();
    assert!(floor.biased && floor.margin > 0.05, "{floor:?}");
}

#[test]
fn few_blocks_give_no_noise_floor() {
    let aa = [1.0, 1.01, 0.99, 1.0, 1.02].map(|r| Pair::new(100.0, 100.0 * r));
    assert_eq!(noise_floor(&aa, &criteria()), Err(NoiseFloorError::TooFew { blocks: 5, least: 6 }));
    let none = NoiseFloorError::Compare(CompareError::NoBlocks);
    assert_eq!(noise_floor(&[], &criteria()), Err(none));
}
