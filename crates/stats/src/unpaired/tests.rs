//! Known answers, symmetry, and how often it is wrong.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::Better;

fn member(a: &[f64], b: &[f64], better: Better) -> UnpairedMember {
    let criteria = Criteria::new(0.03, better, 1).unwrap();
    let groups = Groups { a: a.to_vec(), b: b.to_vec() };
    UnpairedMember { role: Role::Gate, groups, criteria }
}

fn one(a: &[f64], b: &[f64], better: Better) -> Comparison {
    compare_unpaired(&[member(a, b, better)]).members.remove(0).comparison
}

const SLOW: [f64; 6] = [75.1, 74.2, 75.9, 74.8, 75.3, 75.0];
const FAST: [f64; 7] = [151.0, 149.3, 150.2, 152.6, 148.8, 150.9, 150.1];

#[test]
fn welch_of_two_groups() {
    let result = one(&SLOW, &FAST, Better::More);
    assert_eq!((result.verdict, result.n), (Verdict::Faster, 6));
    assert!((result.ratio - 2.004_175_375_6).abs() < 1e-9, "{}", result.ratio);
    // The difference of the logarithms is 0.695233, its error 0.00437326 with 10.952 degrees of
    // freedom, of which Student's 97.5 % quantile is 2.2021.
    let [lo, hi] = result.ci95.unwrap();
    assert!((libm::log(lo) - 0.685_603).abs() < 1e-5 && (libm::log(hi) - 0.704_863).abs() < 1e-5);
    assert!((result.p - 1.0 / 1716.0).abs() < 1e-9, "{}", result.p);
    assert_eq!(result.warnings.len(), 1);
    assert_eq!(result.warnings[0].id, WarningId::Unpaired);
}

#[test]
fn arms_and_directions_mirror_one_another() {
    let check = |a: &[f64], b: &[f64], better, expected| {
        assert_eq!(one(a, b, better).verdict, expected);
    };
    check(&FAST, &SLOW, Better::More, Verdict::Slower);
    check(&SLOW, &FAST, Better::Less, Verdict::Slower);
    check(&FAST, &SLOW, Better::Less, Verdict::Faster);
    let reversed: Vec<f64> = FAST.iter().rev().copied().collect();
    assert_eq!(one(&SLOW, &FAST, Better::More), one(&SLOW, &reversed, Better::More));
}

#[test]
fn few_runs_and_runs_without_variation_claim_nothing() {
    let check = |a: &[f64], b: &[f64], expected| {
        let result = one(a, b, Better::More);
        assert_eq!(result.verdict, Verdict::Inconclusive);
        assert_eq!(result.warnings[1].id, expected);
    };
    check(&SLOW[..3], &FAST[..3], WarningId::FewBlocks);
    check(&[75.0], &[150.0], WarningId::FewBlocks);
    check(&[75.0; 6], &FAST, WarningId::NoVariation);
}

#[test]
fn equal_groups_with_enough_runs_show_no_practical_difference() {
    let groups = |shift: f64| -> Vec<f64> {
        (0..20).map(|i| 100.0 + shift + f64::from(i % 5) * 0.3).collect()
    };
    let result = one(&groups(0.0), &groups(0.1), Better::More);
    assert_eq!(result.verdict, Verdict::NoPracticalDifference);
}

#[test]
fn many_metrics_are_adjusted_for_one_another() {
    let close: Vec<f64> = SLOW.iter().map(|value| value * 1.025).collect();
    let alone = one(&SLOW, &close, Better::More);
    assert_eq!(alone.verdict, Verdict::Different);
    let member = UnpairedMember { role: Role::Other, ..member(&SLOW, &close, Better::More) };
    let many = compare_unpaired(&vec![member; 40]);
    assert!(many.members.iter().all(|it| it.comparison.verdict == Verdict::Inconclusive));
    let wider = |it: &Adjusted| it.ci95_family.unwrap()[0] < it.comparison.ci95.unwrap()[0];
    assert!(many.members.iter().all(wider));
}

/// Normal noise with unequal spreads and numbers, the case that a pooled test gets wrong.
#[test]
fn arms_of_one_level_are_rarely_called_different() {
    let seed = 20_261_123;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut uniform =
        || f64::from(u32::try_from(random.next_u64() >> 32).unwrap()) / 4_294_967_296.0;
    let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let mut draw =
        |n: usize, sd: f64| -> Vec<f64> { (0..n).map(|_| libm::exp(sd * normal())).collect() };
    let (trials, mut wrong, mut covered) = (600, 0, 0);
    for _ in 0..trials {
        let result = one(&draw(5, 0.08), &draw(10, 0.02), Better::More);
        let claims = [Verdict::Faster, Verdict::Slower, Verdict::Different];
        wrong += u32::from(claims.contains(&result.verdict));
        let [lo, hi] = result.ci95.unwrap();
        covered += u32::from(lo <= 1.0 && 1.0 <= hi);
    }
    // At 5 % each: 600 trials leave 1.8 points of chance (two standard errors).
    assert!(wrong <= 41, "seed {seed}: {wrong} of {trials} say different");
    assert!(covered >= 559, "seed {seed}: {covered} of {trials} cover");
}

/// The differences between all pairs of them would take seven gigabytes.
#[test]
fn many_runs_take_memory_for_each_and_not_for_each_pair() {
    let runs = |level: f64| -> Vec<f64> {
        (0..30_000_u32).map(|at| level + f64::from(at * 7919 % 30_000) / 3e4).collect()
    };
    let result = one(&runs(100.0), &runs(110.0), Better::More);
    assert_eq!((result.verdict, result.n), (Verdict::Faster, 30_000));
    let [lo, hi] = result.hl_ci95.unwrap();
    assert!(1.09 < lo && lo < result.hl_ratio && result.hl_ratio < hi && hi < 1.11);
    let equal = one(&runs(100.0), &runs(100.0), Better::More);
    assert_eq!((equal.verdict, equal.p), (Verdict::NoPracticalDifference, 1.0));
}
