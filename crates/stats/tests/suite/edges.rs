//! Few, equal, absurd and unusable values.

use drivelab_stats::{
    Arm, Better, CompareError, Comparison, Criteria, CriteriaError, NotPositive, Pair, Provenance,
    Verdict, Warning, WarningId, compare, quantile_reportable,
};

use crate::truth::experiment::criteria;

fn pairs(values: &[(f64, f64)]) -> Vec<Pair> {
    values.iter().map(|&(a, b)| Pair::new(a, b)).collect()
}

fn judge(pairs: &[Pair]) -> Comparison {
    compare(pairs, &criteria()).expect("positive values")
}

fn ids(result: &Comparison) -> Vec<WarningId> {
    result.warnings.iter().map(|w| w.id).collect()
}

#[test]
fn no_blocks_is_an_error() {
    assert_eq!(compare(&[], &criteria()), Err(CompareError::NoBlocks));
}

#[test]
fn more_blocks_than_runs_anyone_makes_is_an_error() {
    let many = vec![Pair::new(1.0, 1.0); 100_001];
    assert_eq!(compare(&many, &criteria()), Err(CompareError::TooManyBlocks(100_001)));
}

#[test]
fn one_block_says_nothing() {
    let result = judge(&pairs(&[(75.0, 150.0)]));
    assert_eq!(result.verdict, Verdict::Inconclusive);
    assert_eq!((result.ci95, result.hl_ci95, result.tost_ci90), (None, None, None));
    assert!((result.ratio - 2.0).abs() < 1e-12 && result.p >= 1.0);
    assert_eq!(result.runs_needed, Some(6));
    assert_eq!(ids(&result), [WarningId::FewBlocks]);
}

#[test]
fn two_to_five_blocks_are_inconclusive_however_clear() {
    let clear = [(75.0, 150.1), (75.3, 150.2), (75.1, 149.9), (74.9, 150.3), (75.2, 149.7)];
    for n in 2..=5 {
        let result = judge(&pairs(&clear[..n]));
        assert_eq!(result.verdict, Verdict::Inconclusive, "{n} blocks");
        assert!(result.ci95.is_some() && result.hl_ci95.is_none());
        assert_eq!(result.runs_needed, Some(6));
        assert_eq!(ids(&result), [WarningId::FewBlocks]);
    }
}

#[test]
fn a_stricter_level_takes_more_blocks() {
    let strict = criteria().with_alpha(0.01).unwrap();
    let clear: Vec<Pair> = (0..8).map(|i| Pair::new(100.0, 150.0 + f64::from(i * i % 5))).collect();
    let seven = compare(&clear[..7], &strict).unwrap();
    assert_eq!((seven.verdict, seven.runs_needed), (Verdict::Inconclusive, Some(8)));
    assert!(seven.warnings[0].advice.starts_with("n = 7, but at least 8 blocks"), "{seven:?}");
    assert_eq!(compare(&clear, &strict).unwrap().verdict, Verdict::Faster);
}

#[test]
fn few_noisy_blocks_need_more_than_the_minimum() {
    let result = judge(&pairs(&[(100.0, 110.0), (100.5, 90.0), (99.0, 105.0)]));
    assert!(result.runs_needed.unwrap() > 100, "{:?}", result.runs_needed);
}

#[test]
fn one_run_copied_is_one_run() {
    for n in [2, 6, 20] {
        let result = judge(&vec![Pair::new(100.25, 150.5); n]);
        assert_eq!((result.n, result.verdict), (1, Verdict::Inconclusive), "{n} copies");
        assert_eq!((result.ci95, result.runs_needed), (None, Some(6)));
        assert_eq!(ids(&result), [WarningId::FewBlocks, WarningId::DuplicateBlocks]);
    }
}

