//! Reports in the form of 1.4.9 and 1.5.

use super::*;

const RUN: &str = "\
Filebench Version 1.4.9.1
 4686: 0.001: FileServer Version 3.0 personality successfully loaded
 4900: 42.392: Starting 50 filereaderthread threads
 4686: 43.000: Running...
 4686: 53.000: Run took 10 seconds...
 4686: 53.100: Per-Operation Breakdown
statfile1            60ops        6ops/s   0.0mb/s      4.1ms/op        0us/op-cpu [0ms - 198ms]
fsyncfile2           80ops        8ops/s   0.9mb/s     40.9ms/op        0us/op-cpu [0ms - 238ms]
limit                0ops        0ops/s   0.0mb/s      0.0ms/op        0us/op-cpu [0ms - 0ms]
 4686: 53.100: IO Summary:   931 ops, 91.295 ops/s, (8/19 r/w),   2.5mb/s, 0us cpu/op, 9.7ms latency
 4686: 53.200: Shutting down processes
";
const NEW: &str = "\
11.164: Per-Operation Breakdown
rand-read1           1996ops      197ops/s   1.5mb/s    5.054ms/op [0.003ms - 111.431ms]
11.164: IO Summary:  1996 ops 197.427 ops/s 197/0 rd/wr   1.5mb/s 5.054ms/op
";

fn values(text: &str) -> Vec<(String, f64)> {
    let imported = parse(text).unwrap();
    let phases = imported.runs.iter().flat_map(|run| &run.phases);
    phases.flat_map(Phase::metrics).map(|it| (it.name, it.value)).collect()
}

fn check(text: &str, expected: &[(&str, f64)]) {
    let found = values(text);
    let found: Vec<(&str, f64)> = found.iter().map(|(name, it)| (name.as_str(), *it)).collect();
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((name, value), (expected_name, expected_value)) in found.iter().zip(expected) {
        assert_eq!(name, expected_name);
        assert!((value / expected_value - 1.0).abs() < 1e-12, "{name}: {value}");
    }
}

#[test]
fn the_summary_and_its_operations_are_read() {
    check(
        RUN,
        &[
            ("filebench.ops_per_s", 91.295),
            ("filebench.bytes_per_s", 2.5 * MIB),
            ("filebench.statfile1_latency_avg", 4.1),
            ("filebench.fsyncfile2_latency_avg", 40.9),
        ],
    );
    let imported = parse(RUN).unwrap();
    assert_eq!((imported.tool_version.as_str(), imported.runs.len()), ("1.4.9.1", 1));
    assert_eq!(imported.runs[0].arm, "fileserver");
    assert_eq!(imported.runs[0].work.get("threads"), Some("50"));
    assert_eq!(imported.runs[0].work.get("runtime"), Some("10s"));
    assert_eq!(imported.runs[0].phases[0].nature, Nature::PageCache);
    assert_eq!(imported.runs[0].phases[0].figures[3].nature, Some(Nature::JournalSync));
    assert!(imported.unknown[0].contains("the mean latency"), "{:?}", imported.unknown);
}

#[test]
fn the_mean_over_all_operations_is_read() {
    check(
        NEW,
        &[
            ("filebench.ops_per_s", 197.427),
            ("filebench.bytes_per_s", 1.5 * MIB),
            ("filebench.lat_mean_ns", 5.054e6),
            ("filebench.rand-read1_latency_avg", 5.054),
        ],
    );
    // Only reads and writes: the older way of counting has the same mean.
    let old = "9.1: IO Summary: 100 ops 50.000 ops/s 50/0 rd/wr   1.5mb/s   5.1ms/op\n";
    check(
        old,
        &[
            ("filebench.ops_per_s", 50.0),
            ("filebench.bytes_per_s", 1.5 * MIB),
            ("filebench.lat_mean_ns", 5.1e6),
        ],
    );
}

#[test]
fn snapshots_of_one_run_are_one_run() {
    // 91.295 operations a second over 20.395 s begin where 931 of them over 10.198 s did.
    let later = "4686: 63.297: IO Summary: 1862 ops, 91.295 ops/s, (8/19 r/w),   2.6mb/s, \
                 0us cpu/op,  49.7ms latency\n";
    let imported = parse(&format!("{RUN}{later}")).unwrap();
    assert_eq!(imported.runs.len(), 1, "{imported:?}");
    assert!(imported.notes[0].contains("snapshots of one run"), "{:?}", imported.notes);
    let rate = imported.runs[0].phases[0].figures[1].value;
    assert!((rate / (2.6 * MIB) - 1.0).abs() < 1e-12);
    let reset = later.replace("63.297", "75.000");
    assert_eq!(parse(&format!("{RUN}{reset}")).unwrap().runs.len(), 2);
    assert_eq!(parse(&RUN.repeat(2)).unwrap().runs.len(), 2);
}

#[test]
fn a_load_without_transfers_has_no_rate_of_bytes() {
    let text = "9.1: IO Summary: 27608 ops 92.019 ops/s 0/0 rd/wr   0.0mb/s   0.0ms/op\n";
    check(text, &[("filebench.ops_per_s", 92.019)]);
    let none = "9.1: IO Summary: 0 ops 0.000 ops/s 0/0 rd/wr   0.0mb/s   0.0ms/op\n";
    let error = parse(none).unwrap_err().to_string();
    assert!(error.contains("a summary of no operations"), "{error}");
}

#[test]
fn other_summaries_are_not_results() {
    for text in ["IO Summary: none\n", "Portfolio Summary: 5 ops\n", "IO Summary: 5 ops 1 ops/s\n"]
    {
        assert!(!is_filebench(text), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.a-z/ ,=:\n]{0,30}") {
        let _ = parse(&text);
        for part in ["931 ops", "91.295", "8/19", "49.7ms", "60ops", "53.100"] {
            let _ = parse(&RUN.replace(part, &put));
        }
        let _ = parse(&format!("{SUMMARY} {text}"));
    }

    #[test]
    fn what_is_written_comes_back(ops in 1_u32..9_999_999, mille in 1_u32..99_999_999) {
        let rate = format!("{}.{:03}", mille / 1000, mille % 1000);
        let text = NEW.replace("197.427", &rate).replace("1996 ops", &format!("{ops} ops"));
        let value = values(&text)[0].1;
        proptest::prop_assert!((value / (f64::from(mille) / 1e3) - 1.0).abs() < 1e-12);
    }
}
