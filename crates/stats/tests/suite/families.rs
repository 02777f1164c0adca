//! Many comparisons at once.

use drivelab_stats::{
    Adjustment, Member, Pair, Role, Verdict, WarningId, compare_family, max_t, sign_flip,
};

use crate::truth::experiment::criteria;
use crate::truth::family::{self, Metrics};
use crate::truth::random::Random;

#[test]
fn holm_and_max_t_keep_the_family_error() {
    for adjust in [family::holm, family::max_t] {
        let share = family::any_false_alarm(600, adjust);
        // 5 % and three standard errors.
        assert!(share <= 5.0 + 2.7, "{share} % of families");
    }
}

#[test]
fn max_t_of_one_metric_is_the_sign_flip_test() {
    let mut random = Random::new(2);
    for blocks in [3, 8, 16, 25] {
        let d: Vec<f64> = (0..blocks).map(|_| 0.3 + random.normal()).collect();
        let (alone, family) = (sign_flip::p_value(&d, 9), max_t(&[d], 9));
        assert!((alone - family[0]).abs() < 1e-12, "{alone} and {family:?}");
    }
}

#[test]
fn max_t_counts_copies_of_a_metric_once() {
    let mut random = Random::new(8);
    let d: Vec<f64> = (0..10).map(|_| 0.8 + random.normal()).collect();
    let alone = sign_flip::p_value(&d, 1);
    for p in max_t(&vec![d; 12], 1) {
        assert!((p - alone).abs() < 1e-12, "{p} instead of {alone}");
    }
}

#[test]
fn max_t_by_hand() {
    // Two blocks, so flips (++, +-): sums of the scaled rows are sqrt(2), 0 and 1/sqrt(5), 3/sqrt(5).
    let adjusted = max_t(&[vec![1.0, 1.0], vec![1.0, -2.0]], 1);
    assert_eq!(adjusted, [0.5, 1.0]);
    assert_eq!(max_t(&[vec![0.0, 0.0]], 1), [1.0]);
    assert_eq!(max_t(&[], 1), [0.0; 0]);
}

/// A member whose log ratios are `effect` plus noise.
fn member(role: Role, effect: f64, sd: f64, blocks: usize, random: &mut Random) -> Member {
    let mut pair = || {
        let base = 1000.0 * libm::exp(0.1 * random.normal());
        Pair::new(base, base * libm::exp(effect + sd * random.normal()))
    };
    let pairs = (0..blocks).map(|_| pair()).collect();
    Member { role, pairs, criteria: criteria() }
}

#[test]
fn the_gate_stands_alone_and_the_rest_share_the_error() {
    let mut random = Random::new(4);
    let mut members = vec![member(Role::Gate, 0.10, 0.01, 10, &mut random)];
    members.extend((0..6).map(|_| member(Role::Other, 0.0, 0.01, 10, &mut random)));
    let family = compare_family(&members).unwrap();
    let gate = &family.members[0];
    assert_eq!((gate.adjustment, gate.comparison.verdict), (Adjustment::None, Verdict::Faster));
    assert_eq!(gate.p_adjusted.to_bits(), gate.comparison.p.to_bits());
    for other in &family.members[1..] {
        assert_eq!(other.adjustment, Adjustment::MaxT);
        assert!(other.p_adjusted >= other.comparison.p);
    }
    assert!(!family.all_equivalent);
}

#[test]
fn a_difference_that_chance_explains_is_withdrawn() {
    // One slight difference among many without: significant alone, not in the family.
    let mut random = Random::new(1);
    let mut members = vec![member(Role::Other, 0.045, 0.045, 10, &mut random)];
    members.extend((0..30).map(|_| member(Role::Other, 0.0, 0.05, 10, &mut random)));
    let alone = compare_family(&members[..1]).unwrap().members[0].comparison.clone();
    assert_eq!(alone.verdict, Verdict::Different);
    let family = compare_family(&members).unwrap();
    let withdrawn = &family.members[0].comparison;
    assert_eq!(withdrawn.verdict, Verdict::Inconclusive);
    assert!(withdrawn.runs_needed.is_some());
    assert_eq!(withdrawn.warnings.last().unwrap().id, WarningId::Multiplicity);
    assert_eq!(withdrawn.ci95, alone.ci95);
}

#[test]
fn adjustment_never_helps() {
    // Above 16 blocks both p values are sampled, and chance must not turn them round.
    let mut random = Random::new(2);
    for _ in 0..10 {
        let members = [0.3, 0.2].map(|e| member(Role::Gate, 0.1 * e, 0.05, 20, &mut random));
        for adjusted in compare_family(&members).unwrap().members {
            assert!(adjusted.p_adjusted >= adjusted.comparison.p, "{adjusted:?}");
        }
    }
}

