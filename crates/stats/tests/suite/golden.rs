//! Reference values from `SciPy` and statsmodels; `tests/golden/make.py` says how they were made.

use drivelab_stats::distribution::{normal, signed_rank, student};
use drivelab_stats::interval::{
    Interval, RankInterval, hodges_lehmann, hodges_lehmann_interval, student_interval,
};
use drivelab_stats::kendall::Kendall;
use drivelab_stats::{Better, Criteria, Pair, Verdict, compare, holm, runs_needed, sign_flip};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/golden.json")).expect("make.py wrote it")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().expect("a list").iter().map(numbers).collect()
}

#[track_caller]
fn close(actual: f64, expected: f64, relative: f64) {
    let error = (actual - expected).abs();
    assert!(error <= relative * expected.abs().max(1e-9), "{actual} instead of {expected}");
}

#[track_caller]
fn close_limits(actual: Interval, expected: &Value) {
    let expected = numbers(expected);
    close(actual.lo, expected[0], 1e-9);
    close(actual.hi, expected[1], 1e-9);
}

#[test]
fn quantiles_of_student_and_normal() {
    let golden = golden();
    for row in rows(&golden["student_quantile"]) {
        close(student::quantile(row[0], row[1]), row[2], 1e-9);
        close(student::quantile(1.0 - row[0], row[1]), -row[2], 1e-8);
    }
    for row in rows(&golden["student_tail"]) {
        close(student::upper_tail(row[0], row[1]), row[2], 1e-9);
        close(student::cdf(row[0], row[1]), 1.0 - row[2], 1e-9);
    }
    for row in rows(&golden["normal_quantile"]) {
        close(normal::quantile(row[0]), row[1], 1e-12);
    }
}

#[test]
fn signed_rank_distribution() {
    for (n, expected) in golden()["signed_rank_cumulative"].as_object().expect("a map") {
        let actual = signed_rank::cumulative(n.parse().expect("a number of values"));
        let expected = numbers(expected);
        assert_eq!(actual.len(), expected.len());
        for (a, e) in actual.iter().zip(&expected) {
            close(*a, *e, 1e-12);
        }
    }
}

#[test]
fn intervals_and_tests_of_log_ratios() {
    let bound = libm::log1p(0.03);
    for case in golden()["cases"].as_array().expect("a list") {
        let mut d = numbers(&case["d"]);
        d.sort_by(f64::total_cmp);
        close_limits(student_interval(&d, 0.95).unwrap(), &case["ci95"]);
        let narrow = student_interval(&d, 0.90).unwrap();
        close_limits(narrow, &case["ci90"]);
        assert_eq!(narrow.is_within(bound), number(&case["tost_p"]) < 0.05, "TOST of {d:?}");
        close(hodges_lehmann(&d), number(&case["hodges_lehmann"]), 1e-12);
        check_rank(hodges_lehmann_interval(&d, 0.95), &case["rank95"]);
        check_rank(hodges_lehmann_interval(&d, 0.90), &case["rank90"]);
        if let Some(p) = case["sign_flip_p"].as_f64() {
            close(sign_flip::p_value(&d, 1), p, 1e-9);
        }
    }
}

fn check_rank(actual: Option<RankInterval>, expected: &Value) {
    let actual = actual.expect("all cases have six values or more");
    close_limits(actual.interval, &expected["limits"]);
    close(actual.confidence, number(&expected["confidence"]), 1e-12);
}

#[test]
fn random_flips_agree_with_all_flips() {
    // Above 16 values flips are sampled; SciPy's t test of the same 20 and 40 values is near.
    for case in golden()["cases"].as_array().expect("a list") {
        let d = numbers(&case["d"]);
        if d.len() > sign_flip::EXACT_MAX {
            let n = f64::from(u32::try_from(d.len()).unwrap());
            let t = number(&case["mean"]) / number(&case["sd"]) * n.sqrt();
            let p = sign_flip::p_value(&d, 1);
            assert!((p - student::two_sided(t, n - 1.0)).abs() < 0.02, "p = {p} for t = {t}");
        }
    }
}

#[test]
fn comparison_of_pairs() {
    let golden = golden();
    let case = &golden["paired"];
    let (a, b) = (numbers(&case["a"]), numbers(&case["b"]));
    let pairs: Vec<Pair> = a.into_iter().zip(b).map(|(a, b)| Pair::new(a, b)).collect();
    let result = compare(&pairs, &Criteria::new(0.03, Better::More, 1).unwrap()).unwrap();
    close(result.ratio, number(&case["ratio"]), 1e-12);
    let expected = numbers(&case["ci95"]);
    let [lo, hi] = result.ci95.unwrap();
    close(lo, expected[0], 1e-9);
    close(hi, expected[1], 1e-9);
    let agrees = if lo > 1.03 { Verdict::Faster } else { Verdict::Different };
    assert_eq!(result.verdict, agrees);
}

#[test]
fn adjusted_p_values() {
    let expected = rows(&golden()["holm"]);
    for (actual, expected) in holm(&expected[0]).iter().zip(&expected[1]) {
        close(*actual, *expected, 1e-12);
    }
}

#[test]
fn runs_needed_for_a_difference() {
    // Ours is the larger of this and the number for equivalence, which is one or two more.
    for row in rows(&golden()["difference_runs"]) {
        let criteria = Criteria::new(0.03, Better::More, 1).unwrap();
        let ours = f64::from(runs_needed(row[0], &criteria).unwrap());
        let least = row[1].max(6.0);
        assert!(ours >= least - 1.0 && ours <= 1.2 * least + 2.0, "{ours} instead of {least}");
    }
}

#[test]
fn runs_needed_for_equivalence() {
    for row in rows(&golden()["equivalence_runs"]) {
        let criteria = Criteria::new(0.03, Better::More, 1).unwrap();
        let ours = f64::from(runs_needed(row[0], &criteria).unwrap());
        assert!((ours - row[1]).abs() <= 2.0, "{ours} instead of {}", row[1]);
    }
}

#[test]
fn rank_correlation_with_time() {
    for case in golden()["kendall"].as_array().expect("a list") {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let test = Kendall::new(&x, &y);
        assert_eq!(test.score, case["score"].as_i64().unwrap());
        // SciPy's asymptotic p value has no continuity correction; ours moves by one unit.
        let p = number(&case["p_without_continuity"]);
        let distance = number(&case["score"]).abs() / test.variance.sqrt();
        close(2.0 * normal::upper_tail(distance), p, 1e-9);
        assert!(test.p(1.0) >= p);
    }
}
