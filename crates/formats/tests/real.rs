//! Small inputs in the forms that people have in hand, with their right values.
//!
//! They are not part of this repository: `DRIVELAB_RESULTS` names their folder, else they are in
//! `../shared/data/real/results`. Without them each test says that it was left out.
#![expect(clippy::print_stderr, reason = "a test that is left out says so")]

use std::path::{Path, PathBuf};

use drivelab_core::foreign::Imported;
use drivelab_core::record::{Figure, Flaw, Label, Nature, Phase};
use drivelab_formats::{paste, results};

fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("DRIVELAB_RESULTS").map(PathBuf::from);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("in crates/");
    let paths = ["../shared/data/real/results", "../../shared/data/real/results"];
    let found = paths.iter().map(|path| root.join(path)).find(|path| path.is_dir());
    let path = named.or(found);
    if path.is_none() {
        eprintln!("LEFT OUT: no results in {}; name them in DRIVELAB_RESULTS", paths[0]);
    }
    path
}

/// The bytes of an input; `None` where the inputs are missing.
#[expect(clippy::disallowed_methods, reason = "a test may read its data")]
fn bytes(name: &str) -> Option<Vec<u8>> {
    let path = folder()?.join(name);
    Some(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn read(name: &str) -> Option<Result<Imported, String>> {
    let paste = paste::clean(bytes(name)?);
    let read = results::parse_file(name, &paste.text);
    Some(read.map_err(|error| error.to_string()).map(|mut imported| {
        imported.notes.extend(paste.notes);
        imported
    }))
}

/// The figures of each run, as `name value`, and with their labels.
fn figures(imported: &Imported) -> Vec<Figure> {
    imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics).collect()
}

/// Checks the figures that are named, among others.
#[track_caller]
fn check(name: &str, expected: &[(&str, f64)]) {
    let Some(read) = read(name) else { return };
    let imported = read.unwrap_or_else(|error| panic!("{name}: {error}"));
    let found = figures(&imported);
    for (metric, value) in expected {
        let figure = found.iter().find(|figure| figure.name == *metric);
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        let figure = figure.unwrap_or_else(|| panic!("{name}: no {metric} among {names:?}"));
        let is_right = (figure.value - value).abs() <= 1e-9 * value.abs();
        assert!(is_right, "{name}: {metric} is {}, not {value}", figure.value);
    }
}

/// Checks whether a figure has a label.
#[track_caller]
fn check_label(name: &str, metric: &str, label: Label, expected: bool) {
    let Some(read) = read(name) else { return };
    let found = figures(&read.unwrap_or_else(|error| panic!("{name}: {error}")));
    let figure = found.iter().find(|figure| figure.name == metric);
    let figure = figure.unwrap_or_else(|| panic!("{name}: no {metric}"));
    let has = figure.remarks.iter().any(|remark| remark.label == label);
    assert_eq!(has, expected, "{name}: {metric}: {:?}", figure.remarks);
}

#[track_caller]
fn check_refused(name: &str, parts: &[&str]) {
    let Some(read) = read(name) else { return };
    let error = read.expect_err("it is refused");
    for part in parts {
        assert!(error.contains(part), "{name}: `{part}` is not in: {error}");
    }
}

const CACHED: Label = Label::Nature(Nature::PageCache);
const SYNCED: Label = Label::Nature(Nature::JournalSync);

#[test]
fn fio_json_of_every_version_has_its_latencies_and_rates() {
    let all = [
        ("iops", 1000.0),
        ("lat_mean_ns", 1e6),
        ("clat_mean_ns", 9e5),
        ("lat_p50_ns", 1e6),
        ("lat_p99_ns", 2e6),
        ("lat_p99_9_ns", 3e6),
    ];
    for (name, bytes_per_s) in [
        ("fio321.json", 4_096_000.0),
        ("fio316.json", 4_096_000.0),
        ("fio31.json", 4_096_000.0),
        ("fio299.json", 4_096_000.0),
        ("fio2210.json", 4_096_000.0),
    ] {
        check(name, &all);
        check(name, &[("bytes_per_s", bytes_per_s)]);
    }
    // Its requests follow from rate and time: a thousand, enough for the median.
    check("fio214.json", &all[..4]);
    check("fiomaster.json", &[("iops", 1000.0), ("bytes_per_s", 4_096_000.0)]);
    check("fio4.json", &[("iops", 1000.0), ("bytes_per_s", 4_096_000.0)]);
}

#[test]
fn options_that_a_version_does_not_record_are_unknown() {
    let Some(read) = read("fio2210.json") else { return };
    let imported = read.unwrap();
    assert!(imported.notes.iter().any(|it| it.contains("does not record")), "{imported:?}");
    check_label("fio2210.json", "iops", CACHED, false);
}

#[test]
fn reports_of_one_call_are_one_run() {
    for (name, iops) in [("si_a.json", None), ("si_b.json", None), ("si_fio.json", Some(1_f64))] {
        let Some(read) = read(name) else { return };
        let imported = read.unwrap();
        assert_eq!(imported.runs.len(), 1, "{name}");
        assert!(imported.notes.iter().any(|it| it.contains("reports of one call")), "{name}");
        assert!(iops.is_none_or(|least| figures(&imported)[0].value > least));
    }
}

#[test]
fn the_wait_for_the_disk_is_read_and_the_buffered_part_keeps_its_label() {
    let expected =
        [("lat_mean_ns", 1e4), ("sync_lat_mean_ns", 2e6), ("sync_lat_p99_ns", 9e6), ("iops", 1e3)];
    check("fiosync.json", &expected);
    check_label("fiosync.json", "sync_lat_p99_ns", SYNCED, true);
    check_label("fiosync.json", "lat_mean_ns", CACHED, true);
    check_label("fiosync.json", "iops", CACHED, false);
    check_label("etcd_fio.json", "sync_lat_mean_ns", SYNCED, true);
}

#[test]
fn a_rate_that_was_set_is_labelled() {
    check_label("fiorate.json", "iops", Label::SetRate, true);
    check_label("fiorate.json", "lat_mean_ns", Label::SetRate, false);
}

#[test]
fn a_log_of_unknown_unit_has_a_name_of_its_own() {
    check("a_lat.1.log", &[("lat_window_mean", 1925.0)]);
    check_refused("clat_hist.1.log", &["a log of histograms of fio"]);
}

#[test]
fn the_rate_of_pgbench_includes_connections_that_each_transaction_makes() {
    check("pg_C94.txt", &[("tps_custom-query", 521.868_802)]);
    check("pg_C14.txt", &[("tps_select-only", 521.868_802)]);
    check_label("pg_C14.txt", "tps_select-only", CACHED, true);
    check_label("pg_rate.txt", "tps_tpc-b", Label::SetRate, true);
    check_label("pg_rate.txt", "tps_tpc-b", SYNCED, true);
    let Some(read) = read("pg_multi.txt") else { return };
    assert_eq!(read.unwrap().unknown, [""; 0], "figures of each script are passed over");
}

#[test]
fn sysbench_0_4_is_read() {
    check("sb04.txt", &[("fileio_rndrd_rate", 1.5625), ("fileio_rndrd_requests", 100.0)]);
    check_label("sb04.txt", "fileio_rndrd_rate", CACHED, true);
}

#[test]
fn a_load_of_which_every_answer_was_an_error_has_a_flaw() {
    let Some(read) = read("wrk_failed.txt") else { return };
    let flaw = Flaw::Failed { failed: 1000, requests: 1000 };
    assert_eq!(read.unwrap().runs[0].flaws, [flaw]);
}

#[test]
fn bonnie_labels_by_what_the_processor_did() {
    let cpu = Label::Nature(Nature::Cpu);
    check("bonnie103.csv", &[("putc", 14_602.0), ("seeks", 63.9)]);
    check_label("bonnie103.csv", "putc", cpu, false);
    check_label("b198.csv", "putc", cpu, true);
    check_label("b198.csv", "seeks", cpu, false);
    check_label("b198.csv", "seeks_cpu", Label::ToolDefect, true);
}

#[test]
fn rows_of_crystaldiskmark_5_and_hd_tune_5_are_read() {
    let rows = [("seq_q32t1_read", 500.0), ("seq_t1_read", 400.0), ("seq_t1_write", 300.0)];
    check("cdm5.txt", &rows);
    check("hdt5.txt", &[("transfer_min", 70.2), ("transfer", 137.6), ("burst_rate", 255.1)]);
    check("ind.txt", &[("transfer", 113.4)]);
}

const CDM: &[(&str, f64)] = &[
    ("seq_read", 213.32),
    ("rnd512k_write", 82.13),
    ("rnd4k_q32t1_read", 4.863),
    ("rnd4k_q32t1_read_iops", 1187.3),
];

#[test]
fn texts_are_read_as_people_have_them() {
    // One document in four forms.
    let iops = [("iops", 1_498.950_105)];
    check("utf16.json", &iops);
    check("cdm_utf16le.txt", CDM);
    check("latin1.txt", &[("tps_x", 10.0), ("tps_x_latency_avg", 1.0)]);
    check("ansi.txt", &[("tps_x", 1000.0)]);
    check("cr.txt", &[("tps_x", 10.0), ("tps_x_latency_avg", 1.0)]);
    check("quoted.json", &iops);
    check("indented.json", &iops);
    check("bracket_fio.txt", &iops);
    check("bracket_sb.txt", &[("fileio_rndrw_reads", 1640.13), ("fileio_rndrw_latency_p95", 0.89)]);
    for (name, part) in [
        ("utf16.json", "read as UTF-16"),
        ("ansi.txt", "2 escape sequences"),
        ("cr.txt", "1 overwritten part"),
        ("quoted.json", "quotation marks of a mail"),
        ("bracket_sb.txt", "1 prompt"),
    ] {
        let Some(read) = read(name) else { return };
        let notes = read.unwrap().notes;
        assert!(notes.iter().any(|note| note.contains(part)), "{name}: {notes:?}");
    }
}

#[test]
fn foreign_json_and_a_prompt_are_no_stored_runs() {
    check("foreign.json", &[("4k.read_iops", 25.0)]);
    let Some(read) = read("bracket.txt") else { return };
    let imported = read.unwrap();
    assert_eq!(imported.tool, "dd");
    assert!(imported.notes.iter().any(|note| note.contains("1 prompt")), "{:?}", imported.notes);
}

#[test]
fn results_through_a_cache_say_so() {
    check_label("dspd_cached.xml", "iops", CACHED, true);
    check("dspd_cached.xml", &[("iops", 1000.0), ("bytes_per_s", 4_096_000.0)]);
}

#[test]
fn tests_of_phoronix_are_distinguished_by_target_and_unit() {
    check("pts_a.xml", &[("fio-2.1.0-type-random-read-direct-yes-iops", 20_000.0)]);
    check("pts_b.xml", &[("fio-2.1.0-type-random-read-direct-yes-iops", 20_000.0)]);
    check("pts_c.xml", &[("fio-2.1.0-type-random-read-direct-yes", 79.0)]);
    let metric = |name: &str| Some(figures(&read(name)?.unwrap())[0].name.clone());
    let [Some(first), Some(second), Some(third)] =
        ["pts_long_a.xml", "pts_long_b.xml", "pts_long_c.xml"].map(metric)
    else {
        return;
    };
    assert_ne!(first, second);
    assert_eq!(second, third);
    check_label("pts_long_a.xml", &first, CACHED, true);
}
