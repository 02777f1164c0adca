//! Documents as fio 3 writes them, with the keys that are read and some that are not.

use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Flaw, Label, Phase};

use super::parse;

/// One kind of request: a thousand IOPS of 4 KiB for each `iops`, a mean of 1 ms over `count`.
fn side(iops: u64, count: u64) -> String {
    format!(
        r#"{{"io_bytes": 1, "bw": 4, "bw_bytes": {bw}, "iops": {iops}.5, "runtime": 1000,
        "total_ios": {count}, "slat_ns": {{"min": 1, "mean": 1.5, "N": {count}}},
        "clat_ns": {{"min": 1, "max": 9, "mean": 900000.25, "stddev": 0.0, "N": {count},
        "percentile": {{"1.000000": 5, "50.000000": 800000, "99.000000": 2000000,
        "99.900000": 3000000}}, "bins": {{"12608": 3, "800000": 4}}}},
        "lat_ns": {{"min": 1, "max": 10, "mean": 1000000.0, "stddev": 0.0, "N": {count}}}}}"#,
        bw = iops * 4096,
    )
}

fn job(name: &str, options: &str, sides: &[(&str, &str)]) -> String {
    let sides: Vec<String> =
        sides.iter().map(|(kind, side)| format!("\"{kind}\": {side}")).collect();
    format!(
        r#"{{"jobname": "{name}", "groupid": 0, "error": 0, "elapsed": 2,
        "job options": {{{options}}}, {}, "usr_cpu": 1.5}}"#,
        sides.join(", ")
    )
}

fn document(jobs: &[String]) -> String {
    format!(
        "{{\n\"fio version\" : \"fio-3.33\",\n\"timestamp\": 1, \"global options\": {{\"direct\": \
         \"1\"}},\n\"jobs\": [{}],\n\"disk_util\": []\n}}\n",
        jobs.join(",\n")
    )
}

const NONE: &str =
    r#"{"total_ios": 0, "iops": 0.0, "bw_bytes": 0, "lat_ns": {"mean": 0.0, "N": 0}}"#;

fn reads(iops: u64, count: u64) -> String {
    document(&[job("a", "", &[("read", &side(iops, count)), ("write", NONE), ("trim", NONE)])])
}

#[test]
fn jobs_of_one_name_that_ran_one_after_the_other_are_apart() {
    let of = |group: u32, iops: u64| {
        let groupid = format!("\"groupid\": {group}");
        let sides = side(iops, 10_000);
        job("a", "", &[("read", &sides), ("write", NONE)]).replace("\"groupid\": 0", &groupid)
    };
    let imported = parse(&document(&[of(0, 400), of(1, 300)])).unwrap();
    let metrics = metrics(&imported);
    let iops = |name: &str| metrics.iter().find(|it| it.name == name).map(|it| it.value);
    assert_eq!((iops("a_g0.iops"), iops("a_g1.iops")), (Some(400.5), Some(300.5)));
}

/// Every number of every run.
fn metrics(imported: &Imported) -> Vec<Figure> {
    let phases = imported.runs.iter().flat_map(|run| &run.phases);
    phases.flat_map(Phase::metrics).collect()
}

fn names(imported: &Imported) -> Vec<String> {
    metrics(imported).into_iter().map(|figure| figure.name).collect()
}

fn value(imported: &Imported, metric: &str) -> f64 {
    let found = metrics(imported).into_iter().find(|figure| figure.name == metric);
    found.unwrap_or_else(|| panic!("no {metric}: {:?}", names(imported))).value
}

#[track_caller]
fn check(imported: &Imported, metric: &str, expected: f64) {
    let value = value(imported, metric);
    assert!((value - expected).abs() < 1e-6 * expected, "{metric}: {value}");
}

