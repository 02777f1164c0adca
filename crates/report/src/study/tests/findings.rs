//! Claims about figures, and runs whose figures answer none.

use drivelab_core::question::Finding;
use drivelab_core::record::Flaw;
use drivelab_stats::{Interacts, Verdict};

use super::super::{json, text};
use super::fixture::experiment;
use super::{PLAIN, factorial, small, stalled};
use drivelab_analysis::attachment::{ArmSettings, Question, Sample};
use drivelab_analysis::study::{Answer, FindingResult, Price, RunSample, StudyResult, analyse};

#[test]
fn findings_hold_where_their_whole_interval_does() {
    use Answer::{CannotTell, DoesNotHold, Holds};
    let mut it = experiment(1, 10);
    let finding = |name: &str, figure: &str, at_least, at_most| Finding {
        name: name.into(),
        figure: figure.into(),
        source: "an article".into(),
        at_least,
        at_most,
        ..Finding::default()
    };
    it.arms[3].price_usd = Some(131.0);
    it.findings = vec![
        finding("half more", "random-read-32.iops of ahci-ncq over ide", Some(1.5), None),
        finding("twice", "random-read-32.iops of ahci-ncq over ide", Some(2.0), None),
        finding("130 or more", "random-read-32.iops of ahci-ncq", Some(131.0), None),
        finding("cheap", "random-read-32.iops_per_usd of ahci-ncq", Some(0.9), Some(1.1)),
        finding("no price", "random-read-32.iops_per_usd of ide", Some(0.9), None),
        finding("no metric", "random-read-32.iopss of ide", Some(0.9), None),
    ];
    let result = analyse(it.clone()).unwrap();
    let answers: Vec<Answer> = result.findings.iter().map(|one| one.answer).collect();
    assert_eq!(answers, [Holds, DoesNotHold, CannotTell, Holds, CannotTell, CannotTell]);
    let why = |at: usize| result.findings[at].why.clone().unwrap_or_default();
    assert!(why(4).contains("`ide` has no `price_usd`"), "{}", why(4));
    assert!(why(5).contains("did you mean `random-read-32.iops`?"), "{}", why(5));
    let told = text(&result, PLAIN).replace("\n  ", " ");
    assert!(told.contains("Holds: half more: `random-read-32.iops of ahci-ncq over ide` is x1.72"));
    assert!(told.contains("stated: 0.900 IOPS a dollar to 1.10 IOPS a dollar"), "{told}");
    let document: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    assert_eq!(document["findings"][1]["verdict"], "does-not-hold");
    assert!(crate::page::of_study(&result, &[]).contains("Claims checked"));
    // With few blocks nothing is decided, however clear the figure.
    let mut few = it.clone();
    few.runs.retain(|run| run.block < 3);
    let few = analyse(few).unwrap();
    assert!(few.findings.iter().all(|one| one.answer == CannotTell));
}

#[test]
fn a_claim_that_the_study_cannot_answer_says_why_and_keeps_its_figure() {
    let mut it = experiment(1, 10);
    it.article = Some(0);
    let finding = |figure: &str| Finding {
        name: format!("claim about {figure}"),
        figure: figure.into(),
        published: "24,781 to 31,110 1/s".into(),
        cannot_tell: Some("it needs a file system".into()),
        ..Finding::default()
    };
    it.findings = vec![finding(""), finding("random-read-32.iops of ahci-ncq over ide")];
    let result = analyse(it).unwrap();
    let told: Vec<String> = result.findings.iter().map(FindingResult::sentence).collect();
    assert!(result.findings.iter().all(|one| one.answer == Answer::CannotTell), "{told:?}");
    let end = "published: 24,781 to 31,110 1/s; it needs a file system.";
    assert!(told[0].ends_with(&format!("not measured; {end}")), "{told:?}");
    assert!(told[1].contains("is x1.72") && told[1].ends_with(end), "{told:?}");
    let document: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    assert_eq!(document["article"], 0);
    assert_eq!(document["findings"][0]["published"], "24,781 to 31,110 1/s");
    assert!(document["findings"][0]["shown"].is_null());
    assert!(document["findings"][1]["shown"]["value"].as_str().unwrap().starts_with("x1.72"));
}

/// A claim that clean runs bear out: about the ratio, and about one arm alone.
fn claims() -> Vec<Finding> {
    let finding = |figure: &str, at_least| Finding {
        name: format!("claim about {figure}"),
        figure: figure.into(),
        at_least: Some(at_least),
        ..Finding::default()
    };
    vec![
        finding("random-read-32.iops of ahci-ncq over ide", 1.5),
        finding("random-read-32.iops of ahci-ncq", 120.0),
        finding("random-read-32.iops of ide", 60.0),
    ]
}

fn answers(result: &StudyResult) -> Vec<(Answer, &str)> {
    let all = &result.findings;
    assert!(all.iter().all(|it| it.why.is_some() == (it.answer == Answer::CannotTell)));
    result.findings.iter().map(|it| (it.answer, it.why.as_deref().unwrap_or_default())).collect()
}

