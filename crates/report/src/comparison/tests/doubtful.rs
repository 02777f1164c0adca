//! Figures that must not decide, and figures that belong to their ratio.

use std::fmt::Write as _;

use drivelab_analysis::pairs;
use drivelab_core::record::{Figure, Nature, Phase, RunRecord};
use drivelab_core::workload::WorkloadOptions;
use drivelab_stats::{Better, Verdict};

use super::*;

/// Two arms of stored runs, of which the second is twice as fast; `change` is made to its runs.
fn twice_as_fast(change: impl Fn(usize, &mut RunRecord)) -> CompareResult {
    let runs = |latency: u64| (0..6).map(move |i| record(latency + i, "one"));
    let fast = runs(100).enumerate().map(|(place, mut run)| {
        change(place, &mut run);
        run
    });
    let arms = [("slow".to_owned(), runs(200).collect()), ("fast".to_owned(), fast.collect())];
    analyse(&from_runs(&undated(arms)).unwrap(), &options()).unwrap()
}

#[test]
fn no_verdict_rests_on_runs_whose_requests_failed() {
    let failing = |errors: u64| {
        move |place: usize, run: &mut RunRecord| {
            let total = run.total.as_mut().unwrap();
            total.errors = if place == 3 { errors * total.ios } else { 0 };
        }
    };
    assert_eq!(twice_as_fast(failing(0)).verdict(), Verdict::Faster);
    let result = twice_as_fast(failing(9));
    assert_eq!(result.verdict(), Verdict::Inconclusive);
    let first = text(&result, Look { width: 10_000, colour: false });
    assert!(first.contains("The verdict is withheld in IOPS: "), "{first}");
    let expected = "Withheld: up to 90 % of the requests of `fast` failed (in 1 of 6 runs more \
                    than 1 %)";
    assert!(first.contains(expected), "{first}");
    let json: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    assert_eq!(json["withheld"][0]["id"], "requests-failed");
}

#[test]
fn no_verdict_rests_on_runs_that_fell_behind_their_rate() {
    let rated = |latency: u64| {
        let rate_iops = Some(1_000_000);
        let options = || WorkloadOptions { rate_iops, ..WorkloadOptions::default() };
        let runs = (0..6).map(|i| {
            let mut run = record(latency + i, "one");
            run.config.workload = Some(options().check().unwrap());
            run
        });
        runs.collect()
    };
    let arms = [("slow".to_owned(), rated(200)), ("fast".to_owned(), rated(100))];
    let result = analyse(&from_runs(&undated(arms)).unwrap(), &options()).unwrap();
    assert!(result.withheld.iter().all(|it| it.id == drivelab_stats::WarningId::RateMissed));
    assert_eq!(result.verdict(), Verdict::Inconclusive);
}

#[test]
fn results_of_other_tools_are_withheld_where_the_tool_reports_an_error() {
    use drivelab_core::foreign::{Imported, ImportedRun};
    use drivelab_core::record::Flaw;
    let file = |iops: f64, flaws: Vec<Flaw>| {
        let figures = vec![Figure::new("iops", iops, drivelab_core::record::Better::More)];
        let phase = Phase {
            name: String::new(),
            nature: Nature::Disk,
            figures,
            lat_ns: None,
            points: Vec::new(),
            remarks: Vec::new(),
        };
        let run = ImportedRun { phases: vec![phase], flaws, ..ImportedRun::default() };
        Imported { tool: "fio".into(), runs: vec![run], ..Imported::default() }
    };
    let what = "job `a` ended with system error 5".to_owned();
    let error = vec![Flaw::Error { what }];
    let check = |flaws: Vec<Flaw>, expected| {
        let files = |base: f64, step: u32, flaws: &[Flaw]| {
            let runs = (0..8).map(|run| base * (1.0 + 0.001 * f64::from(run * step % 8)));
            runs.map(|iops| file(iops, flaws.to_vec())).collect::<Vec<_>>()
        };
        let arms = [
            ArmResults { name: "old".into(), files: files(100.0, 3, &[]) },
            ArmResults { name: "new".into(), files: files(150.0, 5, &flaws) },
        ];
        let result = analyse(&from_foreign(&arms).unwrap(), &options()).unwrap();
        assert_eq!(result.verdict(), expected);
        text(&result, Look { width: 10_000, colour: false })
    };
    check(Vec::new(), Verdict::Faster);
    let shown = check(error, Verdict::Inconclusive);
    assert!(shown.contains("8 of 8 runs of `new` ended with an error (job `a` ended"), "{shown}");
}

