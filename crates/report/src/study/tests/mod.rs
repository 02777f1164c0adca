//! The analysis on experiments of known truth.

mod drives;
mod findings;
pub(crate) mod fixture;
mod hosts;
mod short;

use drivelab_analysis::study::{Experiment, StudyResult, analyse};
use drivelab_core::plan::Design;
use drivelab_core::record::{Better, Figure, MarkId};
use drivelab_stats::{Adjustment, Interacts, Role, Verdict};

use super::{json, text};
use crate::text::Look;
use drivelab_core::question::Interaction;
use fixture::experiment;

const PLAIN: Look = Look { width: 100, colour: false };

/// Only two arms and one workload, which `ahci-or-ide` makes rather long.
fn small(arms: [usize; 2], workload: usize) -> Experiment {
    let mut it = experiment(1, 10);
    it.arms = arms.map(|arm| it.arms[arm].clone()).to_vec();
    it.workloads = vec![it.workloads[workload].clone()];
    it.runs.retain(|run| run.workload == workload && arms.contains(&run.arm));
    for run in &mut it.runs {
        run.workload = 0;
        run.arm = usize::from(run.arm == arms[1]);
    }
    it.primary = format!("{}.{}", it.workloads[0].name, it.workloads[0].headline);
    it.contrasts.clear();
    it.curves.clear();
    it
}

fn verdict(result: &StudyResult, name: &str, arm: usize) -> Verdict {
    let mut outcomes = result.outcomes.iter();
    let outcome = outcomes.find(|o| o.to == arm && result.series_of(o).name == name);
    outcome.unwrap_or_else(|| panic!("no {name} for arm {arm}")).verdict()
}

#[test]
fn verdicts_match_the_truth() {
    for seed in 1..6 {
        let result = analyse(experiment(seed, 10)).unwrap();
        let check = |name, arm, expected| {
            assert_eq!(verdict(&result, name, arm), expected, "{name}, arm {arm}, seed {seed}");
        };
        check("random-read-32.iops", 3, Verdict::Faster);
        check("random-read-32.iops", 1, Verdict::Faster);
        check("random-read-32.lat_mean_ns", 3, Verdict::Faster);
        check("random-read-1.iops", 3, Verdict::NoPracticalDifference);
        check("seq-read.bytes_per_s", 1, Verdict::NoPracticalDifference);
        check("random-write-off.iops", 3, Verdict::Slower);
        assert_eq!(result.verdict(), Verdict::Faster);
        // One entry a metric and arm but the baseline: 7 workloads, 4 metrics, 3 arms.
        assert_eq!(result.outcomes.len(), 7 * 4 * 3);
        assert_eq!(result.contrasts.len(), 2);
    }
}

#[test]
fn the_overall_verdict_is_that_of_the_candidate() {
    let check = |candidate, expected: Option<usize>| {
        let mut it = experiment(1, 10);
        it.candidate = candidate;
        assert_eq!(analyse(it).map(|r| r.primary().to).ok(), expected, "{candidate:?}");
    };
    check(None, Some(3));
    check(Some(1), Some(1));
    check(Some(0), None);
    check(Some(4), None);
}

#[test]
fn only_the_primary_metric_is_the_gate() {
    let result = analyse(experiment(1, 10)).unwrap();
    for outcome in &result.outcomes {
        let is_primary = result.series_of(outcome).name == "random-read-32.iops";
        assert_eq!(outcome.adjusted.role == Role::Gate, is_primary);
        assert_eq!(outcome.adjusted.adjustment, Adjustment::MaxT);
        assert!(outcome.adjusted.p_adjusted >= outcome.adjusted.comparison.p);
    }
}

#[test]
fn tails_are_held_to_a_larger_effect() {
    let result = analyse(experiment(1, 10)).unwrap();
    for series in &result.series {
        let expected: f64 = if series.metric == "lat_p99_ns" { 0.10 } else { 0.03 };
        assert_eq!(series.margin.to_bits(), expected.to_bits(), "{}", series.name);
    }
}