/// Runs that the caller made, and knows to be separate ones, may be equal.
#[track_caller]
fn check_constant(a: f64, b: f64, expected: Verdict) {
    let own = criteria().with_provenance(drivelab_stats::Provenance::OwnRuns);
    let result = compare(&[Pair::new(a, b); 8], &own).expect("positive values");
    assert_eq!(result.verdict, expected);
    assert_eq!(result.n, 8);
    assert_eq!(ids(&result), [WarningId::NoVariation]);
    let [lo, hi] = result.ci95.expect("eight blocks");
    assert_eq!((lo.to_bits(), hi.to_bits()), (result.ratio.to_bits(), result.ratio.to_bits()));
    assert_eq!(result.hl_ci95, result.ci95);
}

#[test]
fn runs_without_variation_are_judged_by_their_value() {
    check_constant(100.0, 100.0, Verdict::NoPracticalDifference);
    check_constant(100.0, 101.0, Verdict::NoPracticalDifference);
    check_constant(100.0, 150.0, Verdict::Faster);
    check_constant(100.0, 60.0, Verdict::Slower);
}

#[test]
fn variation_by_rounding_alone_is_none() {
    let scaled: Vec<Pair> =
        (1..9).map(|i| 0.1 * f64::from(i)).map(|s| Pair::new(3.0 * s, 4.2 * s)).collect();
    let result = judge(&scaled);
    assert_eq!((result.verdict, result.sd_log), (Verdict::Faster, Some(0.0)));
    assert_eq!(ids(&result), [WarningId::NoVariation]);
}

#[test]
fn equal_arms_have_no_evidence_against_them() {
    let result =
        judge(&pairs(&[(3.0, 3.0), (5.0, 5.0), (7.0, 7.0), (2.0, 2.0), (9.0, 9.0), (4.0, 4.0)]));
    assert_eq!(result.verdict, Verdict::NoPracticalDifference);
    assert!(result.p >= 1.0 && result.runs_needed.is_none());
}

#[test]
fn coarse_values_are_remarked_on() {
    let result = judge(&pairs(&[
        (100.0, 100.0),
        (100.0, 101.0),
        (101.0, 101.0),
        (100.0, 100.0),
        (101.0, 100.0),
        (100.0, 100.0),
        (101.0, 101.0),
        (100.0, 101.0),
    ]));
    assert_eq!(result.verdict, Verdict::NoPracticalDifference);
    assert_eq!(ids(&result), [WarningId::TiedValues]);
}

#[test]
fn one_outlier_leads_to_no_claim() {
    // Hodges-Lehmann says 10 % faster; the mean cannot, because of the one failed block.
    let mut values: Vec<(f64, f64)> =
        (0..11).map(|i| (100.0, 110.0 + 0.1 * f64::from(i))).collect();
    values.push((100.0, 20.0));
    let result = judge(&pairs(&values));
    assert!(result.hl_ci95.unwrap()[0] > 1.03, "{:?}", result.hl_ci95);
    assert_eq!(result.verdict, Verdict::Inconclusive);
    assert!(ids(&result).contains(&WarningId::Skew));
    assert!(result.runs_needed.is_some());
}

#[test]
fn no_difference_is_claimed_against_the_permutation_test() {
    // Both intervals exclude 1 (paired t: p = 0.047), the sign flips give 26/512 (SciPy).
    let percent = [0.9, -1.0, 1.5, -0.6, 1.1, 3.3, 1.4, 0.7, 1.6];
    let blocks = percent.map(|d| Pair::new(100.0, 100.0 * libm::exp(d / 100.0)));
    let result = compare(&blocks, &Criteria { margin: 0.001, ..criteria() }).unwrap();
    assert!(result.ci95.unwrap()[0] > 1.0 && result.hl_ci95.unwrap()[0] > 1.0);
    assert!((result.p - 26.0 / 512.0).abs() < 1e-12, "p = {}", result.p);
    assert_eq!((result.verdict, ids(&result)), (Verdict::Inconclusive, vec![WarningId::Skew]));
}

#[test]
fn a_sampled_p_value_is_never_zero() {
    let clear: Vec<Pair> = (0..30).map(|i| Pair::new(100.0, 200.0 + f64::from(i))).collect();
    assert!((judge(&clear).p - 1.0 / 20_001.0).abs() < 1e-12);
}

