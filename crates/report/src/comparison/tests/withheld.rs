//! Arms that did different work.

use drivelab_analysis::comparison::{
    ArmResults, CompareOptions, CompareResult, analyse, from_foreign, from_runs,
};
use drivelab_core::Invalid;
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Better, Figure, Nature, Phase, RunRecord, Work};
use drivelab_core::workload::{Pace, WorkloadOptions};
use drivelab_stats::{Verdict, WarningId};

use crate::comparison::tests::{record, undated};
use crate::text::Look;

fn options(factors: &[&str]) -> CompareOptions {
    let factors = factors.iter().map(|name| (*name).to_owned()).collect();
    CompareOptions { primary: None, margin: 0.03, seed: 1, factors, unpaired: None }
}

fn runs(latency: u64, change: impl Fn(&mut RunRecord)) -> Vec<RunRecord> {
    let run = |i| {
        let mut run = record(latency + i, "one");
        change(&mut run);
        run
    };
    (0..8).map(run).collect()
}

fn compared(
    slow: Vec<RunRecord>,
    fast: Vec<RunRecord>,
    factors: &[&str],
) -> Result<CompareResult, Invalid> {
    let arms = undated([("slow".to_owned(), slow), ("fast".to_owned(), fast)]);
    analyse(&from_runs(&arms).unwrap(), &options(factors)).map_err(Invalid::new)
}

#[test]
fn undeclared_work_withholds_the_verdict_and_names_each_key() {
    let wider = |it: &mut RunRecord| {
        it.config.numjobs = 4;
        let options = WorkloadOptions { iodepth: Some(8), ..WorkloadOptions::default() };
        it.config.workload = Some(options.check().unwrap());
    };
    let of = |factors: &[&str]| compared(runs(200, |_| ()), runs(100, wider), factors).unwrap();
    let result = of(&[]);
    assert_eq!(result.verdict(), Verdict::Inconclusive);
    assert_eq!(result.withheld.len(), 1);
    let reason = &result.withheld[0];
    assert_eq!(reason.id, WarningId::WorkDiffers);
    let expected = "`slow` and `fast` did different work: iodepth 1 against 8, numjobs 1 against 4";
    assert_eq!(reason.message, expected);
    assert!(reason.hint.contains("--factor iodepth --factor numjobs what"), "{}", reason.hint);
    let text = crate::comparison::text(&result, Look { width: 10_000, colour: false });
    assert!(text.contains("The verdict is withheld in IOPS"), "{text}");
    assert_eq!(text.matches("did different work").count(), 1, "{text}");
    let json: serde_json::Value = serde_json::from_str(&crate::comparison::json(&result)).unwrap();
    assert_eq!(json["withheld"][0]["id"], "work-differs");
    assert_eq!(json["work"][0]["key"], "iodepth");
    assert_eq!(json["work"][0]["values"], serde_json::json!([["1"], ["8"]]));
    // One of the two is not enough.
    assert_eq!(of(&["iodepth"]).verdict(), Verdict::Inconclusive);
    let declared = of(&["iodepth", "numjobs"]);
    assert_eq!((declared.verdict(), declared.withheld.len()), (Verdict::Faster, 0));
    assert!(declared.notes.iter().any(|note| note.contains("numjobs 1 in `slow`, 4 in `fast`")));
}

#[test]
fn runs_of_one_arm_that_did_different_work_are_named() {
    let mixed = |latency: u64| {
        let mut all = runs(latency, |_| ());
        for run in all.iter_mut().skip(4) {
            run.config.conduct.end_fsync = true;
        }
        all
    };
    let result = compared(mixed(200), mixed(100), &[]).unwrap();
    assert_eq!(result.withheld[0].id, WarningId::WorkMixed);
    assert!(result.withheld[0].message.contains("end_fsync 0 and 1"), "{:?}", result.withheld);
    assert_eq!(result.verdict(), Verdict::Inconclusive);
    let declared = compared(mixed(200), mixed(100), &["end_fsync"]).unwrap();
    assert_eq!(declared.verdict(), Verdict::Faster);
}