#[test]
fn one_kind_of_request_has_the_names_that_runs_of_drivelab_have() {
    let imported = parse(&reads(10, 200_000)).unwrap();
    assert_eq!((imported.tool.as_str(), imported.tool_version.as_str()), ("fio", "3.33"));
    let expected = [
        "iops",
        "bytes_per_s",
        "lat_mean_ns",
        "clat_mean_ns",
        "clat_p50_ns",
        "clat_p99_ns",
        "clat_p99_9_ns",
    ];
    assert_eq!(names(&imported), expected);
    check(&imported, "iops", 10.5);
    check(&imported, "bytes_per_s", 40_960.0);
    check(&imported, "lat_mean_ns", 1e6);
    check(&imported, "clat_mean_ns", 900_000.25);
    check(&imported, "clat_p50_ns", 8e5);
    check(&imported, "clat_p99_9_ns", 3e6);
    assert_eq!((&imported.notes, &imported.unknown), (&vec![], &vec![]));
    assert_eq!((imported.runs[0].arm.as_str(), imported.runs[0].line), ("a", 1));
    for result in &metrics(&imported) {
        let more = ["iops", "bytes_per_s"].contains(&result.name.as_str());
        let better = if more { Better::More } else { Better::Less };
        assert_eq!(result.better, better);
        let labels: Vec<Label> = result.remarks.iter().map(|remark| remark.label).collect();
        assert_eq!(labels, [Label::SingleRun]);
    }
}

#[test]
fn percentiles_of_all_latency_have_its_name() {
    let text = reads(10, 20_000).replace("clat_ns", "other_ns");
    let text = text.replace(
        "\"max\": 10,",
        "\"max\": 10, \"percentile\": {\"50.000000\": 70, \"99.000000\": 90},",
    );
    let imported = parse(&text).unwrap();
    assert_eq!(names(&imported)[2..], ["lat_mean_ns", "lat_p50_ns", "lat_p99_ns"]);
}

#[test]
fn percentiles_of_few_requests_are_left_out_and_named() {
    let imported = parse(&reads(10, 9_999)).unwrap();
    assert_eq!(names(&imported)[4..], ["clat_p50_ns"]);
    let expected = [
        "line 1: job `a`: fewer than 10000 requests, too few for p99",
        "line 1: job `a`: fewer than 100000 requests, too few for p99.9",
    ];
    assert_eq!(imported.unknown, expected);
}

#[test]
fn reads_and_writes_are_told_apart_and_added_up() {
    let text = document(&[job("a", "", &[("read", &side(10, 300)), ("write", &side(30, 300))])]);
    let imported = parse(&text).unwrap();
    check(&imported, "iops", 41.0);
    check(&imported, "bytes_per_s", 40.0 * 4096.0);
    check(&imported, "read_iops", 10.5);
    check(&imported, "write_bytes_per_s", 30.0 * 4096.0);
    check(&imported, "write_lat_mean_ns", 1e6);
    assert!(!names(&imported).iter().any(|name| name == "lat_mean_ns"));
}

#[test]
fn copies_of_a_job_add_up_and_their_percentiles_do_not() {
    let copy = job("a", "", &[("read", &side(10, 300))]);
    let slow = copy.replace("1000000.0", "4000000.0").replace("\"N\": 300", "\"N\": 600");
    let (copy, slow) = (copy.replace("bins", "none"), slow.replace("bins", "none"));
    let imported = parse(&document(&[copy, slow])).unwrap();
    assert_eq!(names(&imported), ["iops", "bytes_per_s", "lat_mean_ns", "clat_mean_ns"]);
    check(&imported, "iops", 21.0);
    // Every request counts once: (300 * 1 + 600 * 4) / 900 ms.
    check(&imported, "lat_mean_ns", 3e6);
    assert!(imported.unknown[0].contains("add `group_reporting`"), "{:?}", imported.unknown);
}

#[test]
fn percentiles_of_copies_come_from_their_histograms() {
    let copy = job("a", "", &[("read", &side(10, 300))]);
    let slow = copy.replace("\"12608\": 3, \"800000\": 4", "\"900000\": 9");
    let imported = parse(&document(&[copy, slow])).unwrap();
    // 3, 4 and 9 requests: the eighth and ninth of 16 took 900 us.
    check(&imported, "clat_p50_ns", 900_000.0);
    assert!(!imported.unknown.iter().any(|it| it.contains("combined")), "{:?}", imported.unknown);
}

