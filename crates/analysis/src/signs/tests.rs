use drivelab_core::measurements::Measurements;

use super::{Confidence, of};

/// A disk of 7,200 rpm with its cache on and its queue in use.
const DISK: &str = r"
[drive]
capacity_bytes = 1_000_204_886_016
rpm = 7200
[random_read_qd1]
iops = 71.0
mean_ms = 14.08
[random_read_qd32]
iops = 150.0
[random_write_qd1]
iops = 2000.0
mean_ms = 0.5
[sequential]
read_outer_mb_per_s = 123
read_middle_mb_per_s = 105
read_inner_mb_per_s = 64
[[flush]]
writes = 64
mean_ms = 340
";

const FLASH: &str = r#"
[drive]
capacity_bytes = 500_107_862_016
kind = "ssd"
[random_read_qd1]
iops = 8000
mean_ms = 0.125
[random_read_qd2]
iops = 15_500
[random_read_qd4]
iops = 29_000
[random_read_qd8]
iops = 29_500
[random_read_qd32]
iops = 29_400
[sequential]
read_outer_mb_per_s = 510
read_inner_mb_per_s = 508
[[cached_write]]
writes = 64
p50_ms = 0.031
[[flush]]
writes = 64
mean_ms = 1.8
"#;

/// The value of a sign after a replacement in a text.
fn check(text: &str, (from, to): (&str, &str), (id, value): (&str, Option<&str>)) {
    assert!(text.contains(from), "{from}");
    let measured = Measurements::read("m.toml", &text.replace(from, to)).unwrap();
    let signs = of(&measured);
    let sign = signs.iter().find(|it| it.id == id);
    assert_eq!(sign.and_then(|it| it.value), value, "{from} -> {to}: {signs:#?}");
    let is_unknown = |confidence| confidence == Confidence::CannotTell;
    assert!(signs.iter().all(|it| it.value.is_none() == is_unknown(it.confidence)), "{signs:#?}");
}

const SAME: (&str, &str) = ("[drive]", "[drive]");

#[test]
fn a_disk_is_described_by_its_times() {
    for (id, value) in [
        ("rotation", "rotates"),
        ("zones", "zoned"),
        ("queue", "used"),
        ("write-cache", "acknowledges-early"),
        ("flush", "waits"),
    ] {
        check(DISK, SAME, (id, Some(value)));
    }
    check(DISK, SAME, ("limit", None));
    check(DISK, SAME, ("smr", None));
}

#[test]
fn a_setting_that_is_off_shows() {
    check(DISK, ("iops = 150.0", "iops = 72.0"), ("queue", Some("one-at-a-time")));
    check(DISK, ("iops = 150.0", "iops = 90.0"), ("queue", None));
    let slow = ("iops = 2000.0\nmean_ms = 0.5", "iops = 70.0\nmean_ms = 14.3");
    check(DISK, slow, ("write-cache", Some("waits")));
    // Without a cache there is nothing to flush.
    check(DISK, slow, ("flush", None));
    let between = ("iops = 2000.0\nmean_ms = 0.5", "iops = 200.0\nmean_ms = 5.0");
    check(DISK, between, ("write-cache", None));
    let full = ("iops = 2000.0\nmean_ms = 0.5", "iops = 123.0\nmean_ms = 8.1\np10_ms = 0.07");
    check(DISK, full, ("write-cache", Some("acknowledges-early")));
    check(DISK, ("mean_ms = 340", "mean_ms = 0.2"), ("flush", Some("not-carried-out")));
    check(DISK, ("mean_ms = 340", "mean_ms = 20"), ("flush", None));
    check(DISK, ("middle_mb_per_s = 105", "middle_mb_per_s = 123"), ("limit", Some("limited")));
}

#[test]
fn flash_has_no_revolutions_and_a_depth_from_which_more_brings_nothing() {
    check(FLASH, SAME, ("rotation", Some("solid-state")));
    check(FLASH, SAME, ("zones", Some("level")));
    check(FLASH, SAME, ("queue", Some("used")));
    check(FLASH, SAME, ("write-cache", Some("acknowledges-early")));
    check(FLASH, SAME, ("flush", Some("waits")));
    check(FLASH, ("mean_ms = 1.8", "mean_ms = 0.01"), ("flush", Some("free")));
    check(FLASH, ("p50_ms = 0.031", "p50_ms = 0.4"), ("write-cache", None));
    let measured = Measurements::read("m.toml", FLASH).unwrap();
    let queue = of(&measured).into_iter().find(|it| it.id == "queue").unwrap();
    assert!(queue.words.contains("at most 4 at once"), "{queue:?}");
}

#[test]
fn what_was_not_measured_is_unknown_and_says_what_would_show_it() {
    let bare = Measurements::of_drive(1 << 40, None).unwrap();
    for sign in of(&bare) {
        assert_eq!(sign.confidence, Confidence::CannotTell, "{sign:?}");
        assert!(!sign.evidence.is_empty(), "{sign:?}");
    }
}
