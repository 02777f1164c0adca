//! Arms that differ as they should, and otherwise.

use drivelab_analysis::attachment::{
    ArmSettings, Difference, Question, Sample, difference, facts, line,
};
use drivelab_core::record::{Attached, AttachedDevice, Drawn, FoundFault, RunRecord, Specimen};

use super::*;
use crate::comparison::tests::record;
use crate::text::Look;

/// A run on a disk with these settings: `controller=ahci queue_depth=31`.
pub(crate) fn run(settings: &str) -> RunRecord {
    let mut disk = AttachedDevice { name: "sda".into(), kind: "ata".into(), ..Default::default() };
    for (name, value) in settings.split_whitespace().filter_map(|word| word.split_once('=')) {
        disk.set(name, Some(value));
    }
    let attached = Attached { devices: vec![disk], ..Attached::default() };
    RunRecord { attached: Some(attached), ..record(100, "one") }
}

/// A comparison of one run an arm; each declares what stands behind its settings, after `|`.
fn question(arms: &[(&str, &str)], is_study: bool) -> Question {
    let pairs = |text: &str| {
        let pairs = text.split_whitespace().filter_map(|word| word.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let parts = |text: &str| {
        let (settings, declares) = text.split_once('|').unwrap_or((text, ""));
        (run(settings), pairs(declares))
    };
    let arm =
        |(name, text): &(&str, &str)| ArmSettings { name: (*name).into(), declares: parts(text).1 };
    let samples = arms.iter().enumerate();
    let samples =
        samples.map(|(arm, (_, text))| Sample { arm, group: 0, facts: facts(&parts(text).0) });
    Question {
        does_other_work: false,
        arms: arms.iter().map(arm).collect(),
        factors: Vec::new(),
        is_study,
        pairs: (1..arms.len()).map(|to| (0, to)).collect(),
        samples: samples.collect(),
    }
}

fn study(one: &str, other: &str) -> Vec<String> {
    difference(&question(&[("one", one), ("other", other)], true)).warnings
}

#[test]
fn what_is_declared_and_what_follows_from_it_is_no_surprise() {
    let check = |one: &str, other: &str| assert_eq!(study(one, other), [""; 0], "{one} {other}");
    check("scheduler=none|scheduler=none", "scheduler=bfq|scheduler=bfq");
    check(
        "scheduler=none nr_requests=64|scheduler=none",
        "scheduler=bfq nr_requests=256|scheduler=bfq",
    );
    check(
        "controller=ide queue_depth=1 ncq=off driver=ata_piix|controller=ide",
        "controller=ahci queue_depth=31 ncq=on driver=ahci|controller=ahci",
    );
    // Arms that declare nothing are an A/A study.
    check("scheduler=none", "scheduler=none");
    // What one arm does not show is no difference that is known.
    check("scheduler=none|scheduler=none", "scheduler=bfq link_gbps=3.0|scheduler=bfq");
}

#[test]
fn more_than_the_declared_factor_is_told() {
    assert_eq!(
        study(
            "scheduler=none queue_depth=1|scheduler=none",
            "scheduler=bfq queue_depth=31|scheduler=bfq"
        ),
        ["The arms differ in scheduler and queue_depth; the study declares only scheduler: the \
          effect cannot be attributed to it."]
    );
    // The confound of the published comparisons: the kernel keeps two requests for an IDE disk.
    let warnings = study(
        "controller=ide queue_depth=1 nr_requests=2|controller=ide",
        "controller=ahci queue_depth=31 nr_requests=64|controller=ahci",
    );
    assert!(warnings[0].contains("differ in controller and nr_requests"), "{warnings:?}");
    assert_eq!(
        study("scheduler=none", "scheduler=bfq"),
        ["The arms differ in scheduler, and the study declares no difference."]
    );
}

#[test]
fn a_factor_that_does_not_differ_is_told() {
    assert_eq!(
        study(
            "controller=ahci queue_depth=1|controller=ide",
            "controller=ahci queue_depth=1|controller=ahci"
        ),
        ["The study declares controller, but both arms ran with controller ahci, queue depth 1."]
    );
    assert_eq!(
        study("scheduler=none|scheduler=none", "scheduler=none|scheduler=bfq"),
        ["The study declares scheduler, but both arms ran with scheduler none."]
    );
    // The controllers differ, and what makes AHCI worth having is in neither.
    assert_eq!(
        study(
            "controller=ide-compatibility queue_depth=1|controller=ide",
            "controller=ahci queue_depth=1|controller=ahci"
        ),
        ["Both arms ran with queue depth 1: neither used command queuing, which this change is \
          meant to improve."]
    );
    // An arm that turns NCQ off means it.
    assert_eq!(
        study(
            "controller=ide queue_depth=1|controller=ide",
            "controller=ahci queue_depth=1|controller=ahci ncq=off"
        ),
        [""; 0]
    );
}

#[test]
fn only_a_factor_that_was_declared_outright_and_seen_withholds_a_verdict() {
    let check = |factors: &[&str], one: &str, other: &str, expected: &[&str]| {
        let mut asked = question(&[("one", one), ("other", other)], true);
        asked.factors = factors.iter().map(|name| (*name).to_owned()).collect();
        let unchanged = difference(&asked).unchanged;
        let values: Vec<&str> = unchanged.iter().map(|it| it.values.as_str()).collect();
        assert_eq!(values, expected, "{factors:?}: {one}, {other}");
    };
    check(&["scheduler"], "scheduler=none", "scheduler=none", &["scheduler none"]);
    check(&["scheduler"], "scheduler=none", "scheduler=bfq", &[]);
    // Not seen in one of them, or guessed from what a command speaks of.
    check(&["scheduler"], "scheduler=none", "queue_depth=1", &[]);
    check(&[], "scheduler=none|scheduler=none", "scheduler=none|scheduler=bfq", &[]);
    // One of two that were declared is enough.
    let both = ["scheduler", "ncq"];
    check(&both, "scheduler=none ncq=on", "scheduler=none ncq=off", &[]);
    check(&both, "scheduler=none ncq=on", "scheduler=none ncq=on", &["scheduler none, ncq on"]);
    // Two drives of one model.
    check(&["drive"], "model=x capacity_bytes=9", "model=x capacity_bytes=9", &[]);
}

#[test]
fn a_command_that_names_no_factor_is_taken_to_have_done_something() {
    let alike = "scheduler=none queue_depth=31|=./one.sh";
    let other = "scheduler=none queue_depth=31|=./other.sh";
    assert_eq!(
        study(alike, other),
        ["An inspection sees no difference: both arms ran with queue depth 31, scheduler \
          none."]
    );
    let changed = "scheduler=bfq queue_depth=1|=./other.sh";
    let warnings = study(alike, changed);
    assert!(warnings[0].contains("in the study: `factor = \"NAME\"`"), "{warnings:?}");
}

#[test]
fn stored_runs_declare_nothing_but_what_is_asked() {
    let check = |one, other, factor: &str, expected: &str| {
        let mut question = question(&[("a", one), ("b", other)], false);
        question.factors.extend((!factor.is_empty()).then(|| factor.to_owned()));
        let warnings = difference(&question).warnings.join("\n");
        let fits =
            if expected.is_empty() { warnings.is_empty() } else { warnings.contains(expected) };
        assert!(fits, "{one} {other} {factor}: {warnings}");
    };
    let (ide, ahci) = ("controller=ide queue_depth=1", "controller=ahci queue_depth=31");
    check(ide, ahci, "", "");
    check(ide, ahci, "controller", "");
    check(ide, ahci, "scheduler", "differ in controller; `--factor` says only scheduler");
    check(ide, "controller=ahci queue_depth=31 read_ahead_kb=0", "", "");
    let (none, bfq) = ("queue_depth=1 scheduler=none", "queue_depth=31 scheduler=bfq");
    check(none, bfq, "", "differ in queue_depth and scheduler: the effect");
    check(none, bfq, "scheduler", "differ in scheduler and queue_depth; `--factor` says only");
    check(none, none, "", "both arms ran with queue depth 1, scheduler none");
    check(none, none, "scheduler", "but both arms ran with scheduler none");
}

#[test]
fn runs_without_an_inspection_are_compared_by_what_they_say() {
    let mut question = question(&[("a", ""), ("b", "")], false);
    for sample in &mut question.samples {
        sample.facts = facts(&record(100, "one"));
    }
    assert_eq!(difference(&question), Difference::default());
}

#[test]
fn an_arm_that_changed_on_the_way_is_told() {
    let mut question = question(
        &[("a", "scheduler=none|scheduler=none"), ("b", "scheduler=bfq|scheduler=bfq")],
        true,
    );
    question.samples.push(Sample { arm: 1, group: 0, facts: facts(&run("scheduler=none")) });
    let found = difference(&question);
    assert!(found.warnings[0].contains("`b` were not all made alike: scheduler"), "{found:?}");
    assert_eq!(found.rows[0].values[1].as_deref(), Some("bfq or none"));
}

#[test]
fn what_is_drawn_for_each_block_did_not_change_on_the_way() {
    let warnings = |number| {
        let drawn = vec![Drawn { name: "write_cache_bytes".into(), value: 1e6, score: 0.0 }];
        let specimen = Specimen { number, drawn, model_sigma: 0.1, variant_of: None };
        let run = |bytes: &str| RunRecord {
            specimen: Some(specimen.clone()),
            ..run(&format!("scheduler=none write_cache_bytes={bytes}"))
        };
        let mut question = question(&[("a", ""), ("b", "")], true);
        question.samples = [(0, "1000"), (0, "2000"), (1, "1000"), (1, "2000")]
            .map(|(arm, bytes)| Sample { arm, group: 0, facts: facts(&run(bytes)) })
            .into();
        difference(&question).warnings.concat()
    };
    assert!(!warnings(Some(3)).contains("made alike"), "{}", warnings(Some(3)));
    // The median drive is the same in all blocks: somebody changed it.
    assert!(warnings(None).contains("write_cache_bytes varied"), "{}", warnings(None));
}

#[test]
fn a_setting_of_a_workload_is_no_difference_of_the_arms() {
    let mut question = question(&[("a", ""), ("b", "")], true);
    question.samples.clear();
    for arm in 0..2 {
        for (group, cache) in ["on", "off"].iter().enumerate() {
            let facts = facts(&run(&format!("write_cache={cache}")));
            question.samples.push(Sample { arm, group, facts });
        }
    }
    let found = difference(&question);
    assert_eq!((found.rows, found.warnings), (Vec::new(), Vec::new()));
}

#[test]
fn a_stack_is_told_by_its_drives_and_what_is_made_of_them() {
    let mut record = run("queue_depth=31");
    let attached = record.attached.as_mut().unwrap();
    let mut second = attached.devices[0].clone();
    second.name = "sdb".into();
    second.set("queue_depth", Some(1_u32));
    second.findings = vec![
        FoundFault { id: "ncq-off".into(), severity: "error".into(), message: String::new() },
        FoundFault {
            id: "write-cache-volatile".into(),
            severity: "warn".into(),
            message: String::new(),
        },
    ];
    attached.devices.push(second);
    let made_of = vec!["sda".to_owned(), "sdb".to_owned()];
    let mut array =
        AttachedDevice { name: "md0".into(), kind: "md".into(), made_of, ..Default::default() };
    array.set("level", Some("raid1"));
    attached.devices.insert(0, array);
    let facts = facts(&record);
    let check = |name: &str, expected| assert_eq!(facts.get(name).map(String::as_str), expected);
    check("queue_depth", Some("31, 1"));
    check("md.level", Some("raid1"));
    check("made_of", Some("md, ata, ata"));
    check("findings", Some("ncq-off"));
}

#[test]
fn the_table_is_read_at_a_glance() {
    let arms = [
        ("ide", "controller=ide queue_depth=1 nr_requests=2|controller=ide"),
        ("ahci", "controller=ahci queue_depth=31 nr_requests=64 ncq=on|controller=ahci"),
    ];
    let found = difference(&question(&arms, true));
    let shown = text(&found, &["ide", "ahci"], Look { width: 80, colour: false });
    insta::assert_snapshot!(shown, @r"
    attached with  ide  ahci
    controller     ide  ahci
    ncq            -    on
    nr_requests    2    64    not declared
    queue_depth    1    31
    Warning: The arms differ in controller and nr_requests; the study declares only
      controller: the effect cannot be attributed to it.
    ");
    assert!(shown.lines().count() <= 10);
}

#[test]
fn a_run_says_how_it_was_attached() {
    let check = |record: &RunRecord, expected: Option<&str>| {
        assert_eq!(line(record).as_deref(), expected);
    };
    check(
        &run("controller=ide queue_depth=1 rpm=7200 write_cache=write_back"),
        Some("sda (ata): controller ide, queue depth 1, cache write_back"),
    );
    check(&record(100, "one"), None);
    let unseen = Some("`/tmp/x` is in memory".to_owned());
    let attached = Some(Attached { unseen, ..Attached::default() });
    check(&RunRecord { attached, ..run("") }, Some("unknown: `/tmp/x` is in memory"));
}

#[test]
fn simulated_runs_are_known_as_such_unless_one_may_be_a_copy() {
    use drivelab_core::record::{Mark, MarkId};
    use drivelab_stats::Provenance;
    let simulated = |seed| {
        let mut record = RunRecord { host: None, ..run("") };
        record.marks = vec![Mark { id: MarkId::Modelled, message: String::new() }];
        record.config.seed = seed;
        record
    };
    let check = |one: Vec<RunRecord>, other: Vec<RunRecord>, expected| {
        let arms = [("a".to_owned(), one), ("b".to_owned(), other)];
        let arms = crate::comparison::tests::undated(arms);
        let input = drivelab_analysis::comparison::from_runs(&arms).unwrap();
        assert_eq!(input.provenance, expected);
    };
    let runs = |seeds: &[u64]| seeds.iter().map(|seed| simulated(*seed)).collect::<Vec<_>>();
    check(runs(&[1, 2, 3]), runs(&[1, 2, 3]), Provenance::Simulated);
    check(runs(&[1, 2, 2]), runs(&[1, 2, 3]), Provenance::Unknown);
    check(runs(&[1, 2]), vec![run(""), run("")], Provenance::Unknown);
}