#[test]
fn jobs_of_a_client_are_read_without_their_summary() {
    let jobs = [job("a", "", &[("read", &side(10, 300))])];
    let summary = job("All clients", "", &[("read", &side(99, 300))]);
    let text = document(&[jobs.to_vec(), vec![summary]].concat());
    let imported = parse(&text.replace("\"jobs\"", "\"client_stats\"")).unwrap();
    check(&imported, "iops", 10.5);
    assert_eq!(imported.runs[0].ended_unix_s, Some(1));
}

#[test]
fn version_2_counts_kib_and_microseconds() {
    let side = r#"{"total_ios": 300, "bw": 40, "iops": 10.5, "lat": {"mean": 1000.0},
        "clat": {"mean": 900.0, "percentile": {"50.000000": 800}}}"#;
    let text = document(&[job("a", "", &[("read", side)])]).replace("fio-3.33", "fio-2.21");
    let imported = parse(&text).unwrap();
    assert_eq!(imported.tool_version, "2.21");
    check(&imported, "bytes_per_s", 40.0 * 1024.0);
    check(&imported, "lat_mean_ns", 1e6);
    check(&imported, "clat_p50_ns", 8e5);
}

#[test]
fn syncs_of_versions_that_do_not_count_them_follow_from_the_writes() {
    let sync = r#"{"total_ios": 0, "lat_ns": {"mean": 2000.0, "percentile": {"50.000000": 1900,
        "99.000000": 9000}}}"#;
    let options = "\"direct\": \"0\", \"fdatasync\": \"10\"";
    let job = job("a", options, &[("write", &side(10, 4000)), ("sync", sync)]);
    let imported = parse(&document(&[job])).unwrap();
    check(&imported, "sync_lat_mean_ns", 2000.0);
    check(&imported, "sync_lat_p50_ns", 1900.0);
    assert!(!names(&imported).contains(&"sync_lat_p99_ns".to_owned()), "400 syncs are too few");
}

#[test]
fn commas_that_fio_2_writes_before_a_bracket_are_skipped() {
    let text = reads(10, 300).replace("\"bw\": 4,", "\"slat\": {\"min\": 6,\n},");
    assert!(text.contains(",\n}"));
    let imported = parse(&text).unwrap();
    check(&imported, "iops", 10.5);
    assert!(imported.notes[0].starts_with("Commas before a closing bracket"), "{imported:?}");
}

#[test]
fn reports_of_a_call_that_runs_are_one_run_and_calls_are_not() {
    let report = |begin: u64, elapsed: u64, count: u64| {
        let job = job("a", "", &[("read", &side(10, count))]);
        let job = job.replace("\"elapsed\": 2", &format!("\"elapsed\": {elapsed}"));
        let time = format!("\"timestamp\": {}", begin + elapsed);
        document(&[job]).replace("\"timestamp\": 1", &time)
    };
    let check = |reports: &[(u64, u64, u64)], expected: usize| {
        let text = reports.iter().map(|it| report(it.0, it.1, it.2)).collect::<String>();
        assert_eq!(parse(&text).unwrap().runs.len(), expected, "{reports:?}");
    };
    check(&[(100, 5, 300), (100, 10, 600), (101, 15, 900)], 1);
    check(&[(100, 5, 300), (100, 5, 300)], 1);
    check(&[(100, 5, 300), (105, 5, 301)], 2);
    check(&[(100, 1, 300), (101, 1, 301)], 2);
    check(&[(100, 5, 300), (100, 10, 200)], 2);
}

#[test]
fn the_options_of_old_versions_are_unknown() {
    let text = reads(10, 300).replace("\"global options\"", "\"other\"");
    let imported = parse(&text.replace("\"job options\"", "\"more\"")).unwrap();
    assert!(imported.notes[0].starts_with("This version of fio does not record"), "{imported:?}");
    assert!(imported.runs[0].work.is_empty());
}

#[test]
fn buffered_requests_may_be_answered_from_memory() {
    let check = |options: &str, kind: &str, expected: bool| {
        let text = document(&[job("a", options, &[(kind, &side(10, 300))])]);
        let all = metrics(&parse(&text).unwrap());
        let label = Label::Nature(drivelab_core::record::Nature::PageCache);
        let found = all[0].remarks.iter().any(|remark| remark.label == label);
        assert_eq!(found, expected, "{options} {kind}");
    };
    check("", "read", false);
    check("\"direct\": \"0\"", "read", true);
    check("\"direct\": \"0\"", "write", true);
    check("\"direct\": \"0\", \"end_fsync\": \"1\"", "write", false);
    check("\"direct\": \"0\", \"end_fsync\": \"1\"", "read", true);
}

