//! Changes of the data whose effect on the result is known without knowing the result.

use drivelab_stats::{Arm, Better, Comparison, Criteria, Pair, Verdict, WarningId, compare};
use proptest::prelude::*;

use crate::truth::drift::Drift;
use crate::truth::experiment::{Cell, RUN_SD, criteria, randomised_blocks};
use crate::truth::noise::Noise;
use crate::truth::random::Random;

fn judge(pairs: &[Pair]) -> Comparison {
    compare(pairs, &criteria()).expect("positive values")
}

fn mirrored(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Faster => Verdict::Slower,
        Verdict::Slower => Verdict::Faster,
        other => other,
    }
}

fn swapped(pair: &Pair) -> Pair {
    let first = pair.first.map(|arm| if arm == Arm::A { Arm::B } else { Arm::A });
    Pair { a: pair.b, b: pair.a, first }
}

/// Reciprocals of floating-point numbers carry rounding: 1 / (1 / x) is not always x.
#[track_caller]
fn same_ratio(a: f64, b: f64) {
    assert!((a / b - 1.0).abs() < 1e-14, "{a} is not {b}");
}

#[track_caller]
fn reciprocal_limits(a: Option<[f64; 2]>, b: Option<[f64; 2]>) {
    assert_eq!(a.is_some(), b.is_some());
    if let (Some([lo, hi]), Some([mirror_lo, mirror_hi])) = (a, b) {
        same_ratio(lo, 1.0 / mirror_hi);
        same_ratio(hi, 1.0 / mirror_lo);
    }
}

/// Says that `b` is `a` seen from the other arm.
#[track_caller]
fn check_mirrored(a: &Comparison, b: &Comparison) {
    assert_eq!(b.verdict, mirrored(a.verdict));
    assert_eq!((a.n, a.runs_needed), (b.n, b.runs_needed));
    assert_eq!(a.p.to_bits(), b.p.to_bits());
    assert_eq!(a.sd_log.map(f64::to_bits), b.sd_log.map(f64::to_bits));
    same_ratio(a.ratio, 1.0 / b.ratio);
    same_ratio(a.hl_ratio, 1.0 / b.hl_ratio);
    reciprocal_limits(a.ci95, b.ci95);
    reciprocal_limits(a.tost_ci90, b.tost_ci90);
    reciprocal_limits(a.hl_ci95, b.hl_ci95);
    assert_eq!(a.warnings, b.warnings);
}

/// Experiments from clear to hopeless, in every shape of noise.
fn experiments() -> impl Iterator<Item = Vec<Pair>> {
    let mut random = Random::new(99);
    let sizes = [1, 2, 5, 6, 9, 16, 17, 30];
    let effects = [-0.1, -0.04, 0.0, 0.01, 0.2];
    let cells = Noise::ALL.into_iter().flat_map(move |noise| {
        sizes.into_iter().flat_map(move |blocks| {
            let cell = move |effect| Cell {
                effect,
                noise,
                drift: Drift::None,
                unequal: true,
                blocks,
                run_sd: RUN_SD,
            };
            effects.into_iter().map(cell)
        })
    });
    cells.map(move |cell| cell.experiment(randomised_blocks, &mut random))
}

#[test]
fn swapped_arms_give_the_mirror_image() {
    for pairs in experiments() {
        let mirror: Vec<Pair> = pairs.iter().map(swapped).collect();
        check_mirrored(&judge(&pairs), &judge(&mirror));
    }
}

#[test]
fn less_is_better_gives_the_mirror_image_of_more_is_better() {
    for pairs in experiments() {
        let less = Criteria { better: Better::Less, ..criteria() };
        check_mirrored(&judge(&pairs), &compare(&pairs, &less).unwrap());
    }
}

#[test]
fn reordered_blocks_give_the_same_bytes() {
    let mut random = Random::new(5);
    for pairs in experiments() {
        let mut shuffled = pairs.clone();
        random.shuffle(&mut shuffled);
        let (mut a, mut b) = (judge(&pairs), judge(&shuffled));
        // The order test sums two halves apart, in the order given: its last digits may move.
        a.order = None;
        b.order = None;
        assert_eq!(serde_json::to_string(&a).unwrap(), serde_json::to_string(&b).unwrap());
    }
}

/// Says whether values are fine or varied enough for copies to be told from ties.
fn shows_copies(pairs: &[Pair]) -> bool {
    let distinct = |key: fn(&Pair) -> (u64, u64)| {
        pairs.iter().map(key).collect::<std::collections::BTreeSet<_>>().len()
    };
    let both = distinct(|p| (p.a.to_bits(), p.b.to_bits()));
    let fine = [distinct(|p| (p.a.to_bits(), 0)), distinct(|p| (0, p.b.to_bits()))];
    both >= 6 || fine == [pairs.len(); 2]
}

