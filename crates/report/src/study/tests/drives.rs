//! Experiments in which each block simulated another drive.

use drivelab_analysis::specimens::Settle;
use drivelab_analysis::study::{Answer, Experiment, analyse};
use drivelab_core::question::Finding;
use drivelab_core::record::Better;
use drivelab_stats::{Interacts, Verdict};

use super::{PLAIN, factorial, small};
use crate::specimens::svg;
use crate::specimens::tests::specimens;
use crate::study::{json, text};
use crate::text::Look;

/// What the firmware's order makes of the second arm: how far the logarithm of its rate moves with
/// the first unknown.
fn drawn(mut it: Experiment, effect: f64) -> Experiment {
    let drives = specimens(it.blocks);
    for run in &mut it.runs {
        let specimen = &drives[run.block as usize];
        let factor = libm::exp(effect * specimen.drawn[0].score);
        for metric in run.metrics.iter_mut().filter(|_| run.arm == 1) {
            metric.value *= if metric.better == Better::More { factor } else { 1.0 / factor };
        }
        run.specimen = Some(specimen.clone());
    }
    let again = "drivelab study ahci-or-ide --drive my-drive.toml".to_owned();
    it.settle = Some(Settle { again });
    it
}

#[test]
fn the_word_is_about_one_more_drive_and_not_about_the_mean() {
    let check = |effect, verdict, depends| {
        let result = analyse(drawn(small([2, 3], 3), effect)).unwrap();
        assert_eq!((result.verdict(), result.primary().depends()), (verdict, depends), "{effect}");
        let [lo, hi] = result.primary().adjusted.comparison.ci95.unwrap();
        let [below, above] = result.primary().foreseen.as_ref().unwrap().forecast.prediction95;
        assert!(below < lo && hi < above, "{below} {lo} {hi} {above}");
    };
    // x1.42 in the median.
    check(0.05, Verdict::Faster, false);
    check(0.3, Verdict::Inconclusive, true);
}

#[test]
fn what_decides_and_how_to_settle_it_follow_the_answer() {
    let result = analyse(drawn(small([2, 3], 3), 0.3)).unwrap();
    insta::assert_snapshot!(text(&result, PLAIN));
}

#[test]
fn a_claim_about_drives_follows_the_prediction() {
    let check = |figure: &str, at_least: f64, effect: Option<f64>, expected: Answer| {
        let mut it = small([2, 3], 3);
        if let Some(effect) = effect {
            it = drawn(it, effect);
        }
        let claim = Finding {
            name: "NCQ helps".into(),
            figure: figure.into(),
            at_least: Some(at_least),
            ..Finding::default()
        };
        it.findings = vec![claim];
        let result = analyse(it).unwrap();
        let [found] = &result.findings[..] else { panic!("one finding") };
        assert_eq!(found.answer, expected, "{}", found.sentence());
        assert_eq!(found.prediction95.is_some(), effect.is_some());
        let document: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
        let one = &document["findings"][0];
        let inner = one["ci95"][0].as_f64().unwrap();
        assert!(one["prediction95"][0].as_f64().is_none_or(|outer| outer < inner), "{one}");
        found.sentence()
    };
    // x1.42 in the median, and the mean is known well enough in all three.
    let gain = "random-read-32.iops of ahci-ncq over ahci-no-ncq";
    check(gain, 1.05, None, Answer::Holds);
    check(gain, 1.05, Some(0.05), Answer::Holds);
    let said = check(gain, 1.05, Some(0.3), Answer::CannotTell);
    assert!(
        said.contains("; 95 % of such drives: ") && said.contains("depends on the drive"),
        "{said}"
    );
    // A rate of one arm is as far off as the model is: 10 % in these drives.
    let rate = "random-read-32.iops of ahci-no-ncq";
    check(rate, 90.0, None, Answer::Holds);
    check(rate, 90.0, Some(0.0), Answer::CannotTell);
    check(rate, 70.0, Some(0.0), Answer::Holds);
}

#[test]
fn factors_interact_on_drives_only_where_they_do_on_one_more() {
    let interacts = |effect| {
        let result = analyse(drawn(factorial(), effect)).unwrap();
        let one = &result.interactions[0];
        let [lo, hi] = one.strongest.prediction95.unwrap();
        let [below, above] = one.strongest.mean.ci95.unwrap();
        assert!(lo < below && above < hi, "{one:?}");
        let document: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
        assert!(document["interactions"][0]["simple"][0]["prediction95"].is_array());
        one.verdict
    };
    // x1.17 with drives all alike, and what the model lacks of two effects is 14 %.
    assert_eq!(interacts(0.0), Interacts::NotShown);
    assert_eq!(analyse(factorial()).unwrap().interactions[0].verdict, Interacts::Interact);
}