#[test]
fn values_without_logarithm_are_named() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, -0.0] {
        let mut blocks = pairs(&[(1.0, 1.0); 6]);
        blocks[4].a = bad;
        let Err(CompareError::NotPositive(NotPositive { block, arm, value })) =
            compare(&blocks, &criteria())
        else {
            panic!("{bad} was accepted")
        };
        assert_eq!((block, arm, value.to_bits()), (4, Arm::A, bad.to_bits()));
    }
}

#[test]
fn criteria_out_of_range_are_refused() {
    for margin in [0.0, -0.03, 1.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(Criteria::new(margin, Better::More, 1), Err(CriteriaError::Margin(_))));
    }
    for alpha in [0.0, 0.5, f64::NAN] {
        assert!(matches!(criteria().with_alpha(alpha), Err(CriteriaError::Alpha(_))));
    }
    let broken = Criteria { margin: f64::NAN, ..criteria() };
    assert!(matches!(compare(&pairs(&[(1.0, 1.0)]), &broken), Err(CompareError::Criteria(_))));
}

/// Eight blocks, the arms alternately first; B gains `carried` when A has just run.
fn carried_over(effect: f64, carried: f64) -> Vec<Pair> {
    let noise = [0.3, -0.2, 0.1, 0.4, -0.5, -0.1, 0.2, -0.3];
    let block = |(i, noise): (usize, f64)| {
        let a_first = i % 2 == 0;
        let gain = effect + if a_first { carried } else { 0.0 };
        let pair = Pair::new(100.0, (100.0 + noise) * (1.0 + gain));
        pair.with_first(if a_first { Arm::A } else { Arm::B })
    };
    noise.into_iter().enumerate().map(block).collect()
}

#[test]
fn carry_over_withholds_the_verdict() {
    let result = judge(&carried_over(0.10, 0.05));
    assert_eq!(result.verdict, Verdict::Inconclusive);
    assert_eq!(ids(&result), [WarningId::CarryOver]);
    let order = result.order.unwrap();
    assert_eq!((order.a_first, order.b_first), (4, 4));
    assert!((order.ratio - 1.15 / 1.10).abs() < 0.01 && order.p < 0.001, "{order:?}");
    assert!((order.bias_max * order.bias_max - order.ratio).abs() < 1e-9);
}

#[test]
fn an_order_effect_by_chance_spares_a_verdict_it_cannot_change() {
    // Significant at 5 %, not at 1 %, and larger than tolerable: 10 % faster stays, equality not.
    let noise = [1.9, -0.8, 2.1, 0.9, 0.1, -1.9, 0.8, -0.3, 1.2, -2.0];
    let blocks = |effect: f64| -> Vec<Pair> {
        let pair = |(i, n): (usize, f64)| {
            let first = if i % 2 == 0 { Arm::A } else { Arm::B };
            Pair::new(100.0 - 0.5 * n, (100.0 + 0.5 * n) * effect).with_first(first)
        };
        noise.into_iter().enumerate().map(pair).collect()
    };
    let clear = judge(&blocks(1.10));
    let p = clear.order.as_ref().unwrap().p;
    assert!(p > 0.01 && p < 0.05, "p = {p}");
    assert_eq!((clear.verdict, ids(&clear)), (Verdict::Faster, vec![WarningId::OrderEffect]));
    let close = judge(&blocks(1.04));
    assert_eq!((close.verdict, ids(&close)), (Verdict::Inconclusive, vec![WarningId::CarryOver]));
    assert_eq!(close.runs_needed, drivelab_stats::runs_needed(close.sd_log.unwrap(), &criteria()));
}

#[test]
fn a_trace_of_carry_over_is_only_remarked_on() {
    let result = judge(&carried_over(0.10, 0.012));
    assert_eq!(result.verdict, Verdict::Faster);
    assert_eq!(ids(&result), [WarningId::OrderEffect]);
}

#[test]
fn no_carry_over_no_remark() {
    let small = judge(&carried_over(0.10, 0.0001));
    assert_eq!((small.verdict, ids(&small)), (Verdict::Faster, vec![]));
    let result = judge(&carried_over(0.10, 0.0));
    assert_eq!((result.verdict, ids(&result)), (Verdict::Faster, vec![]));
}