#[test]
fn copied_blocks_do_not_shrink_the_interval() {
    for pairs in experiments().filter(|pairs| pairs.len() > 2 && shows_copies(pairs)) {
        let single = judge(&pairs);
        for copies in 2..4 {
            let result = judge(&pairs.repeat(copies));
            assert_eq!((result.n, result.ci95), (single.n, single.ci95));
            assert_eq!((result.verdict, result.p), (single.verdict, single.p));
            assert!(result.warnings.iter().any(|w| w.id == WarningId::DuplicateBlocks));
        }
    }
}

#[test]
fn some_copied_blocks_are_found_among_fine_values() {
    let cell = Cell {
        effect: 0.0,
        noise: Noise::Normal,
        drift: Drift::None,
        unequal: false,
        blocks: 8,
        run_sd: RUN_SD,
    };
    let pairs = cell.experiment(randomised_blocks, &mut Random::new(3));
    let mut padded = pairs.clone();
    padded.extend([pairs[0], pairs[3], pairs[3]]);
    let result = judge(&padded);
    assert_eq!((result.n, result.ci95), (8, judge(&pairs).ci95));
    let advice = &result.warnings[0];
    assert_eq!(advice.id, WarningId::DuplicateBlocks);
    assert!(advice.advice.starts_with("3 of 11 blocks"), "{advice}");
}

#[test]
fn coarse_values_are_not_taken_for_copies() {
    // Two levels in even numbers: an honest coarse metric.
    let levels =
        [(10.0, 20.0), (10.0, 22.0), (10.0, 20.0), (10.0, 20.0), (10.0, 22.0), (10.0, 20.0)];
    assert_eq!(judge(&levels.map(|(a, b)| Pair::new(a, b))).n, 6);
    // Counted in steps of ten: values repeat singly, so a repeated pair is no copy.
    let pairs = [
        (100.0, 110.0),
        (100.0, 120.0),
        (110.0, 110.0),
        (100.0, 110.0),
        (90.0, 110.0),
        (100.0, 100.0),
        (110.0, 120.0),
    ];
    let pairs = pairs.map(|(a, b)| Pair::new(a, b));
    let result = judge(&pairs);
    assert_eq!(result.n, 7);
    assert!(result.warnings.iter().all(|w| w.id != WarningId::DuplicateBlocks));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// A unit is a factor of both arms; a power of two changes nothing but the exponent.
    #[test]
    fn another_unit_changes_nothing(
        values in prop::collection::vec((1.0..1e6_f64, 1.0..1e6_f64), 1..30),
        factor in 1e-6..1e6_f64,
    ) {
        let pairs: Vec<Pair> = values.iter().map(|&(a, b)| Pair::new(a, b)).collect();
        let scaled: Vec<Pair> =
            values.iter().map(|&(a, b)| Pair::new(factor * a, factor * b)).collect();
        let (plain, scaled) = (judge(&pairs), judge(&scaled));
        prop_assert_eq!(plain.n, scaled.n);
        prop_assert!((plain.ratio / scaled.ratio - 1.0).abs() < 1e-9);
        prop_assert!((plain.p - scaled.p).abs() < 1e-9);
        prop_assert_eq!(plain.verdict, scaled.verdict);
    }

    /// Whatever positive numbers come in, finite numbers in order come out.
    #[test]
    fn results_are_finite_and_in_order(
        values in prop::collection::vec((any::<f64>(), any::<f64>()), 1..12),
        margin in 1e-6..1.0_f64,
    ) {
        let positive = |v: f64| if v.is_finite() && v != 0.0 { v.abs() } else { 1.0 };
        let pairs: Vec<Pair> =
            values.iter().map(|&(a, b)| Pair::new(positive(a), positive(b))).collect();
        let result = compare(&pairs, &Criteria::new(margin, Better::More, 1).unwrap()).unwrap();
        prop_assert!(result.ratio.is_finite() && result.hl_ratio.is_finite());
        prop_assert!((0.0..=1.0).contains(&result.p));
        for [lo, hi] in [result.ci95, result.tost_ci90, result.hl_ci95].into_iter().flatten() {
            prop_assert!(lo.is_finite() && hi.is_finite() && 0.0 < lo && lo <= hi);
        }
        let text = serde_json::to_string(&result).unwrap();
        let back: Comparison = serde_json::from_str(&text).unwrap();
        prop_assert_eq!((back.n, back.verdict, back.warnings), (result.n, result.verdict, result.warnings));
    }
}