#[test]
fn incomplete_blocks_are_left_out_and_said_so() {
    let mut it = experiment(1, 10);
    // Interrupted in block 8, in the middle of its arms.
    let last = it.runs.iter().rposition(|run| run.block == 7).unwrap();
    it.runs.truncate(last - 3);
    let result = analyse(it).unwrap();
    assert_eq!(result.used, [0, 1, 2, 3, 4, 5, 6]);
    assert!(result.outcomes.iter().all(|o| o.adjusted.comparison.n == 7));
    assert!(result.notes.iter().any(|note| note.starts_with("7 of 10 blocks")));
}

/// Has the runs of `arm` in `blocks` complete no request.
fn stalled(mut it: Experiment, arm: usize, blocks: &[u32]) -> Experiment {
    let mut runs = it.runs.iter_mut().filter(|run| run.arm == arm && blocks.contains(&run.block));
    runs.by_ref().for_each(|run| run.metrics.clear());
    it
}

#[test]
fn a_block_in_which_an_arm_completed_nothing_is_left_out_and_decides_nothing() {
    assert_eq!(analyse(small([0, 3], 3)).unwrap().verdict(), Verdict::Faster);
    let result = analyse(stalled(small([0, 3], 3), 1, &[4])).unwrap();
    assert_eq!(result.used, [0, 1, 2, 3, 5, 6, 7, 8, 9]);
    // An arm that stalls must not be called faster by the blocks in which it did not.
    assert_eq!(result.verdict(), Verdict::Inconclusive);
    let warnings = format!("{:?}", result.primary().adjusted.comparison.warnings);
    assert!(warnings.contains("block 5"), "{warnings}");
    let notes = result.notes.join("\n");
    assert!(notes.contains("block 5") && notes.contains("`runtime`"), "{notes}");
    assert!(!notes.contains("--resume"), "there is nothing to resume: {notes}");
}

#[test]
fn a_block_with_a_void_run_is_left_out_and_the_note_says_so() {
    let mut it = small([0, 3], 3);
    for run in it.runs.iter_mut().filter(|run| run.arm == 1 && run.block == 4) {
        run.marks.push(MarkId::Void);
    }
    let result = analyse(it).unwrap();
    assert_eq!(result.used, [0, 1, 2, 3, 5, 6, 7, 8, 9]);
    let notes = result.notes.join("\n");
    assert!(notes.contains("too late") && notes.contains("block 5, which is ignored"), "{notes}");
    assert!(!notes.contains("--resume"), "there is nothing to resume: {notes}");
    let first = text(&result, PLAIN);
    assert!(first.contains("of 10 runs of") && first.contains("not a measurement"), "{first}");
}

#[test]
fn a_verdict_survives_one_void_block_in_five_and_no_more() {
    let check = |blocks: &[u32], verdict, said: &str| {
        let mut it = small([0, 3], 3);
        let runs = it.runs.iter_mut().filter(|run| run.arm == 1 && blocks.contains(&run.block));
        runs.for_each(|run| run.marks.push(MarkId::Void));
        let result = analyse(it).unwrap();
        assert_eq!(result.verdict(), verdict, "{blocks:?}");
        let first = text(&result, Look { width: 10_000, colour: false });
        assert!(first.contains(said), "{blocks:?}: {first}");
        let json = json(&result);
        let is_withheld = verdict == Verdict::Inconclusive;
        assert_eq!(json.contains("\"runs-void: "), is_withheld, "{blocks:?}");
    };
    check(&[], Verdict::Faster, "is better).\n");
    check(&[4], Verdict::Faster, "is better); 1 of 10 blocks is left out (see the notes).");
    check(&[4, 7], Verdict::Faster, "is better); 2 of 10 blocks are left out (see the notes).");
    check(&[1, 4, 7], Verdict::Inconclusive, "void in 3 of 10 blocks, more than one in five");
}

