//! Intervals for one more drive, and what they are made of.

use drivelab_stats::distribution::student;
use drivelab_stats::{
    Cause, Family, Forecast, Member, Pair, Part, Role, Unknown, Verdict, WarningId, compare_family,
    effect, foresee, unshared,
};

use crate::truth::random::Random;
use crate::truth::specimens::{Drawing, Drives, Prior, criteria};

/// Samples for each case, of which each predicts 20 drives: 95 % is then known to about a point.
const EXPERIMENTS: u32 = 200;

fn drives(prior: Prior, drawing: Drawing) -> Drives {
    Drives { prior, drawing, specimens: 20, addresses: 0.01, model_sigma: 0.05 }
}

#[test]
fn the_interval_holds_the_next_drive_as_often_as_it_says() {
    let mut wrong = Vec::new();
    for (seed, prior) in (1..).zip(Prior::ALL) {
        for drawing in [Drawing::Independent, Drawing::Stratified] {
            for model_sigma in [0.0, 0.05] {
                let it = Drives { model_sigma, ..drives(prior, drawing) };
                let coverage = it.coverage(EXPERIMENTS, seed);
                if !(93.0..=97.0).contains(&coverage) {
                    wrong.push(format!("{coverage:.1} % (seed {seed}): {it:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_share_of_an_unknown_lies_in_its_interval() {
    let mut wrong = Vec::new();
    for (seed, prior) in (1..).zip([Prior::Normal, Prior::Mixture, Prior::TwoValued]) {
        let it = drives(prior, Drawing::Stratified);
        let (truth, mut random) = (it.share(), Random::new(seed));
        let (mut covered, mut sum) = (0_u32, 0.0);
        for _ in 0..EXPERIMENTS {
            let forecast = it.forecast(&mut random);
            let part = of(&forecast, Cause::Unknown(0));
            covered += u32::from(part.ci95[0] <= truth && truth <= part.ci95[1]);
            sum += part.share;
        }
        let covered = 100.0 * f64::from(covered) / f64::from(EXPERIMENTS);
        let mean = sum / f64::from(EXPERIMENTS);
        if covered < 90.0 || (mean - truth).abs() > 0.03 {
            wrong.push(format!("{covered:.1} %, {mean:.3} for {truth:.3} (seed {seed}): {it:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn of(forecast: &Forecast, cause: Cause) -> Part {
    *forecast.parts.iter().find(|part| part.cause == cause).expect("every cause has a part")
}

fn pairs(log_ratios: &[f64]) -> Vec<Pair> {
    log_ratios.iter().map(|d| Pair::new(1.0, libm::exp(*d))).collect()
}

#[test]
fn without_unknowns_the_interval_is_students_for_one_more_run() {
    let d = [0.10, 0.12, 0.09, 0.11, 0.13, 0.08, 0.10, 0.12];
    let forecast = foresee(&pairs(&d), &[], 0.0, &criteria()).unwrap();
    let mean = d.iter().sum::<f64>() / 8.0;
    let squares: f64 = d.iter().map(|d| (d - mean) * (d - mean)).sum();
    let half =
        student::quantile(0.975, 7.0) * (squares / 7.0).sqrt() * (1.0_f64 + 1.0 / 8.0).sqrt();
    let [lo, hi] = forecast.prediction95.map(libm::log);
    assert!((lo - (mean - half)).abs() < 1e-12 && (hi - (mean + half)).abs() < 1e-12);
    assert_eq!(forecast.verdict, Verdict::Faster);
    assert!((of(&forecast, Cause::Addresses).share - 1.0).abs() < 1e-12);
    assert_eq!(forecast.decides(), None);
}

#[test]
fn what_the_model_leaves_out_widens_effects_and_not_what_is_alike() {
    let some = [0.30, 0.31, 0.29, 0.30, 0.32, 0.28];
    let width = |d: &[f64], sigma| {
        let [lo, hi] = foresee(&pairs(d), &[], sigma, &criteria()).unwrap().prediction95;
        libm::log(hi / lo)
    };
    assert!(width(&some, 0.1) > 2.0 * 1.96 * 0.1 && width(&some, 0.0) < 0.1);
    let alike = foresee(&pairs(&[0.0; 20]), &[], 0.0, &criteria()).unwrap();
    assert_eq!(alike.prediction95.map(f64::to_bits), [1.0_f64.to_bits(); 2]);
    assert_eq!(alike.verdict, Verdict::NoPracticalDifference);
    assert!((alike.shares.no_practical_difference - 1.0).abs() < 1e-12 && alike.parts.is_empty());
}

#[test]
fn a_model_is_wrong_about_effects_and_not_about_what_no_arm_changes() {
    let (slow, quick) = ([100.0, 110.0, 90.0], [150.0, 165.0, 135.0]);
    assert!((effect(&slow, &quick) - libm::log(1.5)).abs() < 1e-12);
    assert_eq!(effect(&slow, &slow).to_bits(), 0.0_f64.to_bits());
    let check = |effects: &[f64], expected: f64| {
        let found = unshared(0.1, effects.iter().copied());
        assert!((found - expected).abs() < 1e-12, "{effects:?}: {found}");
    };
    check(&[0.001, 0.002], 0.002);
    // Two ways to gain the same: each gains much against a third.
    check(&[0.0, 0.4, 0.4], 0.1);
    check(&[], 0.0);
}

/// Twenty drives, half of them of either kind.
fn halves(low: f64, high: f64) -> (Vec<Pair>, Vec<Unknown>) {
    let mut random = Random::new(5);
    let kinds: Vec<f64> = (0..20).map(|at| f64::from(at % 2)).collect();
    let d: Vec<f64> =
        kinds.iter().map(|kind| low + (high - low) * kind + 0.01 * random.normal()).collect();
    let other = Unknown {
        values: (0..20).map(|_| random.normal()).collect(),
        scores: (0..20).map(|_| random.normal()).collect(),
    };
    let scores = kinds.iter().map(|kind| 1.6 * kind - 0.8).collect();
    (pairs(&d), vec![other, Unknown { values: kinds, scores }])
}

#[test]
fn the_verdict_is_about_one_more_drive_and_names_what_decides() {
    let (pairs, unknowns) = halves(-0.1, 0.3);
    let criteria = criteria();
    let member = Member { role: Role::Gate, pairs: pairs.clone(), criteria };
    let Family { mut members, .. } = compare_family(&[member]).unwrap();
    // Twenty drives tell that the mean is above one.
    assert!(members[0].comparison.ci95.unwrap()[0] > 1.0);
    let forecast = foresee(&pairs, &unknowns, 0.02, &criteria).unwrap();
    forecast.judge(&mut members[0]);
    let comparison = &members[0].comparison;
    assert_eq!((comparison.verdict, comparison.runs_needed), (Verdict::Inconclusive, None));
    assert!(comparison.warnings.iter().any(|warning| warning.id == WarningId::Depends));
    let [lo, hi] = forecast.prediction95;
    assert!(lo < 0.92 && hi > 1.33, "{lo} {hi}");
    assert!((forecast.shares.faster - 0.5).abs() < 0.01 && forecast.shares.slower > 0.48);
    let (place, part) = forecast.decides().unwrap();
    assert!(place == 1 && part.share > 0.95 && part.ci95[0] > 0.9, "{part:?}");
    let whole: f64 = forecast.parts.iter().map(|part| part.share).sum();
    assert!((whole - 1.0).abs() < 1e-12);
}

#[test]
fn a_verdict_that_the_mean_does_not_bear_out_is_not_strengthened() {
    let (pairs, unknowns) = halves(0.25, 0.3);
    let member = Member { role: Role::Gate, pairs: pairs.clone(), criteria: criteria() };
    let Family { mut members, .. } = compare_family(&[member]).unwrap();
    let forecast = foresee(&pairs, &unknowns, 0.0, &criteria()).unwrap();
    assert_eq!(forecast.verdict, Verdict::Faster);
    members[0].comparison.verdict = Verdict::Different;
    forecast.judge(&mut members[0]);
    assert_eq!(members[0].comparison.verdict, Verdict::Different);
}

#[test]
fn few_specimens_predict_nothing_and_few_more_than_unknowns_name_no_cause() {
    let d = [0.1, 0.2, 0.15, 0.12, 0.18, 0.11];
    assert_eq!(foresee(&pairs(&d[..5]), &[], 0.0, &criteria()), None);
    let unknown = |at: u32| {
        let mut random = Random::new(u64::from(at));
        let scores: Vec<f64> = (0..6).map(|_| random.normal()).collect();
        Unknown { values: scores.clone(), scores }
    };
    let unknowns: Vec<Unknown> = (0..3).map(unknown).collect();
    let forecast = foresee(&pairs(&d), &unknowns, 0.0, &criteria()).unwrap();
    assert_eq!(forecast.parts, []);
    let without = foresee(&pairs(&d), &[], 0.0, &criteria()).unwrap();
    assert_eq!(forecast.prediction95.map(f64::to_bits), without.prediction95.map(f64::to_bits));
}

#[test]
fn swapping_the_arms_mirrors_the_forecast() {
    let (pairs, unknowns) = halves(-0.1, 0.3);
    let swapped: Vec<Pair> = pairs.iter().map(|pair| Pair::new(pair.b, pair.a)).collect();
    let one = foresee(&pairs, &unknowns, 0.05, &criteria()).unwrap();
    let other = foresee(&swapped, &unknowns, 0.05, &criteria()).unwrap();
    assert!((one.prediction95[0] * other.prediction95[1] - 1.0).abs() < 1e-9);
    assert!((one.shares.faster - other.shares.slower).abs() < 1e-9);
    assert_eq!(one.decides().map(|it| it.0), other.decides().map(|it| it.0));
}
