//! Histograms in the form of etcd.

use super::*;

const RUN: &str = "\
# HELP etcd_disk_wal_fsync_duration_seconds The latency distributions of fsync called by WAL.
# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.001\"} 0
etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.002\"} 10000
etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.004\"} 19950
etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 20000
etcd_disk_wal_fsync_duration_seconds_sum 46.5
etcd_disk_wal_fsync_duration_seconds_count 20000
http_request_duration_seconds_bucket{le=\"0.5\"} 7
";

fn values(text: &str) -> Vec<(String, f64)> {
    let imported = parse(text).unwrap();
    let phases = imported.runs.iter().flat_map(|run| &run.phases);
    phases.flat_map(Phase::metrics).map(|it| (it.name, it.value)).collect()
}

#[test]
fn the_mean_is_exact_and_quantiles_are_within_their_bucket() {
    assert!(is_prometheus(RUN));
    let found = values(RUN);
    let get = |name: &str| {
        let name = format!("etcd-disk-wal-fsync-duration.{name}");
        found.iter().find(|(it, _)| *it == name).unwrap().1
    };
    assert!((get("lat_mean_ns") - 2_325_000.0).abs() < 1.0);
    assert!((get("lat_p50_ns") - 2_000_000.0).abs() < 1.0);
    // 9800 of the 9950 requests between 2 and 4 ms.
    let expected = 2e6 + 2e6 * 9800.0 / 9950.0;
    assert!((get("lat_p99_ns") - expected).abs() < 1.0);
    assert_eq!(found.len(), 4);
    assert_eq!(parse(RUN).unwrap().runs[0].phases[0].nature, Nature::JournalSync);
}

#[test]
fn a_quantile_beyond_the_last_bucket_says_so() {
    let text = RUN.replace("19950", "11000");
    let imported = parse(&text).unwrap();
    let p99 = imported.runs[0].phases[0].figures.iter().find(|it| it.name == "lat_p99_ns");
    let p99 = p99.unwrap();
    assert_eq!(p99.value.to_bits(), 4e6_f64.to_bits());
    assert_eq!(p99.remarks[0].label, record::Label::ToolDefect);
}

#[test]
fn labels_are_arms_and_other_histograms_are_left_out() {
    let two = RUN.replace("{le=", "{node=\"a\",le=").replace("_sum 46", "_sum{node=\"b\"} 46");
    let arms: Vec<String> = parse(&two).unwrap().runs.into_iter().map(|run| run.arm).collect();
    assert_eq!(arms, ["node=\"a\"", ""], "in the order of lines; a sum alone has no figures");
    for text in ["http_request_duration_seconds_bucket{le=\"0.5\"} 7\n", "a_seconds_sum 5\n"] {
        assert!(!is_prometheus(text), "{text}");
    }
}

#[test]
fn metrics_that_were_fetched_again_are_another_run() {
    let runs = parse(&RUN.repeat(3)).unwrap().runs;
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[0].phases[0].figures, runs[2].phases[0].figures);
}

#[test]
fn without_the_number_of_all_there_is_no_quantile() {
    let part = &RUN[..RUN.find("etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf").unwrap()];
    let error = parse(part).unwrap_err().to_string();
    assert!(error.starts_with("it contains no results of Prometheus"), "{error}");
    let counted = format!("{part}etcd_disk_wal_fsync_duration_seconds_count 20000\n");
    assert_eq!(values(&counted).len(), 3);
}

#[test]
fn histograms_without_a_request_are_the_reason_of_a_refusal() {
    let text = "a_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 0\n\
                a_wal_fsync_duration_seconds_sum 0\na_wal_fsync_duration_seconds_count 0\n";
    let error = parse(text).unwrap_err().to_string();
    let expected = "it contains no results of Prometheus: line 1: no request in \
                    `a_wal_fsync_duration`";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn names_are_told_by_whole_words() {
    assert!(is_of_disks("wal_fsync") && is_of_disks("a:wal_b") && is_of_disks("tsdb_wal"));
    assert!(!is_of_disks("firewall_rule") && !is_of_disks("walk"));
}

#[test]
fn values_of_labels_contain_any_character() {
    let label = r#"{path="/a},\"b",le="#;
    let text = RUN.replace("{le=", label);
    let runs = parse(&text).unwrap().runs;
    assert!(runs.iter().any(|run| run.arm == r#"path="/a},\"b""#), "{runs:?}");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.e+-NaInf{}=\",a-z \n]{0,30}") {
        let _ = parse(&text);
        let _ = parse(&RUN.replace("19950", &put));
        let _ = parse(&RUN.replace("le=\"0.004\"", &put));
    }

    #[test]
    fn what_is_written_comes_back(sum in 1_u32..9_999_999, count in 1_u32..9_999_999) {
        let text = format!("a_wal_fsync_seconds_sum {sum}\na_wal_fsync_seconds_count {count}\n");
        let expected = f64::from(sum) / f64::from(count) * 1e9;
        proptest::prop_assert_eq!(values(&text)[0].1.to_bits(), expected.to_bits());
    }
}