#[test]
fn advice_after_few_blocks_is_to_make_enough() {
    let mut it = small([0, 3], 3);
    it.blocks = 3;
    it.runs.retain(|run| run.block < 3);
    for (place, run) in it.runs.iter_mut().enumerate() {
        let metric = &mut run.metrics[0].value;
        *metric *= [1.0, 4.0, 0.3][place % 3];
    }
    let first = text(&analyse(it).unwrap(), Look { width: 10_000, colour: false });
    assert!(first.contains("3 runs of each allow no verdict: at least 6 are needed"), "{first}");
    assert!(!first.contains("more runs will not help"), "{first}");
}

#[test]
fn metrics_left_out_for_one_reason_share_a_note() {
    let mut it = experiment(1, 6);
    for run in it.runs.iter_mut().filter(|run| run.arm == 1 && run.block == 2) {
        run.metrics.retain(|metric| metric.name != "lat_p99_ns");
    }
    let notes = analyse(it).unwrap().notes.join("\n");
    assert_eq!(notes.matches("is missing in block 3 of `ide-elevator`").count(), 1, "{notes}");
    assert!(notes.contains("`mix-32.lat_p99_ns` are not compared: each is missing"), "{notes}");
}

#[test]
fn an_answer_behind_the_end_of_the_run_does_not_make_it_a_run() {
    let mut it = small([0, 3], 3);
    for run in it.runs.iter_mut().filter(|run| run.arm == 1 && run.block == 4) {
        // The latency of what was due is known, however late; no request is in the rate.
        run.metrics.retain(|metric| metric.name.starts_with("lat_"));
        assert!(!run.metrics.is_empty());
    }
    let result = analyse(it).unwrap();
    assert_eq!((result.used.len(), result.verdict()), (9, Verdict::Inconclusive));
}

#[test]
fn a_block_in_which_no_arm_completed_anything_is_only_left_out() {
    let result = analyse(stalled(stalled(small([0, 3], 3), 0, &[4]), 1, &[4])).unwrap();
    assert_eq!(result.used.len(), 9);
    assert_eq!(result.verdict(), Verdict::Faster);
}

#[test]
fn an_arm_that_completed_nothing_at_all_is_named() {
    let all: Vec<u32> = (0..10).collect();
    let error = analyse(stalled(small([0, 3], 3), 1, &all)).unwrap_err().to_string();
    assert!(error.contains("completed no request"), "{error}");
    assert!(!error.contains("--resume"), "there is nothing to resume: {error}");
}

#[test]
fn a_figure_that_is_zero_is_named_and_not_called_a_request() {
    let mut it = small([0, 3], 3);
    let workload = it.runs[3].workload;
    it.workloads[workload].headline = "lat_p99_ns".into();
    let p99 = it.runs[3].metrics.iter_mut().find(|figure| figure.name == "lat_p99_ns");
    p99.unwrap().value = 0.0;
    let notes = analyse(it).unwrap().notes.join("\n");
    assert!(notes.contains("has no `random-read-32.lat_p99_ns` above 0 in block 2"), "{notes}");
}

#[test]
fn figures_of_phases_bring_their_own_unit_and_direction_to_the_verdict() {
    let mut it = small([0, 3], 3);
    let (workload, _) = it.primary.rsplit_once('.').unwrap();
    it.primary = format!("{workload}.seeks.per_s");
    for run in &mut it.runs {
        let median = if run.arm == 1 { 240.0 } else { 200.0 };
        let value = median * (1.0 + 0.001 * f64::from(run.block));
        let unit = "1/s".to_owned();
        run.metrics.push(Figure { unit, ..Figure::new("seeks.per_s", value, Better::More) });
    }
    let result = analyse(it).unwrap();
    assert_eq!(result.verdict(), Verdict::Faster);
    let series = result.series.iter().find(|series| series.metric == "seeks.per_s").unwrap();
    assert!(series.show(200.0).ends_with(" 1/s"), "{}", series.show(200.0));
}