#[test]
fn a_rate_that_the_load_set_does_not_decide() {
    use drivelab_core::foreign::{Imported, ImportedRun};
    use drivelab_core::record::{Better, Label, Remark};
    let file = |scale: f64| {
        let mut iops = Figure::new("iops", 1000.0 * scale, Better::More);
        iops.remarks.push(Remark::new(Label::SetRate, "the job sets its rate"));
        let mut detail = Figure::new("lat_max_ns", 9e6, Better::Less);
        detail.is_detail = true;
        let latency = Figure::new("lat_mean_ns", 1e6 / scale, Better::Less);
        let (name, points, remarks) = (String::new(), Vec::new(), Vec::new());
        let figures = vec![detail, iops, latency];
        let phase = Phase { name, nature: Nature::Disk, figures, lat_ns: None, points, remarks };
        let run = ImportedRun { phases: vec![phase], ..ImportedRun::default() };
        Imported { tool: "fio".into(), runs: vec![run], ..Imported::default() }
    };
    let files = |base: f64, step: u32| {
        (0..8).map(|run| file(base * (1.0 + 0.001 * f64::from(run * step % 8)))).collect()
    };
    let arms = [
        ArmResults { name: "old".into(), files: files(1.0, 3) },
        ArmResults { name: "new".into(), files: files(1.5, 5) },
    ];
    let input = from_foreign(&arms).unwrap();
    let result = analyse(&input, &options()).unwrap();
    assert_eq!(result.series[result.primary().series].name, "lat_mean_ns");
    assert_eq!(result.verdict(), Verdict::Faster);
    let named = CompareOptions { primary: Some("iops".to_owned()), ..options() };
    let result = analyse(&input, &named).unwrap();
    assert_eq!(result.verdict(), Verdict::Inconclusive);
    assert_eq!(result.withheld[0].id, drivelab_stats::WarningId::RateSet);
}

#[test]
fn values_of_zero_withhold_the_verdict_paired_or_not() {
    let stalled = |place: usize, run: &mut RunRecord| {
        let total = run.total.as_mut().unwrap();
        total.iops *= f64::from(u8::from(place.is_multiple_of(2)));
    };
    let runs = |latency: u64| (0..6).map(move |i| record(latency + i, "one"));
    let mut fast: Vec<RunRecord> = runs(100).collect();
    fast.iter_mut().enumerate().for_each(|(place, run)| stalled(place, run));
    let arms = [("slow".to_owned(), runs(200).collect()), ("fast".to_owned(), fast)];
    let input = from_runs(&undated(arms)).unwrap();
    for unpaired in [None, Some("said so".to_owned())] {
        let result = analyse(&input, &CompareOptions { unpaired, ..options() }).unwrap();
        assert_eq!(result.verdict(), Verdict::Inconclusive);
        let found = &result.withheld[0];
        assert_eq!(found.id, drivelab_stats::WarningId::ValuesUnusable);
        let expected = "3 of 6 values of `iops` in `fast` are not above 0 (0)";
        assert!(found.message.starts_with(expected), "{}", found.message);
    }
}

#[test]
fn runs_of_a_tool_that_lack_a_metric_withhold_its_verdict_where_they_are_not_paired() {
    let mut runs: Vec<RunRecord> = (0..6).map(|i| benchmark(2.0 + f64::from(i) / 100.0)).collect();
    runs[3].phases.retain(|phase| phase.name != "seeks");
    let others = (0..6).map(|i| benchmark(1.0 + f64::from(i) / 100.0)).collect();
    let input =
        from_runs(&undated([("old".to_owned(), others), ("new".to_owned(), runs)])).unwrap();
    let (unpaired, primary) = (Some("said so".to_owned()), Some("seeks.per_s".to_owned()));
    let result = analyse(&input, &CompareOptions { primary, unpaired, ..options() }).unwrap();
    assert_eq!(result.verdict(), Verdict::Inconclusive);
    let found = result.withheld.iter().map(|it| it.message.as_str());
    let found: Vec<&str> = found.collect();
    assert!(found.iter().any(|it| it.starts_with("1 of 6 runs of `new` have no")), "{found:?}");
}