#[test]
fn a_finding_from_flawed_runs_cannot_be_told_and_says_why() {
    let check = |flaw: Option<Flaw>, words: &str| {
        let mut it = small([0, 3], 3);
        it.findings = claims();
        for run in it.runs.iter_mut().filter(|run| run.arm == 1 && run.block == 2) {
            run.flaws.extend(flaw.clone());
        }
        let result = analyse(it).unwrap();
        let answers = answers(&result);
        // The other arm is what it was.
        assert_eq!(answers[2], (Answer::Holds, ""));
        for (answer, why) in &answers[..2] {
            let expected = if flaw.is_some() { Answer::CannotTell } else { Answer::Holds };
            assert_eq!(*answer, expected, "{flaw:?}");
            assert!(why.contains(words), "{flaw:?}: {why}");
        }
    };
    check(None, "");
    let failed = Flaw::Failed { failed: 94, requests: 100 };
    check(Some(failed), "94 % of the requests of `ahci-ncq` failed");
    check(Some(Flaw::Nothing), "completed no request in 1 of 10 runs; repeat the runs");
    check(Some(Flaw::Behind { issued: 9, due: 100 }), "did not keep up with the rate");
    let what = "its size went from 2 to 1 bytes".to_owned();
    check(Some(Flaw::Changed { what }), "its size went from 2 to 1 bytes");
}

#[test]
fn an_interaction_or_a_price_from_flawed_runs_is_withheld() {
    let check = |flaw: Option<Flaw>| {
        let mut it = factorial();
        it.arms.iter_mut().for_each(|arm| arm.price_usd = Some(50.0));
        let primary = it.workloads.iter().position(|it| it.name == "random-read-32").unwrap();
        let of_work = |run: &&mut RunSample| (run.workload, run.arm) == (primary, 3);
        for run in it.runs.iter_mut().filter(of_work) {
            run.flaws.extend(flaw.clone());
        }
        let result = analyse(it).unwrap();
        let first = &result.interactions[0];
        let document: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
        let told = text(&result, PLAIN);
        let is_doubtful = flaw.is_some();
        assert_eq!(first.withheld.is_some(), is_doubtful, "{flaw:?}");
        assert_eq!(first.verdict == Interacts::Interact, !is_doubtful, "{flaw:?}");
        assert_eq!(told.contains("The factors interact: `mode`"), !is_doubtful, "{told}");
        assert_eq!(told.contains("Interaction withheld:"), is_doubtful, "{told}");
        let of_json = &document["interactions"][0]["interaction"]["withheld"];
        assert_eq!(of_json.is_string(), is_doubtful, "{of_json}");
        let series = |price: &&Price| result.series[price.series].workload == primary;
        let price = result.prices.iter().find(series).unwrap();
        let withheld: Vec<bool> = price.arms.iter().map(|arm| arm.withheld.is_some()).collect();
        assert_eq!(withheld, [false, false, false, is_doubtful]);
        assert!(first.withheld.iter().all(|why| why.contains("`ahci-ncq`")), "{first:?}");
        // Other workloads are what they were.
        assert!(result.interactions[1..].iter().all(|one| one.withheld.is_none()));
    };
    check(None);
    check(Some(Flaw::Failed { failed: 94, requests: 100 }));
    check(Some(Flaw::Behind { issued: 9, due: 100 }));
}

#[test]
fn a_finding_about_arms_whose_factor_did_not_differ_cannot_be_told_in_either_order() {
    let finding = |figure: &str| Finding {
        name: figure.into(),
        figure: figure.into(),
        at_least: Some(0.1),
        ..Finding::default()
    };
    let mut it = small([0, 3], 3);
    it.findings = vec![
        finding("random-read-32.iops of ahci-ncq over ide"),
        finding("random-read-32.iops of ide over ahci-ncq"),
    ];
    assert!(analyse(it.clone()).unwrap().findings.iter().all(|it| it.answer == Answer::Holds));
    let arm = |name: &str| ArmSettings { name: name.into(), declares: Vec::new() };
    let facts = || [("queue_depth".to_owned(), "1".to_owned())].into_iter().collect();
    it.attached = Question {
        arms: vec![arm("ide"), arm("ahci-ncq")],
        factors: vec!["queue-depth".into()],
        is_study: true,
        pairs: vec![(0, 1)],
        samples: vec![
            Sample { arm: 0, group: 0, facts: facts() },
            Sample { arm: 1, group: 0, facts: facts() },
        ],
        ..Question::default()
    };
    let result = analyse(it).unwrap();
    for (answer, why) in answers(&result) {
        assert_eq!(answer, Answer::CannotTell);
        assert!(why.contains("the declared factor did not differ"), "{why}");
    }
}

#[test]
fn a_finding_from_the_blocks_that_are_left_of_a_stalled_arm_cannot_be_told() {
    let mut it = stalled(small([0, 3], 3), 1, &[4]);
    it.findings = claims();
    let result = analyse(it).unwrap();
    assert_eq!(result.verdict(), Verdict::Inconclusive);
    let answers = answers(&result);
    for (answer, why) in &answers[..2] {
        assert_eq!(*answer, Answer::CannotTell);
        assert!(why.contains("`ahci-ncq` completed no request in block 5"), "{why}");
    }
    assert_eq!(answers[2].0, Answer::Holds);
}

#[test]
fn a_figure_of_one_arm_is_the_mean_that_its_interval_is_about() {
    let mut it = small([0, 3], 3);
    // Skewed: the median of 10 runs is far below their geometric mean.
    for run in it.runs.iter_mut().filter(|run| run.arm == 1 && run.block < 4) {
        let iops = run.metrics.iter_mut().find(|metric| metric.name == "iops").unwrap();
        iops.value *= 4.0;
    }
    it.findings = claims();
    let result = analyse(it).unwrap();
    let series = &result.series[result.primary().series];
    let (value, ci95) = (result.findings[1].value.unwrap(), result.findings[1].ci95.unwrap());
    assert_eq!(value.to_bits(), series.mean(1).to_bits());
    // The interval is made of logarithms, around the geometric mean.
    assert!((value / ci95[0] - ci95[1] / value).abs() < 1e-9, "{value} in {ci95:?}");
}
