use drivelab_core::record::{Kept, KeptFigure, Origin};

use super::*;
use crate::text::Look;

fn run(number: u64, label: &str) -> Kept {
    Kept {
        id: format!("01KA9Z0000000000000000000{number}"),
        time_ms: 1_795_000_000_000 + 60_000 * number,
        origin: Origin::Run,
        target: "drive:seagate-st31000333as,controller=ahci".into(),
        drive: Some("seagate-st31000333as".into()),
        host: None,
        suite: None,
        label: Some(label.into()),
        spark: "▇▇█▇".into(),
        figure: Some(KeptFigure { name: "iops".into(), value: 71.6, unit: String::new() }),
    }
}

#[test]
fn the_list_is_a_table() {
    let runs = [run(1, "before"), run(2, "odd\u{1b}[2Jlabel")];
    insta::assert_snapshot!(text(&runs, Look { width: 120, colour: false }));
}

#[test]
fn the_document_has_the_keys_of_the_contract() {
    let found = json(&[run(1, "before")]);
    let one = &found["runs"][0];
    for key in ["id", "time", "label", "suite", "target", "drive", "host", "primary"] {
        assert!(one.get(key).is_some(), "{key}: {found}");
    }
    assert_eq!(one["time"], "2026-11-18T11:07:40Z");
    assert_eq!(one["primary"]["value"], 71.6);
}

#[test]
fn no_time_is_beyond_words() {
    assert_eq!(minute(0), "1970-01-01 00:00");
    assert!(minute(u64::MAX).starts_with("9999"), "{}", minute(u64::MAX));
}
