use drivelab_core::crash::Cut;
use drivelab_core::{Lba, Sectors, Time};
use insta::assert_snapshot;

use super::*;
use crate::text::Look;

const LOOK: Look = Look { width: 100, colour: false };

fn failure(cut: &str, finding: Finding, reason: &str) -> Failure {
    Failure { cut: cut.parse().unwrap(), finding, reason: reason.into() }
}

fn test(failures: Vec<Failure>) -> CrashTest {
    CrashTest {
        title: "SQLite".into(),
        file: "sqlite.toml".into(),
        scene: "ext4 on a drive".into(),
        workload: Workload { took: Span::from_ms(12_340), writes: 1203, flushes: 402, lines: 400 },
        planned: 100,
        whole: 100 - failures.len(),
        failures,
        took: Span::from_ms(61_234),
        ..CrashTest::default()
    }
}

#[test]
fn kept_promises() {
    assert_snapshot!(test(Vec::new()).to_text(LOOK));
}

#[test]
fn broken_promises() {
    let lost = |at: u64| failure(&format!("7@{at}s"), Finding::Lost, "5 was acknowledged");
    let mut failures: Vec<Failure> = (1..8).map(lost).collect();
    failures.push(failure("0@9.5s", Finding::Corrupt, "the file system cannot be mounted"));
    let broken = CrashTest { left_out: 900, ..test(failures) };
    assert_snapshot!(broken.to_text(LOOK));
    let json = broken.to_json();
    let keys = ["cuts", "whole", "lost", "corrupt"].map(|key| json[key].as_u64().unwrap());
    assert_eq!(keys, [100, 92, 7, 1]);
    assert_eq!(json["took_s"], 61.23);
    assert_eq!(json["failures"][7]["replay"], "0@9.5s");
    assert_eq!(
        (&json["failures"][7]["seed"], &json["failures"][7]["at_ns"]),
        (&0.into(), &9_500_000_000_u64.into())
    );
}

#[test]
fn the_command_that_repeats_a_failure_has_the_options_of_the_test() {
    let failures = vec![failure("7@1s", Finding::Lost, "5 was acknowledged")];
    let broken = CrashTest { options: " --filesystem xfs".into(), ..test(failures) };
    let command = "drivelab crash sqlite.toml --filesystem xfs --replay 7@1s --explain";
    assert!(broken.to_text(LOOK).contains(command), "{}", broken.to_text(LOOK));
}

#[test]
fn what_was_not_done_is_said() {
    let mut partial = test(Vec::new());
    partial.whole = 12;
    assert!(partial.to_text(LOOK).contains("88 planned cuts were not made"));
    partial.whole = 0;
    let text = partial.to_text(LOOK);
    assert!(text.ends_with("no cut was made, so there is no result\n"), "{text}");
}

#[test]
fn a_check_that_is_too_slow_is_no_finding() {
    let slow = CrashTest {
        whole: 98,
        too_slow: ["0@2s", "7@3s"].map(|cut| cut.parse().unwrap()).into(),
        ..test(Vec::new())
    };
    assert!(!slow.is_partial());
    assert_snapshot!(slow.to_text(LOOK));
    let json = slow.to_json();
    assert_eq!((&json["cuts"], &json["corrupt"]), (&98.into(), &0.into()));
    assert_eq!(json["too_slow"], serde_json::json!(["0@2s", "7@3s"]));
    let none = CrashTest { whole: 0, planned: 2, ..slow };
    assert!(none.to_text(LOOK).ends_with("no cut was checked, so there is no result\n"));
}

#[test]
fn guests_that_disagree_are_named() {
    let cut: Cut = "7@1s".parse().unwrap();
    let agreed = Disagreement::between(cut, Finding::Whole, Finding::Whole);
    assert_eq!(agreed, None);
    let differs = Disagreement::between(cut, Finding::Whole, Finding::Lost);
    let broken = CrashTest {
        twice: 12,
        disagreements: differs.into_iter().collect(),
        unconfirmed: 2,
        planned: 103,
        ..test(vec![failure("7@1s", Finding::Lost, "5 was acknowledged")])
    };
    assert_snapshot!(broken.to_text(LOOK));
    let json = broken.to_json();
    assert_eq!((&json["checked_twice"], &json["unconfirmed"]), (&12.into(), &2.into()));
    let differs = &json["disagreements"][0];
    let keys = ["replay", "shared", "alone"].map(|key| differs[key].as_str().unwrap());
    assert_eq!(keys, ["7@1s", "whole", "lost"]);
}

#[test]
fn a_failure_explained() {
    let cut: Cut = "0@9.5s".parse().unwrap();
    let write = |lba, sectors| LostWrite {
        lba: Lba::new(lba),
        sectors: Sectors::new(sectors),
        lost: Sectors::new(8),
        age: Span::from_us(1234),
        acknowledged: lba > 1000,
        holds: "journal".into(),
    };
    let explanation = Explanation {
        cut,
        volatile: 12,
        lost: vec![write(264, 16), write(8880, 8)],
        smallest: vec![write(8880, 8)],
        is_smallest: true,
        trials: 9,
        lines: 5,
        before: vec![Moment { at: Time::from_ns(9_400_000_000), what: "printed: 5".into() }],
    };
    let failures = vec![failure("0@9.5s", Finding::Corrupt, "the file system is damaged")];
    let explained = CrashTest { explanation: Some(explanation), ..test(failures) };
    assert_snapshot!(explained.to_text(LOOK));
    assert_eq!(explained.to_json()["explanation"]["smallest_loss"][0]["lba"], 8880);
}