#[test]
fn repeats_inside_a_block_are_one_value() {
    let mut it = small([0, 3], 3);
    let once = analyse(it.clone()).unwrap();
    // Each run twice, one a quarter higher, one a fifth lower: the geometric mean is the same.
    let again = it.runs.clone();
    for (run, factor) in again.iter().map(|run| (run, 0.8)) {
        let mut run = run.clone();
        run.repeat += 1;
        run.metrics.iter_mut().for_each(|m| m.value *= factor);
        it.runs.push(run);
    }
    let original = again.len();
    it.runs[..original].iter_mut().for_each(|run| {
        run.metrics.iter_mut().for_each(|m| m.value *= 1.25);
    });
    it.design = Design::Grouped;
    let twice = analyse(it).unwrap();
    let (first, second) =
        (&once.primary().adjusted.comparison, &twice.primary().adjusted.comparison);
    assert_eq!((first.n, second.n), (10, 10));
    assert!((first.ratio - second.ratio).abs() < 1e-9);
    let said = "n is 10 blocks, 20 such stays, not 40 runs";
    assert!(twice.notes.iter().any(|note| note.contains(said)), "{:?}", twice.notes);
}

#[test]
fn order_is_tested_with_two_arms_only() {
    let two = analyse(small([0, 3], 3)).unwrap();
    assert!(two.primary().adjusted.comparison.order.is_some());
    let four = analyse(experiment(1, 10)).unwrap();
    assert!(four.primary().adjusted.comparison.order.is_none());
}

#[test]
fn what_cannot_be_compared_is_named() {
    let check = |change: &dyn Fn(&mut Experiment), expected: &str| {
        let mut it = small([0, 3], 3);
        change(&mut it);
        let told = match analyse(it) {
            Ok(result) => result.notes.join("\n"),
            Err(error) => error.to_string(),
        };
        assert!(told.contains(expected), "{told}");
    };
    check(&|it| it.arms.truncate(1), "two");
    check(&|it| it.runs.clear(), "--resume");
    check(&|it| it.primary = "random-read-32.iop".into(), "did you mean `random-read-32.iops`?");
    check(
        &|it| it.runs[3].metrics[0].value = 0.0,
        "completed no request of `random-read-32` in block 2",
    );
    check(&|it| it.runs[3].metrics[0].value = f64::NAN, "NaN");
    check(
        &|it| it.runs[3].metrics.truncate(3),
        "`random-read-32.lat_p99_ns` is not compared: it is missing in block 2",
    );
    check(&|it| it.margin = 0.0, "margin");
}

#[test]
fn a_single_block_concludes_nothing() {
    let result = analyse(experiment(1, 1)).unwrap();
    assert_eq!(result.verdict(), Verdict::Inconclusive);
    assert!(text(&result, PLAIN).contains("No conclusion yet for random 4k reads"));
    assert!(json(&result).contains("\"ci95\": null"));
}

#[test]
fn the_same_experiment_gives_the_same_bytes() {
    let render = || {
        let result = analyse(experiment(7, 10)).unwrap();
        (json(&result), text(&result, PLAIN))
    };
    assert_eq!(render(), render());
}

#[test]
fn json_keeps_its_contract() {
    let result = analyse(small([0, 3], 3)).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    assert_eq!(value["schema"], "drivelab.study/1");
    for key in ["title", "stage", "seed", "blocks", "primary", "verdict", "arms", "metrics"] {
        assert!(!value[key].is_null(), "{key}");
    }
    let metric = &value["metrics"][0];
    assert_eq!(metric["name"], "random-read-32.iops");
    assert_eq!(metric["arms"], serde_json::json!(["ide", "ahci-ncq"]));
    assert_eq!(metric["verdict"], "faster");
    assert!(metric["ratio"].as_f64().unwrap() > 1.6);
    assert!(metric["ci95"][0].as_f64() < metric["ci95"][1].as_f64());
    assert_eq!(metric["warnings"], serde_json::json!([]));
    for key in ["n", "hl_ratio", "hl_ci95", "p", "runs_needed"] {
        assert!(metric.get(key).is_some(), "{key}");
    }
}