#[test]
fn json_has_the_prediction_and_keeps_the_five_verdicts() {
    let result = analyse(drawn(small([2, 3], 3), 0.3)).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    let metric = &value["metrics"][0];
    assert_eq!(
        (&value["verdict"], &metric["verdict"]),
        (&"inconclusive".into(), &metric["verdict"])
    );
    assert!(metric["warnings"][0].as_str().unwrap().starts_with("depends: "), "{metric}");
    assert!(metric["prediction95"][0].as_f64() < metric["ci95"][0].as_f64());
    let shares = ["faster", "slower", "no_practical_difference"];
    let whole: f64 = shares.iter().map(|share| metric["shares"][share].as_f64().unwrap()).sum();
    assert!((whole - 1.0).abs() < 1e-9);
    assert_eq!(metric["variance"][0]["cause"], "guard_growth");
    assert!(metric["variance"][0]["ci95"][0].as_f64() > Some(0.5));
    let plain: serde_json::Value =
        serde_json::from_str(&json(&analyse(small([2, 3], 3)).unwrap())).unwrap();
    for key in ["prediction95", "shares", "variance"] {
        assert!(plain["metrics"][0].get(key).is_none(), "{key}");
    }
}

#[test]
fn arms_that_do_the_same_differ_on_no_drive() {
    // Depth 1 leaves nothing to order: all drives are alike in it, however unlike they are.
    let mut it = small([2, 3], 3);
    for run in &mut it.runs {
        run.metrics.iter_mut().for_each(|metric| metric.value = 100.0 + f64::from(run.block));
    }
    let result = analyse(drawn(it, 0.0)).unwrap();
    assert_eq!(result.verdict(), Verdict::NoPracticalDifference);
}

#[test]
fn equal_gains_by_different_means_are_not_sure_to_be_equal_on_another_drive() {
    // The rate is the same, but who waits is not: the requests came in another order.
    let mut it = small([2, 3], 3);
    for run in &mut it.runs {
        let rate = 100.0 + f64::from(run.block);
        for metric in &mut run.metrics {
            let is_tail = metric.name == "lat_p99_ns" && run.arm == 1;
            metric.value = if is_tail { 2.0 * rate } else { rate };
        }
    }
    let result = analyse(drawn(it, 0.0)).unwrap();
    assert!(result.primary().depends());
    let [lo, hi] = result.primary().foreseen.as_ref().unwrap().forecast.prediction95;
    assert!(lo < 0.83 && hi > 1.2, "{lo} {hi}");
}

#[test]
fn the_median_drive_is_no_sample_and_a_note_says_so() {
    let mut it = drawn(small([2, 3], 3), 0.0);
    for run in &mut it.runs {
        let specimen = run.specimen.as_mut().unwrap();
        specimen.number = None;
        specimen.drawn.iter_mut().for_each(|drawn| drawn.score = 0.0);
    }
    let result = analyse(it).unwrap();
    assert!(result.primary().foreseen.is_none());
    assert!(result.notes.iter().any(|note| note.contains("median drive")), "{:?}", result.notes);
}

#[test]
fn the_page_draws_a_dot_a_drive_and_both_intervals() {
    let result = analyse(drawn(small([2, 3], 3), 0.3)).unwrap();
    let page = crate::page::of_study(&result, &[]);
    let drives = page.split("Drive by drive").nth(1).unwrap().split("</section>").next().unwrap();
    assert_eq!(drives.matches("<circle").count(), 10);
    assert!(drives.contains("one more drive, 95 %") && drives.contains("mean of all such drives"));
    assert!(drives.contains("how its firmware orders its queue"), "{drives}");
    assert!(page.contains("drivelab drive measure /dev/sdX --out my.toml\n"));
    let plain = crate::page::of_study(&analyse(small([2, 3], 3)).unwrap(), &[]);
    assert!(!plain.contains("Drive by drive"));
    let file = svg(result.primary(), result.series_of(result.primary())).unwrap();
    assert!(file.starts_with("<svg xmlns") && file.contains("<style>"), "{file}");
}

#[test]
fn a_withheld_verdict_does_not_depend_on_the_drive() {
    let mut it = drawn(small([2, 3], 3), 0.3);
    let mut runs = it.runs.iter_mut().filter(|run| run.arm == 1 && run.block == 4);
    runs.by_ref().for_each(|run| run.metrics.clear());
    let result = analyse(it).unwrap();
    assert!(!result.primary().depends());
    let first = text(&result, Look { width: 10_000, colour: false });
    assert!(first.contains("The verdict is withheld for random 4k reads"), "{first}");
}
