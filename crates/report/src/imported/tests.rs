//! Two trials that a file holds together, and a run of its own.

use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark};

use super::{json, text};
use crate::text::Look;

fn results() -> Imported {
    let run = |line, arm: &str, value, remarks| {
        let unit = "KiB/s".to_owned();
        let figures = vec![
            Figure { unit, ..Figure::new("rewrite", value, Better::More) },
            Figure { is_detail: true, ..Figure::new("lat_max_ns", 9.0, Better::Less) },
        ];
        let (name, nature) = ("rewrite".to_owned(), Nature::Disk);
        let points = Vec::new();
        let phases = vec![Phase { name, nature, figures, lat_ns: None, points, remarks }];
        ImportedRun { line, arm: arm.into(), phases, ..ImportedRun::default() }
    };
    let once = || vec![Remark::new(Label::SingleRun, "one run")];
    let runs = vec![
        run(1, "kvm", 10.0, Vec::new()),
        run(1, "kvm", 14.0, Vec::new()),
        run(2, "kvm", 99.5, once()),
    ];
    let unknown = vec!["line 3: `hello`".to_owned()];
    let notes = vec!["It was corrected.".to_owned()];
    Imported { tool: "bonnie++".into(), tool_version: "1.96".into(), runs, unknown, notes }
}

#[test]
fn trials_that_stand_together_are_averaged_and_lines_are_not() {
    let json: serde_json::Value = serde_json::from_str(&json(&results())).unwrap();
    let row = |place: usize, key: &str| json["results"][place][key].clone();
    assert_eq!((row(0, "value"), row(0, "n")), (12.0.into(), 2.into()));
    assert_eq!(row(0, "spread"), libm::sqrt(8.0));
    assert_eq!((row(2, "value"), row(2, "n")), (99.5.into(), 1.into()));
    assert_eq!(row(2, "spread"), serde_json::Value::Null);
    assert_eq!(row(2, "labels"), serde_json::json!(["single-run"]));
    assert_eq!((row(0, "unit"), row(1, "unit")), ("KiB/s".into(), "ns".into()));
    assert_eq!(json["unknown"], serde_json::json!(["line 3: `hello`"]));
}

#[test]
fn text_of_an_import() {
    let look = Look { width: 100, colour: false };
    insta::assert_snapshot!(text(&results(), look), @r"
    bonnie++ 1.96

    arm  metric   value         runs  std. dev.  what it is
    kvm  rewrite   12.0  KiB/s     2       2.83
    kvm  rewrite   99.5  KiB/s     1             single-run

    Doubt: single-run (rewrite): one run.
    Note: It was corrected.
    Not read: line 3: `hello`.
    Note: 2 more figures (latencies) are in the JSON.
    ");
}

#[test]
fn rows_of_several_arms_keep_their_arm_and_values_have_a_prefix() {
    let run = |arm: &str, value| {
        let figures = vec![
            Figure::new("bytes_per_s", value, Better::More),
            Figure::new("a_very_long_name_of_a_metric.lat_mean_ns", 2.5e6, Better::Less),
        ];
        let (name, points, remarks) = (String::new(), Vec::new(), Vec::new());
        let phase = Phase { name, nature: Nature::Disk, figures, lat_ns: None, points, remarks };
        ImportedRun { arm: arm.into(), phases: vec![phase], ..ImportedRun::default() }
    };
    let unknown = (1..=9).map(|line| format!("line {line}: `odd`")).collect();
    let runs = vec![run("ahci", 4_096_000.0), run("ide", 3.26e9)];
    let imported = Imported { tool: "fio".into(), runs, unknown, ..Imported::default() };
    let shown = text(&imported, Look { width: 40, colour: false });
    for part in ["ahci", "ide", "4.10  MB/s", "3.26  GB/s", "2.50  ms", "4 more lines, in the JSON"]
    {
        assert!(shown.contains(part), "no {part} in\n{shown}");
    }
    assert!(!shown.contains("line 6"), "{shown}");
}
