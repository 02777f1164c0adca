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
fn a_table_ends_and_the_next_call_begins() {
    let short = "Linux 5.17.11 (host)\n\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           \
                 6.61    0.00    7.61    8.98    0.00   76.79\n\n\
                 Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n\
                 sda               8.59         4.00       114.16       1000       2000\n\n";
    let imported = parse(&short.repeat(2)).unwrap();
    let arms: Vec<&str> = imported.runs.iter().map(|run| run.arm.as_str()).collect();
    assert_eq!(arms, ["sda", "sda"], "two calls of one report each");
    // Without blank lines.
    let imported = parse(&short.repeat(2).replace("\n\n", "\n")).unwrap();
    assert_eq!(imported.runs.len(), 2);
    assert!(imported.runs.iter().all(|run| run.arm == "sda"));
}

#[test]
fn without_the_report_since_the_boot_every_report_counts() {
    let found = values(&format!("$ x\niostat -xy 1 3\n{TEXT}"));
    let iops = found.iter().find(|(_, name, _)| name == "read_iops").unwrap().2;
    assert!((iops - 401.0 / 3.0).abs() < 1e-9, "{iops}");
}

#[test]
fn sectors_of_old_versions_have_512_bytes() {
    let text =
        "Device:  rrqm/s wrqm/s r/s w/s rsec/s wsec/s await\nsda 0.0 0.0 1.0 2.0 8.0 16.0 3.0\n";
    let found = values(text);
    assert!(found.contains(&("sda".into(), "read_bytes_per_s".into(), 4096.0)), "{found:?}");
    let both = text.replace("await", "rkB/s").replace(" 3.0\n", " 4.0\n");
    let found = values(&both);
    assert_eq!(found.iter().filter(|(_, name, _)| name == "read_bytes_per_s").count(), 1);
}

#[test]
fn tables_that_a_mail_broke_are_joined() {
    let text = "Device r/s w/s rkB/s\nwkB/s await %util\nsda 1.00 2.00 8.00\n16.00 3.00 4.00\n\
                sdb 5.00 6.00 0.00\n0.00 7.00 8.00\n";
    let found = values(text);
    assert!(found.contains(&("sda".into(), "await".into(), 3.0)), "{found:?}");
    assert!(found.contains(&("sdb".into(), "util".into(), 8.0)), "{found:?}");
    assert!(found.iter().all(|(arm, ..)| arm.starts_with("sd")), "{found:?}");
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

#[test]
fn reports_on_both_sides_of_words_are_of_several_calls() {
    let reports: Vec<&str> = TEXT.split("\n\n").skip(2).collect();
    let [first, second, third] = reports[..] else { panic!("{reports:?}") };
    // The time of a report is none of the words.
    let text =
        format!("{first}\n\n06/01/22 10:00:01\n{second}\nthen with a load on it:\n\n{third}\n");
    let imported = parse(&text).unwrap();
    assert_eq!(imported.runs.len(), 2);
    let found: Vec<f64> =
        values(&text).iter().filter(|(_, name, _)| name == "read_iops").map(|it| it.2).collect();
    assert_eq!(found, [100.0, 300.0]);
    let notes = &imported.notes;
    assert!(notes.iter().any(|note| note.contains("unless it was taken")), "{notes:?}");
    let whole = format!("{first}\n\n{second}\nsdb\n\n{third}\n");
    assert_eq!(parse(&whole).unwrap().runs.len(), 1);
}

fn is_row(line: &str) -> bool {
    line.starts_with("sd")
}

#[test]
fn a_row_that_is_cut_off_is_left_out_and_named() {
    let cut = TEXT.replace("   3.00 100.00", "   3.00 100.");
    let imported = parse(&cut).unwrap();
    assert_eq!(imported.unknown, ["line 13: a row that is cut off"]);
    let found = values(&cut);
    assert!(found.contains(&("sda".into(), "read_iops".into(), 100.0)), "{found:?}");
    let short = TEXT.replace("   6.00    15.09   30.00     80.00    0.00   3.00 100.00", "   6.00");
    assert_eq!(parse(&short).unwrap().unknown, ["line 13: a row that is cut off"]);
    // Words below a table are no row.
    assert_eq!(parse(&format!("{TEXT}the disk is slow\n")).unwrap().unknown, Vec::<String>::new());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    #[test]
    fn a_drawn_table_comes_back_and_a_cut_row_never_has_another_number(
        hundredths in proptest::array::uniform6(0..100_000_000_u32),
    ) {
        let printed = hundredths.map(|it| format!("{}.{:02}", it / 100, it % 100));
        let [reads, read_mb, writes, write_kb, queue, util] = &printed;
        let text = format!(
            "Device            r/s     rMB/s     w/s     wkB/s aqu-sz  %util\n\
             sda        {reads:>9} {read_mb:>9} {writes:>9} {write_kb:>9} {queue:>9} {util:>9}\n\
             sdb             1.00      2.00      3.00      4.00      5.00      6.00\n"
        );
        let found = values(&text);
        let names = ["read_iops", "read_bytes_per_s", "write_iops", "write_bytes_per_s", "queue",
            "util"];
        let factors = [1.0, MIB, 1.0, KIB, 1.0, 1.0];
        for ((name, factor), number) in names.iter().zip(factors).zip(&printed) {
            let expected = number.parse::<f64>().unwrap() * factor;
            let is_there = found.contains(&("sda".into(), (*name).into(), expected));
            proptest::prop_assert!(is_there, "{} {}", name, expected);
        }
        let wrong = crate::found::damage::misread(&text, is_row, parse);
        proptest::prop_assert!(wrong.is_empty(), "{:?}", wrong);
    }
}
