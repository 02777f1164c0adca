//! Terse lines of every version, made from one description of their fields.

use super::*;
use drivelab_core::record::Phase;

/// The fields of a direction: 41, or 47 in version 5.
fn direction(version: &str, (rate, iops, clat): (u32, u32, f64)) -> String {
    let listed = (0..LISTED).map(|at| match at {
        6 => "50.000000%=700".to_owned(),
        12 => "99.000000%=900".to_owned(),
        _ => format!("{at}.000000%=1"),
    });
    let percentiles = listed.collect::<Vec<_>>().join(";");
    let mut text = format!(
        "1048576;{rate};{iops};100000;5;6;7.5;1.0;10;20;{clat:.6};2.0;{percentiles};11;21;{:.6};3.0;1;2;\
         50.0%;3.0;4.0",
        clat + 9.0
    );
    if version == "5" {
        text += ";8;1;2;3.0;4.0;8";
    }
    text
}

fn line(version: &str, group: u32, reads: (u32, u32, f64)) -> String {
    let none = direction(version, (0, 0, 0.0));
    let others = if version == "3" { none } else { format!("{none};{none}") };
    let rest = "0.4%;5.1%;1;0;55;100.0%;0.0%";
    format!("{version};fio-3.28;seq;{group};0;{};{others};{rest}", direction(version, reads))
}

fn values(text: &str) -> Vec<Vec<(String, f64)>> {
    let of_phase = |phase: &Phase| {
        phase.metrics().map(|figure| (figure.name, figure.value)).collect::<Vec<_>>()
    };
    parse(text).unwrap().runs.iter().map(|run| of_phase(&run.phases[0])).collect()
}

#[test]
fn every_version_has_its_layout() {
    for version in ["3", "4", "5"] {
        let text = line(version, 0, (86_867, 84, 82_332.5));
        assert!(is_terse(&text), "version {version}");
        let found = &values(&text)[0];
        let get = |name: &str| found.iter().find(|(it, _)| it == name).map(|(_, value)| *value);
        assert_eq!(get("iops"), Some(84.0), "version {version}");
        assert_eq!(get("bytes_per_s"), Some(86_867.0 * 1024.0));
        assert_eq!(get("clat_mean_ns"), Some(82_332_500.0));
        assert_eq!(get("lat_mean_ns"), Some(82_341_500.0));
        assert_eq!(get("clat_p50_ns"), Some(700_000.0));
        // 8400 requests are too few for the 99th percentile.
        assert_eq!(get("clat_p99_ns"), None);
        assert_eq!(get("write_iops"), None);
    }
}

#[test]
fn a_lower_group_begins_another_call() {
    let of = |group| line("3", group, (100, 10, 5.0));
    let parsed = parse(&format!("{}\n{}\n{}\n", of(0), of(1), of(0))).unwrap();
    assert_eq!(parsed.runs.len(), 2);
    assert_eq!(parsed.tool_version, "3.28");
}

/// A line that ends with the load of a disk.
fn line_with_disk(load: &str) -> String {
    let between = ["0"; BETWEEN - 7].join(";");
    format!("{};{between};sda;{load};1.00%\n", line("3", 0, (100, 10, 5.0)))
}

/// The first figure of each run.
fn iops(text: &str) -> Vec<f64> {
    values(text).iter().map(|run| run[0].1).collect()
}

#[test]
fn copies_of_a_job_share_their_disks_and_calls_do_not() {
    let (one, other) = (line_with_disk("5;6;7;8;9;1;2"), line_with_disk("6;6;7;8;9;1;2"));
    assert_eq!(iops(&format!("{one}{one}")), [20.0]);
    assert_eq!(iops(&format!("{one}{other}")), [10.0, 10.0]);
    // Without disks nothing says that they ran together.
    let none = line("3", 0, (100, 10, 5.0));
    let parsed = parse(&format!("{none}\n{none}\n")).unwrap();
    assert_eq!(parsed.runs.len(), 2);
    assert!(parsed.notes.iter().any(|note| note.contains("group_reporting")), "{:?}", parsed.notes);
}

#[test]
fn other_lines_with_semicolons_are_not_terse() {
    for text in ["2;card0;0;0;7139336;121836", "3;fio-2.1;a;0;0;1", "a;b;c", ""] {
        assert!(!is_terse(text), "{text}");
    }
    let error = parse("hello").unwrap_err().to_string();
    assert!(error.starts_with("it contains no results of fio"), "{error}");
}

proptest::proptest! {
    #[test]
    fn no_damage_panics(at in 0..900_usize, cut in 0..30_usize, put in "[0-9.;%= a-z\n]{0,8}") {
        let mut text = line("3", 0, (86_867, 84, 82_332.5)) + "\n" + &line("5", 1, (1, 1, 1.0));
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &put);
        let _ = is_terse(&text);
        let _ = parse(&text);
    }

    #[test]
    fn what_is_written_comes_back(rate in 1_u32..9_999_999, iops in 1_u32..999_999) {
        let found = &values(&line("4", 0, (rate, iops, 3.5)))[0];
        assert_eq!(found[0], ("iops".to_owned(), f64::from(iops)));
        assert_eq!(found[1], ("bytes_per_s".to_owned(), f64::from(rate) * 1024.0));
    }
}