#[test]
fn a_factor_is_a_setting_or_a_key_of_the_work() {
    let check = |factor: &str, expected: &str| {
        let error = compared(runs(200, |_| ()), runs(100, |_| ()), &[factor]).unwrap_err();
        assert!(error.0.contains(expected), "{error}");
    };
    check("iodpth", "unknown factor `iodpth`; did you mean `iodepth`?");
    check("shceduler", "did you mean `scheduler`?");
    let at_rate = |latency, per_s| {
        let pace = Pace::Fixed { per_s, iodepth: 1 };
        runs(latency, |run| run.config.workload.as_mut().unwrap().pace = pace)
    };
    let differs = |factors: &[&str]| {
        let result = compared(at_rate(200, 9), at_rate(100, 7), factors).unwrap();
        let found = result.withheld.into_iter().find(|it| it.id == WarningId::WorkDiffers);
        found.map(|it| it.hint)
    };
    assert!(
        !differs(&[]).unwrap().ends_with("--factor rate_iops"),
        "a full stop is copied with it"
    );
    assert_eq!(differs(&["rate"]), None, "as the option is called");
    let result = compared(runs(200, |_| ()), runs(100, |_| ()), &["rw"]).unwrap();
    assert_eq!(result.withheld[0].id, WarningId::FactorUnchanged);
    assert_eq!(result.verdict(), Verdict::Inconclusive);
}

fn imported(name: &str, speed: f64, work: &Work, better: Better) -> ArmResults {
    let run = |step: i32| {
        let value = speed * (1.0 + 0.002 * f64::from(step * 3 % 8));
        let figures = vec![Figure::new("score", value, better)];
        let (phase, nature) = (String::new(), Nature::Disk);
        let (points, remarks) = (Vec::new(), Vec::new());
        let phases = vec![Phase { name: phase, nature, figures, lat_ns: None, points, remarks }];
        let (arm, work) = (name.to_owned(), work.clone());
        ImportedRun { arm, work, phases, ..ImportedRun::default() }
    };
    let runs = (0..8).map(run).collect();
    let file = Imported { tool: "tool".into(), runs, ..Imported::default() };
    ArmResults { name: name.to_owned(), files: vec![file] }
}

#[test]
fn what_one_side_does_not_state_is_named_and_withholds_nothing() {
    let (one, other) =
        (Work::default().with("bs", "4k").with("size", "1G"), Work::default().with("bs", "4k"));
    let arms = |other: &Work| {
        let more = Better::More;
        [imported("old", 100.0, &one, more), imported("new", 200.0, other, more)]
    };
    let result = analyse(&from_foreign(&arms(&other)).unwrap(), &options(&[])).unwrap();
    assert_eq!((result.verdict(), result.withheld.len()), (Verdict::Faster, 0));
    let expected = "Not every arm states: size 1G in `old`, not stated in `new`.";
    assert!(result.notes.contains(&expected.to_owned()), "{:?}", result.notes);
    let nothing = Work::default();
    let result = analyse(&from_foreign(&arms(&nothing)).unwrap(), &options(&[])).unwrap();
    assert_eq!(result.verdict(), Verdict::Faster);
    assert!(result.notes.iter().any(|note| note.contains("`new` do not state what was done")));
}

#[test]
fn two_directions_of_one_metric_are_refused_by_name() {
    let work = Work::default();
    let arms =
        [imported("old", 100.0, &work, Better::More), imported("new", 200.0, &work, Better::Less)];
    let error = analyse(&from_foreign(&arms).unwrap(), &options(&[])).unwrap_err().to_string();
    let expected = "`score` is not comparable: less is better in `new`, elsewhere more";
    assert_eq!(error, expected);
}