#[test]
fn extremes_stay_numbers() {
    let mut it = small([0, 3], 3);
    for run in &mut it.runs {
        let value = if run.arm == 0 { f64::MIN_POSITIVE } else { f64::MAX };
        run.metrics = vec![Figure::new("iops", value, Better::More)];
    }
    let result = analyse(it).unwrap();
    let text = json(&result);
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(value["metrics"][0]["ratio"].is_number());
}

#[test]
fn text_answers_in_words_first() {
    insta::assert_snapshot!(text(&analyse(small([0, 3], 3)).unwrap(), PLAIN), @r"
Is it worth enabling AHCI?

Yes, for random 4k reads, 32 outstanding: `ahci-ncq` gives 72 % more IOPS than `ide` (131 IOPS
  against 76.0 IOPS; x1.72, 95 % interval 1.71 to 1.73; more is better).
Risk: the drive's write cache is on: what it has confirmed but not yet written, up to 32 MiB, is
  lost when power fails.

  arm       measured  ratio  95 % interval  verdict
random-read-32: random 4k reads, 32 outstanding; `ide` has 76.0 IOPS, more is better
  ahci-ncq  131 IOPS  x1.72  1.71 to 1.73   faster (primary)

Note: The drive is modelled (seagate-st31000333as); none was touched.
How to read this: ratios above 1 are better than `ide`, each with its own 95 % interval; n = 10
  blocks, stage simulate, seed 1; margin 3 % (10 % for tail latencies); the primary metric decides
  and is not adjusted, the other 3 comparisons are adjusted for one another: the chance that any of
  these wrongly says faster, slower or different is at most 5 %, and so is the chance of wrongly
  saying no practical difference.
To repeat: drivelab study ahci-or-ide --seed 1 --blocks 10
");
}

#[test]
fn means_are_of_the_blocks_that_their_ratio_counts() {
    let mut result = analyse(small([0, 3], 3)).unwrap();
    let primary = result.primary;
    // As where block 1 is a copy of another.
    result.outcomes[primary].adjusted.copies = vec![0];
    let index = result.outcomes[primary].series;
    result.series[index].values.iter_mut().for_each(|values| values[0] *= 100.0);
    let (series, outcome) = (&result.series[index], &result.outcomes[primary]);
    let [told, page] = [text(&result, PLAIN), crate::page::of_study(&result, &[])];
    let all = series.show(series.mean(0));
    let counted = series.show(outcome.mean(series, 0));
    assert!(told.contains(&format!("`ide` has {counted}")), "{counted}: {told}");
    assert!(!told.contains(&all), "{all}: {told}");
    assert!(page.contains(&format!("<code>ide</code> has {counted}")), "{counted}");
}

/// The four arms of the fixture as two factors: a controller, and whether something queues.
fn factorial() -> Experiment {
    let mut it = experiment(1, 10);
    let levels = [("ide", "off"), ("ide", "on"), ("ahci", "off"), ("ahci", "on")];
    for (arm, (mode, queue)) in it.arms.iter_mut().zip(levels) {
        arm.levels = vec![("mode".into(), mode.to_owned()), ("queue".into(), queue.to_owned())];
    }
    it.interactions = vec![Interaction { factors: vec!["mode".into(), "queue".into()] }];
    it
}

#[test]
fn factors_are_told_apart_and_together() {
    let result = analyse(factorial()).unwrap();
    // One for each workload, the primary first.
    assert_eq!(result.interactions.len(), 7);
    let first = &result.interactions[0];
    assert_eq!(result.series[first.series].name, "random-read-32.iops");
    // 76.2 and 92 IOPS against 92.3 and 131: each factor helps more where the other is on.
    let truth = 131.0 * 76.2 / (92.0 * 92.3);
    assert!((first.strongest.mean.ratio - truth).abs() < 0.02, "{:?}", first.strongest);
    assert_eq!(first.verdict, Interacts::Interact);
    let told = text(&result, PLAIN);
    let words = "The factors interact: `mode` ahci instead of ide helps by 42 % with queue on and \
                 helps by 21 % with queue off (interaction x1.17";
    assert!(told.replace("\n  ", " ").contains(words), "{told}");
    let none = result
        .interactions
        .iter()
        .find(|one| result.series[one.series].name == "random-read-1.iops");
    assert_ne!(none.unwrap().verdict, Interacts::Interact);
    let document: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    let one = &document["interactions"][0];
    assert_eq!(one["factors"], serde_json::json!(["mode", "queue"]));
    assert_eq!(one["cells"].as_array().unwrap().len(), 4);
    assert_eq!(one["main"].as_array().unwrap().len(), 2);
    assert_eq!(one["interaction"]["verdict"], "interact");
    assert!(one["interaction"]["ci95"][0].as_f64() > Some(1.0));
    assert!(crate::page::of_study(&result, &[]).contains("Factor by factor"));
}

#[test]
fn a_layout_with_a_hole_is_told_and_not_analysed() {
    let mut it = factorial();
    it.arms[3].levels[1].1 = "off".into();
    let result = analyse(it).unwrap();
    assert!(result.interactions.is_empty());
    let note = "interaction of mode and queue is not analysed: no arm has mode ahci with queue on";
    assert!(result.notes.iter().any(|it| it.contains(note)), "{:?}", result.notes);
}

#[test]
fn prices_turn_rates_into_rates_for_each_dollar() {
    let mut it = small([0, 3], 3);
    (it.arms[0].price_usd, it.arms[1].price_usd) = (Some(50.0), Some(100.0));
    let result = analyse(it).unwrap();
    let metrics: Vec<&str> = result.prices.iter().map(|price| price.metric.as_str()).collect();
    assert_eq!(metrics, ["iops_per_usd", "bytes_per_s_per_usd"]);
    let [cheap, dear] = &result.prices[0].arms[..] else { panic!("two arms have a price") };
    let comparison = &result.primary().adjusted.comparison;
    assert!((dear.value / cheap.value - comparison.ratio / 2.0).abs() < 1e-9);
    let (ratio, limits) = dear.ratio.unwrap();
    assert!((ratio - comparison.ratio / 2.0).abs() < 1e-12);
    let [lo, hi] = limits.unwrap();
    assert!(lo < ratio && ratio < hi && cheap.ci95.unwrap()[0] < cheap.value);
    assert!(text(&result, PLAIN).contains("IOPS a dollar"));
    assert!(crate::page::of_study(&result, &[]).contains("Value for money"));
    let document: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    assert_eq!(document["price"][0]["metric"], "random-read-32.iops_per_usd");
    assert_eq!(document["price"][0]["arms"][1]["price_usd"], 100.0);
}

#[test]
fn an_arm_whose_requests_failed_gets_no_verdict_and_the_share_is_said() {
    use drivelab_core::record::Flaw;
    let mut it = small([0, 3], 3);
    for run in it.runs.iter_mut().filter(|run| run.arm == 1) {
        run.flaws.push(Flaw::Failed { failed: 140_670, requests: 149_998 });
    }
    let result = analyse(it).unwrap();
    assert_eq!(result.verdict(), Verdict::Inconclusive);
    assert_eq!(result.primary().adjusted.comparison.runs_needed, None);
    let first = text(&result, Look { width: 10_000, colour: false });
    assert!(first.contains("94 % of the requests of `ahci-ncq` failed"), "{first}");
    assert!(!first.contains("would settle it"), "{first}");
    let json: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    assert_eq!(json["withheld"][0]["id"], "requests-failed");
    assert_eq!(json["verdict"], "inconclusive");
}
