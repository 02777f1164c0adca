//! Changes in histories whose truth is known.

use drivelab_stats::{CHANGE_VALUES_MAX, changes};

use crate::truth::drift::Drift;
use crate::truth::noise::Noise;
use crate::truth::random::Random;

/// A history of `runs` around 100 with a deviation of 3 %.
fn history(runs: usize, drift: Drift, noise: Noise, random: &mut Random) -> Vec<f64> {
    let level = drift.draw(runs, random);
    let own = if drift == Drift::None { 1.0 } else { 0.0 };
    level.iter().map(|level| 100.0 * (1.0 + 0.03 * (level + own * noise.draw(random)))).collect()
}

/// Share of histories without a change in which one is reported.
fn false_alarms(runs: usize, drift: Drift, noise: Noise) -> f64 {
    const HISTORIES: u32 = 200;
    let mut random = Random::new(19);
    let alarms = (0..HISTORIES).map(|seed| {
        let found = changes(&history(runs, drift, noise, &mut random), u64::from(seed));
        f64::from(u8::from(!found.is_empty()))
    });
    alarms.sum::<f64>() / f64::from(HISTORIES)
}

#[test]
fn unchanged_histories_are_rarely_reported() {
    let check = |drift, noise, most: f64| {
        let alarms = false_alarms(50, drift, noise);
        assert!(alarms <= most, "{drift:?}, {noise:?}: {alarms}");
    };
    for noise in [Noise::Normal, Noise::T3, Noise::Bimodal, Noise::Quantised] {
        check(Drift::None, noise, 0.03);
    }
    check(Drift::Ar(0.3), Noise::Normal, 0.04);
    // A t-test at the best split reports half of these histories.
    check(Drift::Ar(0.6), Noise::Normal, 0.18);
}

#[test]
fn a_step_is_found_where_it_is() {
    let mut random = Random::new(7);
    let mut found = 0;
    for seed in 0..50 {
        let mut values = history(40, Drift::None, Noise::Normal, &mut random);
        values[25..].iter_mut().for_each(|value| *value *= 1.12);
        let found_here = changes(&values, seed);
        let is_there = |at: usize| (24..=26).contains(&at);
        found += usize::from(found_here.len() == 1 && is_there(found_here[0].at));
    }
    assert!(found >= 45, "{found} of 50");
}

#[test]
fn two_steps_are_two_changes_with_the_levels_between_them() {
    let level = |run: usize| if (20..45).contains(&run) { 200.0 } else { 100.0 };
    let values: Vec<f64> =
        (0..70).map(|run| level(run) + f64::from([0_u8, 1, 2][run % 3])).collect();
    let found = changes(&values, 1);
    let places: Vec<usize> = found.iter().map(|change| change.at).collect();
    assert_eq!(places, [20, 45]);
    let levels: Vec<[f64; 2]> = found.iter().map(|it| [it.before, it.after]).collect();
    assert_eq!(levels, [[101.0, 201.0], [201.0, 101.0]]);
}

#[test]
fn the_same_history_and_seed_give_the_same_changes() {
    let mut random = Random::new(3);
    let values = history(60, Drift::Step, Noise::Normal, &mut random);
    assert_eq!(changes(&values, 5), changes(&values, 5));
}

#[test]
fn a_long_history_is_examined_at_its_end() {
    let values: Vec<f64> = (0..1000).map(|run| if run < 950 { 10.0 } else { 20.0 }).collect();
    let found = changes(&values, 1);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].at, 950);
    let early: Vec<f64> = (0..1000).map(|run| if run < 100 { 10.0 } else { 20.0 }).collect();
    assert_eq!(changes(&early, 1), []);
    assert_eq!(CHANGE_VALUES_MAX, 300);
}

#[test]
fn odd_histories_have_no_changes() {
    for values in [
        vec![],
        vec![1.0],
        vec![5.0; 100],
        vec![0.0; 100],
        vec![f64::NAN; 100],
        vec![f64::MAX; 100],
        vec![f64::INFINITY; 20],
        vec![1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 50.0],
    ] {
        assert_eq!(changes(&values, 1), [], "{values:?}");
    }
}