#[test]
fn jobs_of_different_names_have_figures_of_their_own() {
    let text = document(&[
        job("read", "", &[("read", &side(10, 300))]),
        job("write", "", &[("write", &side(30, 300))]),
    ]);
    let imported = parse(&text).unwrap();
    check(&imported, "read.iops", 10.5);
    check(&imported, "write.iops", 30.5);
    assert_eq!(imported.runs[0].arm, "read and 1 more");
}

#[test]
fn unified_reports_are_read() {
    let mixed = document(&[job("a", "", &[("mixed", &side(10, 300))])]);
    assert_eq!(names(&parse(&mixed).unwrap())[..3], ["iops", "bytes_per_s", "lat_mean_ns"]);
    let sides = side(10, 300);
    let both = document(&[job("a", "", &[("read", &sides), ("mixed", &sides)])]);
    check(&parse(&both).unwrap(), "iops", 10.5);
}

#[test]
fn every_document_is_a_run_whatever_is_printed_between_them() {
    let one = reads(10, 300);
    let text = format!("note: both iodepth >= 1\n{one}fio: warning\n\n{one}{one}");
    let imported = parse(&text).unwrap();
    let lines: Vec<usize> = imported.runs.iter().map(|run| run.line).collect();
    let length = one.lines().count();
    assert_eq!(lines, [2, 2 + length + 2, 2 + 2 * length + 2]);
    let joined = one.replace('\n', " ");
    let imported = parse(&format!("{joined}{joined}\n{joined}")).unwrap();
    let lines: Vec<usize> = imported.runs.iter().map(|run| run.line).collect();
    assert_eq!(lines, [1, 2, 3], "one line may hold two runs");
}

#[test]
fn what_makes_a_figure_doubtful_is_said() {
    let null = job("a", "\"ioengine\": \"null\"", &[("read", &side(10, 300))]);
    let imported = parse(&document(&[null])).unwrap();
    assert_eq!(metrics(&imported)[0].remarks[0].label, Label::NotDisk);
    let buffered = document(&[job("a", "\"direct\": \"0\"", &[("read", &side(10, 300))])]);
    let text = buffered.replace("\"error\": 0", "\"error\": 5");
    let expected = [
        "Job `a` ended with system error 5.",
        "Job `a` ran without `direct=1`: the page cache may have answered.",
    ];
    let imported = parse(&[text.clone(), text].concat()).unwrap();
    assert_eq!(imported.notes, expected, "once each");
    let what = "job `a` ended with system error 5".to_owned();
    assert_eq!(imported.runs[0].flaws, [Flaw::Error { what }]);
}

#[test]
fn requests_that_failed_and_jobs_that_did_nothing_are_flaws() {
    let flaws = |text: &str| parse(text).unwrap().runs[0].flaws.clone();
    let text = document(&[job("a", "\"direct\": \"1\"", &[("read", &side(100, 300))])]);
    assert_eq!(flaws(&text), []);
    let failed = text.replace("\"error\": 0", "\"error\": 0, \"total_err\": 40");
    assert_eq!(flaws(&failed), [Flaw::Failed { failed: 40, requests: 300 }]);
    let idle = document(&[job("a", "\"direct\": \"1\"", &[("read", &side(10, 0))])]);
    let busy = job("b", "\"direct\": \"1\"", &[("read", &side(10, 300))]);
    assert!(parse(&idle).map_or(true, |it| it.runs.is_empty()), "no figure, no run");
    assert_eq!(flaws(&document(&[busy])), []);
}

#[test]
fn an_option_given_twice_has_the_last_value() {
    let twice = job("a", "\"direct\": \"0\", \"direct\": \"1\"", &[("read", &side(10, 300))]);
    let imported = parse(&document(&[twice])).unwrap();
    assert_eq!(imported.notes, [""; 0], "the page cache was bypassed");
}

