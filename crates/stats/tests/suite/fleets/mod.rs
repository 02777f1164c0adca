//! Fleets without a bad disk are rarely alarmed, and one with a bad disk finds it.

use crate::truth::fleet::{Fleets, Spread};

const FLEETS: u32 = 200;
const SEED: u64 = 20_261_124;
/// Three standard deviations of 5 % of 200 fleets.
const ALARMS_MAX: f64 = 5.0 + 3.0 * 1.541;

fn fleets(bad: Option<f64>, margin: f64) -> Fleets {
    Fleets { spread: Spread::Normal, bad, margin }
}

#[test]
fn healthy_fleets_are_rarely_alarmed() {
    // Without a margin p values are those of chance alone, and the rate is that asked for.
    let exact = fleets(None, 0.0).measure(FLEETS, SEED);
    assert!(exact.alarms <= ALARMS_MAX, "seed {SEED}: {exact:?}");
    let usual = fleets(None, 0.05).measure(FLEETS, SEED + 1);
    assert!(usual.alarms <= ALARMS_MAX, "seed {}: {usual:?}", SEED + 1);
}

#[test]
fn a_disk_that_is_slower_by_three_tenths_is_found() {
    let rates = fleets(Some(0.7), 0.05).measure(FLEETS, SEED + 2);
    assert!(rates.found >= 95.0, "seed {}: {rates:?}", SEED + 2);
    assert!(rates.alarms <= ALARMS_MAX, "seed {}: {rates:?}", SEED + 2);
}

#[test]
fn fleets_that_are_not_normal_are_rarely_alarmed_with_a_margin() {
    // Disks in a tail lie apart, and are reported as such: the bench says how often.
    let has_tails = |it: &Spread| matches!(it, Spread::HeavyTails | Spread::Skewed);
    let without = Spread::ALL.into_iter().filter(|it| !has_tails(it));
    for (number, spread) in (3..).zip(without) {
        let rates = Fleets { spread, ..fleets(None, 0.05) }.measure(FLEETS, SEED + number);
        assert!(rates.alarms <= ALARMS_MAX, "seed {}: {spread:?} {rates:?}", SEED + number);
    }
}