#[test]
fn the_figures_of_a_sentence_give_its_ratio() {
    // Skewed values: medians 10.8 and 30.8, geometric means 17.9 and 41.5.
    let values =
        [[10.0, 30.0], [9.0, 29.0], [11.0, 31.0], [10.5, 30.5], [90.0, 95.0], [30.0, 70.0]];
    let mut rows = String::new();
    for (block, [a, b]) in values.iter().enumerate() {
        writeln!(rows, "{block},a,{a}\n{block},b,{b}").unwrap();
    }
    let result = of_pairs(&rows, &["a", "b"]).unwrap();
    let series = &result.series[0];
    let ratio = result.primary().adjusted.comparison.ratio;
    assert!((series.mean(1) / series.mean(0) - ratio).abs() < 1e-9);
    let shown = crate::comparison::text(&result, Look { width: 10_000, colour: false });
    assert!(
        shown.contains(&format!("{} against", drivelab_analysis::figures::count(series.mean(1)))),
        "{shown}"
    );
}

#[test]
fn a_sentence_about_a_time_has_one_direction() {
    let check = |ratio: f64, words: &str| {
        let text = csv(ratio, 0.001, 8, 1).replace('\n', ",wall_ns\n");
        let text = text.replace("value,wall_ns", "value,metric");
        let rows = pairs::parse(&text).unwrap();
        let choice = Choice {
            arms: vec!["ide".into(), "ahci".into()],
            better: Some(Better::Less),
            ..Choice::default()
        };
        let input = from_pairs(&rows, &choice).unwrap();
        let result = analyse(&input, &options()).unwrap();
        let shown = crate::comparison::text(&result, Look { width: 10_000, colour: false });
        let answer = shown.lines().nth(2).unwrap();
        assert!(answer.contains(words), "{answer}");
        for other in ["above 1 is better", "less is better", "longer", "less time"] {
            assert!(!answer.contains(other), "{answer}");
        }
    };
    check(1.25, "`ahci` is 20 % slower than `ide` in wall time (");
    check(0.4, "`ahci` is 2.50 times as fast as `ide` in wall time (");
    check(0.8, "; x1.25 as fast, 95 % interval");
}

#[test]
fn figures_beside_a_ratio_omit_copies_as_the_ratio_does() {
    // The last block is there four times: with its copies the means are 1.8 times as large.
    let distinct = [[10.1, 20.3], [11.2, 21.4], [12.3, 22.7], [10.7, 21.1], [11.9, 22.3]];
    let mut rows = String::new();
    for (block, [a, b]) in distinct.iter().chain([&[310.5, 620.9]; 4]).enumerate() {
        writeln!(rows, "{block},a,{a}\n{block},b,{b}").unwrap();
    }
    let result = of_pairs(&rows, &["a", "b"]).unwrap();
    let comparison = &result.primary().adjusted.comparison;
    let is_copies =
        |it: &drivelab_stats::Warning| it.id == drivelab_stats::WarningId::DuplicateBlocks;
    assert!(comparison.warnings.iter().any(is_copies), "{:?}", comparison.warnings);
    assert_eq!(comparison.n, 6);
    let series = &result.series[0];
    let means = [0, 1].map(|arm| result.primary().mean(series, arm));
    assert!((means[1] / means[0] - comparison.ratio).abs() < 1e-9, "{means:?}");
    let shown = crate::comparison::text(&result, Look { width: 10_000, colour: false });
    for mean in means.map(drivelab_analysis::figures::count) {
        assert!(shown.contains(&mean), "{mean}: {shown}");
    }
}

#[test]
fn the_first_answer_says_why_a_verdict_is_withheld_and_leaves_the_rest_to_explain() {
    let failing = |_: usize, run: &mut RunRecord| {
        let total = run.total.as_mut().unwrap();
        total.errors = total.ios;
    };
    let look = Look { width: 100, colour: false };
    for (result, is_withheld) in [(twice_as_fast(failing), true), (twice_as_fast(|_, _| ()), false)]
    {
        let text = crate::comparison::short(&result, look, "add --explain");
        assert_eq!(text.contains("Withheld: "), is_withheld, "{text}");
        assert!(!text.contains("How to read this:"), "{text}");
        assert!(text.ends_with("Causes, notes and how to read this: add --explain.\n"), "{text}");
        let lines = text.lines().skip(2).take_while(|line| !line.is_empty()).count();
        assert!(lines <= if is_withheld { 12 } else { 9 }, "{text}");
    }
}