#[test]
fn more_than_fio_writes_is_refused() {
    let check = |text: &str, expected: &str| {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    let jobs = vec![r#"{"jobname": ""}"#.to_owned(); 16_385];
    check(&document(&jobs), "line 1: a call of fio with more than 16384 jobs; check whether");
    let bins: Vec<String> = (0..4097).map(|ns| format!("\"{ns}\": 1")).collect();
    let side = format!(r#"{{"total_ios": 1, "lat_ns": {{"bins": {{{}}}}}}}"#, bins.join(","));
    let text = document(&[job("a", "", &[("read", &side)])]);
    check(&text, "line 5: not a result of fio: a histogram of more than 4096 bins; give");
}

#[test]
fn a_mark_of_a_prompt_before_a_document_is_skipped() {
    let one = reads(10, 300);
    assert_eq!(parse(&format!(">{one}")).unwrap().runs, parse(&one).unwrap().runs);
}

#[test]
fn what_is_no_result_is_refused_with_its_line() {
    let check = |text: &str, expected: &str| {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    let one = reads(10, 300);
    check(&one[..one.len() - 20], "line 10: the JSON is truncated; check that fio");
    check(&one.replace("\"iops\": 10.5", "\"iops\": x"), "line 5: not a result of fio: expected");
    check(&one.replace("fio-3.33", "fio-1.59"), "line 1: version `1.59` of fio's results");
    check("{\"fio version\": \"fio-3.1\"}", "line 1: not a result of fio: missing field `jobs`");
    check(&document(&[]), "it contains no results of fio");
    check(&document(&[job("a", "", &[("read", NONE)])]), "it contains no results of fio");
    check("\"fio version\"", "it contains no results of fio");
}

proptest::proptest! {
    #[test]
    fn no_damage_panics(at in 0..1400_usize, cut in 0..40_usize, put in "[0-9,.+eE{}\":a-z-]{0,8}") {
        let mut text = reads(10, 20_000).repeat(2);
        let end = (at + cut).min(text.len());
        text.replace_range(at.min(end)..end, &put);
        if let Ok(imported) = parse(&text) {
            for result in metrics(&imported) {
                proptest::prop_assert!(result.value.is_finite() && result.value > 0.0);
            }
        }
    }
}

#[test]
fn options_are_work_with_their_defaults_and_in_one_spelling() {
    let work = |options: &str| {
        let text = document(&[job("a", options, &[("read", &side(100, 1000))])]);
        parse(&text).unwrap().runs[0].work.clone()
    };
    let plain = work(r#""rw": "randread", "name": "a", "filename": "/dev/sda", "bs": "4096""#);
    let same = work(r#""readwrite": "randread", "blocksize": "4k", "randseed": "7""#);
    assert_eq!(plain, same);
    let check = |options: &str, key: &str, expected: Option<&str>| {
        assert_eq!(work(options).get(key), expected, "{options}");
    };
    check("", "direct", Some("1"));
    check("", "iodepth", Some("1"));
    check("", "size", None);
    check(r#""runtime": "60""#, "runtime", Some("1m"));
    check(r#""runtime": "1m""#, "runtime", Some("1m"));
    check(r#""time_based": """#, "time_based", Some("1"));
    check(r#""buffered": "1""#, "direct", Some("0"));
    check(r#""rw": "rw", "rwmixwrite": "30""#, "rwmixread", Some("70"));
    check(r#""rw": "read""#, "rwmixread", None);
    check(r#""bs": "4K,64K""#, "bs", Some("4k,64k"));
    check(r#""write_lat_log": "x", "filename": "x""#, "filename", None);
}

#[test]
fn jobs_of_several_sections_have_each_their_work() {
    let read = side(100, 1000);
    let jobs = [("log", "write"), ("scan", "read")]
        .map(|(name, rw)| job(name, &format!("\"rw\": \"{rw}\""), &[("read", &read)]));
    let imported = parse(&document(&jobs)).unwrap();
    let work = &imported.runs[0].work;
    assert_eq!((work.get("log.rw"), work.get("scan.rw")), (Some("write"), Some("read")));
}