#[test]
fn members_with_other_blocks_are_adjusted_by_holm() {
    let mut random = Random::new(6);
    let members = [10, 12].map(|n| member(Role::Gate, 0.2, 0.01, n, &mut random));
    for adjusted in compare_family(&members).unwrap().members {
        assert_eq!(adjusted.adjustment, Adjustment::Holm);
        assert_eq!(adjusted.comparison.verdict, Verdict::Faster);
    }
}

#[test]
fn equivalence_of_a_family_needs_all() {
    let mut random = Random::new(6);
    let mut members: Vec<Member> =
        (0..3).map(|_| member(Role::Other, 0.0, 0.005, 10, &mut random)).collect();
    assert!(compare_family(&members).unwrap().all_equivalent);
    members.push(member(Role::Other, 0.1, 0.005, 10, &mut random));
    assert!(!compare_family(&members).unwrap().all_equivalent);
    assert!(!compare_family(&[]).unwrap().all_equivalent);
}

#[test]
fn the_failing_member_is_named() {
    let mut random = Random::new(6);
    let mut members = [0, 1].map(|_| member(Role::Other, 0.0, 0.1, 6, &mut random));
    members[1].pairs[2].b = 0.0;
    let error = compare_family(&members).unwrap_err();
    assert_eq!(error.index, 1);
    assert!(error.source.to_string().starts_with("block 2, arm B: the value 0 "), "{error:?}");
}

/// As many metrics as `ahci-or-ide` compares besides the gate.
const MANY: Metrics =
    Metrics { count: 98, blocks: 10, truth: 0.0, correlation: 0.0, sd: 0.01, more_blocks: 0 };
const FAMILIES: u32 = 100;
/// 5 % and three standard errors.
const LIMIT: f64 = 5.0 + 6.5;

#[test]
fn no_metric_of_a_family_at_the_margin_is_called_faster() {
    let truth = criteria().bound();
    for (seed, correlation) in (1..).zip([0.0, 0.5, 0.9]) {
        let rates = Metrics { truth, correlation, ..MANY }.measure(FAMILIES, seed);
        assert!(rates.faster <= LIMIT, "correlation {correlation}: {rates:?}");
        assert!(rates.equivalent <= LIMIT, "correlation {correlation}: {rates:?}");
        assert!(rates.missed <= LIMIT, "correlation {correlation}: {rates:?}");
    }
}

#[test]
fn no_metric_of_a_family_without_effect_is_called_different() {
    for (seed, correlation) in (1..).zip([0.0, 0.9]) {
        let rates = Metrics { correlation, ..MANY }.measure(FAMILIES, seed);
        assert!(rates.difference <= LIMIT, "correlation {correlation}: {rates:?}");
    }
}

#[test]
fn metrics_with_other_blocks_keep_the_family_error_too() {
    let truth = criteria().bound();
    let rates = Metrics { truth, more_blocks: 3, ..MANY }.measure(FAMILIES, 5);
    assert!(rates.faster <= LIMIT && rates.equivalent <= LIMIT, "{rates:?}");
}

/// Six blocks of three metrics: one fine, one in coarse steps, one that never varies.
fn three_metrics() -> Vec<Member> {
    let fine = [101.37, 99.82, 100.51, 100.07, 98.93, 100.76];
    let coarse = [10.0, 11.0, 10.0, 10.0, 11.0, 10.0];
    let member = |role, pairs: Vec<Pair>| Member { role, pairs, criteria: criteria() };
    vec![
        member(Role::Other, fine.map(|v| Pair::new(100.0 + 0.01 * v, 1.5 * v)).to_vec()),
        member(Role::Other, coarse.map(|v| Pair::new(v, 2.0 * v)).to_vec()),
        member(Role::Other, vec![Pair::new(99.0, 99.0); 6]),
    ]
}

#[test]
fn a_metric_that_never_varies_does_not_make_copies_of_runs() {
    let family = compare_family(&three_metrics()).unwrap();
    for adjusted in &family.members {
        assert_eq!((adjusted.comparison.n, adjusted.adjustment), (6, Adjustment::MaxT));
    }
    assert_eq!(family.members[2].comparison.verdict, Verdict::NoPracticalDifference);
}

#[test]
fn a_run_is_a_copy_if_all_its_metrics_are() {
    let single = compare_family(&three_metrics()).unwrap();
    let mut copied = three_metrics();
    for member in &mut copied {
        member.pairs = member.pairs.repeat(3);
    }
    let family = compare_family(&copied).unwrap();
    for (one, three) in single.members.iter().zip(&family.members) {
        let (one, three) = (&one.comparison, &three.comparison);
        assert_eq!((one.n, one.ci95, one.verdict), (three.n, three.ci95, three.verdict));
        assert!(three.warnings.iter().any(|w| w.id == WarningId::DuplicateBlocks));
    }
    for member in &mut copied {
        member.pairs = vec![member.pairs[0]; 6];
    }
    let family = compare_family(&copied).unwrap();
    assert!(family.members.iter().all(|it| it.comparison.n == 1));
}
