//! Experiments in which each block simulated another drive.

use drivelab_core::record::Better;
use drivelab_stats::Verdict;

use super::{PLAIN, small};
use crate::specimens::specimens;
use crate::specimens::{Settle, svg};
use crate::study::{Experiment, analyse, json, text};
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
    let page = crate::page::html(&result);
    let drives = page.split("Drive by drive").nth(1).unwrap().split("</section>").next().unwrap();
    assert_eq!(drives.matches("<circle").count(), 10);
    assert!(drives.contains("one more drive, 95 %") && drives.contains("mean of all such drives"));
    assert!(drives.contains("how its firmware orders its queue"), "{drives}");
    assert!(page.contains("drivelab drive measure /dev/sdX --out my.toml\n"));
    let plain = crate::page::html(&analyse(small([2, 3], 3)).unwrap());
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
    assert!(first.contains("Nothing can be concluded yet"), "{first}");
}