#[test]
fn one_order_throughout_is_remarked_on() {
    let blocks: Vec<Pair> =
        carried_over(0.10, 0.0).into_iter().map(|p| p.with_first(Arm::A)).collect();
    let result = judge(&blocks);
    assert_eq!((result.order.clone(), ids(&result)), (None, vec![WarningId::OrderConfounded]));
    let mut uneven = blocks;
    for pair in &mut uneven[..2] {
        pair.first = Some(Arm::B);
    }
    assert_eq!(ids(&judge(&uneven)), [WarningId::OrderUnbalanced]);
}

#[test]
fn different_spread_is_remarked_on() {
    let spread = |i: i32| f64::from(i * 7 % 20 - 10);
    let blocks: Vec<Pair> = (0..20)
        .map(|i| {
            Pair::new(1000.0 + 0.1 * spread(3 * i), 1000.0 + 20.0 * spread(i) + 0.01 * f64::from(i))
        })
        .collect();
    assert!(ids(&judge(&blocks)).contains(&WarningId::ShapeDiffers));
}

#[test]
fn warnings_are_strings_in_json() {
    let result = judge(&pairs(&[(1.0, 2.0)]));
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["verdict"], "inconclusive");
    let text = json["warnings"][0].as_str().unwrap();
    assert!(text.starts_with("few-blocks: n = 1, but at least 6 blocks"), "{text}");
    assert_eq!(serde_json::from_value::<Comparison>(json.clone()).unwrap(), result);
    for id in WarningId::ALL {
        let text = format!("\"{}: advice: more\"", id.as_str());
        let warning: Warning = serde_json::from_str(&text).unwrap();
        assert_eq!((warning.id, warning.to_string()), (*id, "advice: more".to_owned()));
    }
    let unknown = serde_json::from_str::<Warning>("\"no-such-id: advice\"").unwrap_err();
    assert!(unknown.to_string().contains("no-such-id"), "{unknown}");
}

#[test]
fn verdicts_are_kebab_case_in_json() {
    let words = [
        (Verdict::Faster, "faster"),
        (Verdict::Slower, "slower"),
        (Verdict::Different, "different"),
        (Verdict::NoPracticalDifference, "no-practical-difference"),
        (Verdict::Inconclusive, "inconclusive"),
    ];
    for (verdict, word) in words {
        assert_eq!(serde_json::to_value(verdict).unwrap(), word);
    }
}

#[test]
fn quantiles_need_requests_beyond_them() {
    for (q, least) in [(0.5, 200), (0.99, 10_000), (0.999, 100_000), (0.9999, 1_000_000)] {
        assert!(quantile_reportable(q, least), "{q} at {least}");
        assert!(!quantile_reportable(q, least - 1), "{q} at {}", least - 1);
    }
    assert!(!quantile_reportable(1.0, u64::MAX) && !quantile_reportable(f64::NAN, u64::MAX));
}

#[test]
fn own_runs_that_repeat_are_ties_and_count() {
    let mut values: Vec<(f64, f64)> =
        (0..9).map(|i| (100.0 + f64::from(i), 110.0 + f64::from(i))).collect();
    values.push(values[0]);
    let n = |provenance| {
        let criteria = criteria().with_provenance(provenance);
        let result = compare(&pairs(&values), &criteria).unwrap();
        (result.n, ids(&result).contains(&WarningId::DuplicateBlocks))
    };
    assert_eq!(n(Provenance::Unknown), (9, true));
    assert_eq!(n(Provenance::OwnRuns), (10, false));
    assert_eq!(n(Provenance::Simulated), (10, false));
}

#[test]
fn only_a_simulation_may_show_no_variation_at_all() {
    let blocks = pairs(&[(100.0, 120.0); 8]);
    let warns = |provenance| {
        let result = compare(&blocks, &criteria().with_provenance(provenance)).unwrap();
        ids(&result).contains(&WarningId::NoVariation)
    };
    assert!(warns(Provenance::OwnRuns));
    assert!(!warns(Provenance::Simulated));
}
