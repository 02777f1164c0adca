//! Reports in the form of sysstat 9 to 12.

use super::*;
use drivelab_core::record::Phase;

const TEXT: &str = "\
Linux 5.17.11 (host) \t06/01/2022 \t_x86_64_\t(12 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           6.61    0.00    7.61    8.98    0.00   76.79

Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s w_await aqu-sz  %util
sda              1.00      2.00     0.00   0.00    9.00    15.09    0.00      0.00    0.00   0.50  10.00

Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s w_await aqu-sz  %util
sda            100.00      4.00     0.00   0.00    2.00    15.09   10.00     40.00    0.00   1.00  50.00

Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s w_await aqu-sz  %util
sda            300.00      8.00     0.00   0.00    6.00    15.09   30.00     80.00    0.00   3.00 100.00
";
const JSON: &str = r#"{"sysstat": {"hosts": [{"statistics": [{"disk": [
{"disk_device": "sda", "r/s": 1.00, "rkB/s": 8.00, "%util": 3.00},
{"disk_device": "sdb", "tps": 8.59, "MB_read/s": 0.25}]}]}]}}"#;

fn values(text: &str) -> Vec<(String, String, f64)> {
    let imported = parse(text).unwrap();
    let mut values = Vec::new();
    for run in &imported.runs {
        let metrics = run.phases.iter().flat_map(Phase::metrics);
        values.extend(metrics.map(|it| (run.arm.clone(), it.name, it.value)));
    }
    values
}

#[test]
fn means_are_over_reports_and_those_of_waits_over_requests() {
    let found = values(TEXT);
    let get = |name: &str| found.iter().find(|(_, it, _)| it == name).unwrap().2;
    assert_eq!(get("read_iops").to_bits(), 200.0_f64.to_bits());
    assert_eq!(get("read_bytes_per_s").to_bits(), (6.0 * MIB).to_bits());
    assert_eq!(get("write_bytes_per_s").to_bits(), (60.0 * KIB).to_bits());
    assert_eq!(get("read_await").to_bits(), 5.0_f64.to_bits());
    assert_eq!(get("queue").to_bits(), 2.0_f64.to_bits());
    assert_eq!(get("util").to_bits(), 75.0_f64.to_bits());
    assert!(!found.iter().any(|(_, name, _)| name == "write_await"), "{found:?}");
    let notes = parse(TEXT).unwrap().notes;
    assert!(notes[0].contains("since the boot, is left out"), "{notes:?}");
}

#[test]
fn one_report_is_the_mean_since_the_boot() {
    let one = &TEXT[..TEXT.find("sda            100").unwrap()];
    let found = values(one);
    assert!(found.contains(&("sda".into(), "read_await".into(), 9.0)), "{found:?}");
    let comma = one.replace("9.00", "9,00");
    assert!(values(&comma).contains(&("sda".into(), "read_await".into(), 9.0)));
}

#[test]
fn the_document_is_read_also_if_it_is_cut_off() {
    for text in [JSON, &JSON[..JSON.rfind(']').unwrap() - 4]] {
        assert!(is_iostat(text));
        let found = values(text);
        assert!(found.contains(&("sda".into(), "read_bytes_per_s".into(), 8192.0)), "{found:?}");
        assert!(found.contains(&("sdb".into(), "iops".into(), 8.59)), "{found:?}");
    }
}

#[test]
fn blocks_have_512_bytes() {
    let found = values("Device   tps   Blk_read/s   Blk_wrtn/s\nsda   8.59   2.00   114.16\n");
    assert!(found.contains(&("sda".into(), "read_bytes_per_s".into(), 1024.0)), "{found:?}");
}

#[test]
fn rows_with_other_columns_are_not_read() {
    let imported = parse(&TEXT.replace("300.00", "30x.00")).unwrap();
    assert!(imported.unknown[0].starts_with("line 13: `sda"), "{:?}", imported.unknown);
    assert!(!is_iostat("Device: sda\n"));
    let error = parse(&TEXT.replace("sda", "sda 5")).unwrap_err().to_string();
    assert!(error.starts_with("it contains no results of iostat"), "{error}");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.,%a-z/{}\" \n]{0,30}") {
        let _ = parse(&text);
        let _ = parse(&TEXT.replace("300.00", &put));
        let _ = parse(&JSON.replace("8.59", &put));
    }

    #[test]
    fn what_is_written_comes_back(cents in 0_u32..9_999_999) {
        let text = format!("{}.{:02}", cents / 100, cents % 100);
        let found = values(&JSON.replace("8.59", &text));
        let value = found.iter().find(|(_, name, _)| name == "iops").unwrap().2;
        proptest::prop_assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits());
    }
}
