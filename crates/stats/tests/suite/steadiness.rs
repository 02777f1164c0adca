//! Steady state within a run.

use drivelab_stats::{Steadiness, SteadyReason, SteadyState, steady_state};

use crate::truth::random::Random;

const MARGIN: f64 = 0.03;

/// A run of `n` seconds around `curve`, with correlated noise of deviation `sd` (relative).
fn series(
    n: u32,
    sd: f64,
    correlation: f64,
    random: &mut Random,
    curve: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let innovation = (1.0 - correlation * correlation).sqrt();
    let mut wander = random.normal();
    let mut value = |second: u32| {
        wander = correlation * wander + innovation * random.normal();
        1000.0 * curve(f64::from(second)) * (1.0 + sd * wander)
    };
    (0..n).map(&mut value).collect()
}

/// Judges 200 runs with different noise.
fn judge(n: u32, sd: f64, correlation: f64, curve: impl Fn(f64) -> f64 + Copy) -> Vec<Steadiness> {
    let mut random = Random::new(41);
    let mut one = |_| steady_state(&series(n, sd, correlation, &mut random, curve), MARGIN);
    (0..200).map(&mut one).collect()
}

fn percent(runs: &[Steadiness], what: impl Fn(&Steadiness) -> bool) -> f64 {
    let hits = runs.iter().filter(|r| what(r)).count();
    100.0 * f64::from(u32::try_from(hits).expect("hundreds")) / 200.0
}

fn is_steady(run: &Steadiness) -> bool {
    run.state == SteadyState::Steady
}

fn has(reason: SteadyReason) -> impl Fn(&Steadiness) -> bool {
    move |run| run.reasons.contains(&reason)
}

#[track_caller]
fn at_least(seen: f64, least: f64) {
    assert!(seen >= least, "{seen} % of runs, expected {least} % or more");
}

#[track_caller]
fn at_most(seen: f64, most: f64) {
    assert!(seen <= most, "{seen} % of runs, expected {most} % or less");
}

#[test]
fn flat_runs_are_steady() {
    // The trend test alone turns away 10 % by design.
    for (n, correlation) in [(60, 0.0), (120, 0.0), (120, 0.5), (600, 0.8)] {
        let runs = judge(n, 0.01, correlation, |_| 1.0);
        at_least(percent(&runs, is_steady), 75.0);
        at_most(percent(&runs, has(SteadyReason::Trend)), 20.0);
    }
}

#[test]
fn a_flat_run_without_noise_is_steady() {
    let run = steady_state(&[250.0; 60], MARGIN);
    assert_eq!((run.state, run.warmup, run.mean), (SteadyState::Steady, 0, Some(250.0)));
    assert_eq!((run.drift, run.trend_p, run.snia), (Some(0.0), Some(1.0), true));
}

#[test]
fn warm_up_is_found_and_left_out() {
    // The cache absorbs the first 30 seconds at twice the speed.
    let runs = judge(180, 0.02, 0.0, |t| if t < 30.0 { 2.0 } else { 1.0 });
    at_least(percent(&runs, |r| (30..=90).contains(&r.warmup)), 99.0);
    at_least(percent(&runs, |r| (r.mean.unwrap() / 1000.0 - 1.0).abs() < 0.01), 99.0);
    at_least(percent(&runs, is_steady), 65.0);
}

#[test]
fn a_run_that_still_changes_is_not_steady() {
    // 10 % over the run.
    let rising = judge(120, 0.01, 0.3, |t| 1.0 + 0.1 * t / 120.0);
    at_most(percent(&rising, is_steady), 1.0);
    at_least(percent(&rising, has(SteadyReason::Trend)), 90.0);
    // An SSD that fills its cache: from 1.3 to 1, with a time constant of a third of the run.
    let settling = judge(120, 0.01, 0.3, |t| 1.0 + 0.3 * libm::exp(-t / 40.0));
    at_most(percent(&settling, is_steady), 2.0);
}

#[test]
fn a_late_step_leaves_no_verdict() {
    let runs = judge(120, 0.01, 0.0, |t| if t < 90.0 { 1.0 } else { 0.5 });
    at_most(percent(&runs, is_steady), 0.0);
    at_least(percent(&runs, has(SteadyReason::WarmupTooLong)), 90.0);
}

#[test]
fn noise_that_hides_drift_is_unknown_not_steady() {
    let runs = judge(40, 0.2, 0.0, |_| 1.0);
    at_most(percent(&runs, is_steady), 30.0);
    at_least(percent(&runs, |r| r.state == SteadyState::Unknown), 30.0);
}

#[test]
fn the_snia_label_is_lenient_and_only_a_label() {
    let rising = judge(120, 0.002, 0.0, |t| 1.0 + 0.08 * t / 120.0);
    at_least(percent(&rising, |r| r.snia), 100.0);
    at_most(percent(&rising, is_steady), 0.0);
    let falling = judge(120, 0.002, 0.0, |t| 1.0 - 0.6 * t / 120.0);
    at_most(percent(&falling, |r| r.snia), 0.0);
}

#[test]
fn unusable_series_are_refused_with_a_reason() {
    let check = |values: &[f64], state: SteadyState, reason: SteadyReason| {
        let run = steady_state(values, MARGIN);
        assert_eq!((run.state, run.reasons, run.mean), (state, vec![reason], None));
    };
    check(&[], SteadyState::Unknown, SteadyReason::TooShort);
    check(&[1.0; 19], SteadyState::Unknown, SteadyReason::TooShort);
    check(&[0.0; 60], SteadyState::Unsteady, SteadyReason::NotMeasurable);
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let mut values = [1.0; 60];
        values[7] = bad;
        check(&values, SteadyState::Unsteady, SteadyReason::NotMeasurable);
    }
}

#[test]
fn long_series_take_larger_batches() {
    let mut random = Random::new(3);
    let values = series(20_000, 0.05, 0.5, &mut random, |t| if t < 2_000.0 { 1.5 } else { 1.0 });
    let run = steady_state(&values, MARGIN);
    assert!((2_000..3_000).contains(&run.warmup), "{run:?}");
    assert!((run.mean.unwrap() / 1000.0 - 1.0).abs() < 0.005, "{run:?}");
}
