//! Outputs in the form that sysbench 1.0 and 1.1 print.

use super::*;

const FILE: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 1
Initializing random number generator from current time


Extra file open flags: directio
128 files, 16MiB each
2GiB total file size
Block size 16KiB
Number of IO requests: 0
Read/Write ratio for combined random IO test: 1.50
Periodic FSYNC enabled, calling fsync() each 100 requests.
Calling fsync() at the end of test, Enabled.
Using synchronous I/O mode
Doing random r/w test
Initializing worker threads...

Threads started!


File operations:
    reads/s:                      1234.56
    writes/s:                     823.04
    fsyncs/s:                     2637.32

Throughput:
    read, MiB/s:                  19.29
    written, MiB/s:               12.86

General statistics:
    total time:                          10.0043s
    total number of events:              46844

Latency (ms):
         min:                                    0.00
         avg:                                    0.21
         max:                                   13.05
         95th percentile:                        1.10
         sum:                                 9931.36

Threads fairness:
    events (avg/stddev):           46844.0000/0.00
    execution time (avg/stddev):   9.9314/0.00

";
const SQL: &str = "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)
Threads started!

SQL statistics:
    queries performed:
        read:                            14000
        write:                           4000
        other:                           2000
        total:                           20000
    transactions:                        1000   (100.10 per sec.)
    queries:                             20000  (2002.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)
";

fn metrics(imported: &Imported) -> Vec<Figure> {
    imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics).collect()
}

#[track_caller]
fn check(text: &str, nature: Nature, expected: &[(&str, f64)]) -> Imported {
    let imported = parse(text).unwrap();
    let metrics = metrics(&imported);
    let found: Vec<_> = metrics.iter().map(|f| (f.name.as_str(), f.value)).collect();
    assert_eq!(found, expected);
    assert!(metrics.iter().all(|figure| figure.nature == Some(nature)));
    assert_eq!(imported.unknown, Vec::<String>::new());
    imported
}

#[test]
fn file_tests_have_rates_and_latencies() {
    let expected = [
        ("fileio_rndrw_reads", 1234.56),
        ("fileio_rndrw_writes", 823.04),
        ("fileio_rndrw_fsyncs", 2637.32),
        ("fileio_rndrw_read_rate", 19.29),
        ("fileio_rndrw_write_rate", 12.86),
        ("fileio_rndrw_latency_min", 0.0),
        ("fileio_rndrw_latency_avg", 0.21),
        ("fileio_rndrw_latency_max", 13.05),
        ("fileio_rndrw_latency_p95", 1.1),
    ];
    let imported = check(FILE, Nature::Disk, &expected);
    assert_eq!((imported.tool.as_str(), imported.tool_version.as_str()), ("sysbench", "1.0.20"));
    assert!(imported.notes.is_empty());
    let cached = check(&FILE.replace("directio", "(none)"), Nature::PageCache, &expected);
    let label = cached.runs[0].phases[0].remarks[0].label;
    assert_eq!(label, Label::Nature(Nature::PageCache));
}

#[test]
fn version_1_1_writes_one_line_a_direction() {
    let text = "sysbench 1.1.0\nExtra file open flags: directio\nDoing random read test\n\
                Throughput:\n         read:  IOPS=1000.50 15.63 MiB/s (16.39 MB/s)\n         \
                write: IOPS=0.00 0.00 MiB/s (0.00 MB/s)\n         fsync: IOPS=0.00\n";
    let expected = [("fileio_rndrd_reads", 1000.5), ("fileio_rndrd_read_rate", 15.63)];
    check(text, Nature::Disk, &expected);
}

#[test]
fn databases_have_transactions() {
    let expected = [("sql_transactions", 100.1), ("sql_queries", 2002.0)];
    let imported = check(&SQL.repeat(2), Nature::JournalSync, &[expected, expected].concat());
    assert_eq!(imported.runs.len(), 2);
}

#[test]
fn cpu_and_memory_are_not_disks() {
    let cpu = "sysbench 1.0.20\nCPU speed:\n    events per second:  1042.13\n";
    let memory = "sysbench 1.0.20\nRunning memory speed test with the following options:\n  block \
                  size: 1KiB\n  total size: 102400MiB\n  operation: write\n  scope: global\n\
                  Total operations: 1024 (512.50 per second)\n\n\
                  1.00 MiB transferred (0.50 MiB/sec)\n";
    let imported = check(cpu, Nature::Cpu, &[("cpu_events", 1042.13)]);
    assert_eq!(imported.runs[0].phases[0].remarks[1].label, Label::NotDisk);
    let expected = [("memory_operations", 512.5), ("memory_rate", 0.5)];
    let imported = check(memory, Nature::Cpu, &expected);
    assert_eq!(imported.runs[0].phases[0].remarks[1].label, Label::NotDisk);
}

#[test]
fn damage_is_named_with_its_line() {
    let error = parse(&FILE.replace("823.04", "823,04")).unwrap_err().to_string();
    assert!(error.starts_with("line 25: `823,04` is not a number; check"), "{error}");
    let error = parse("sysbench 1.0.20\n").unwrap_err().to_string();
    assert!(error.starts_with("it contains no results of sysbench; give"), "{error}");
    let imported = parse(&FILE.replace("fsyncs/s", "barriers/s")).unwrap();
    assert_eq!(imported.unknown, ["line 26: `barriers/s:                     2637.32`"]);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String) {
        let _ = parse(&format!("sysbench 1.0.20\n{text}"));
    }

    #[test]
    fn no_damage_panics(at in 0..1500_usize, cut in 0..30_usize, put in "[0-9./:() a-z\n]{0,8}") {
        let mut text = FILE.to_owned();
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &put);
        let _ = parse(&text);
    }
}

/// A number of every kind, in the form of 0.4.12.
const OLD_FILE: &str = "sysbench 0.4.12:  multi-threaded system evaluation benchmark

Doing random r/w test
Operations performed:  6000 Read, 4000 Write, 12800 Other = 22800 Total
Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (12.515Mb/sec)
  800.93 Requests/sec executed

Test execution summary:
    total time:                          12.4854s
    total number of events:              10000
    total time taken by event execution: 6.0000
    per-request statistics:
         min:                                  0.01ms
         avg:                                  0.60ms
         max:                                 97.92ms
         approx.  95 percentile:               5.51ms
";
const OLD_CPU: &str = "sysbench 0.4.12:  multi-threaded system evaluation benchmark
Doing CPU performance benchmark
Maximum prime number checked in CPU test: 20000
Test execution summary:
    total time:                          10.0000s
    total number of events:              10000
    per-request statistics:
         avg:                                  2.57ms
";
const OLD_SQL: &str = "sysbench 0.4.12:  multi-threaded system evaluation benchmark
Doing OLTP test.
OLTP test statistics:
    queries performed:
        read:                            422436
    transactions:                        30174  (251.44 per sec.)
    deadlocks:                           0      (0.00 per sec.)
    read/write requests:                 573306 (4777.30 per sec.)
";

#[track_caller]
fn check_old(text: &str, expected: &[(&str, f64)]) {
    let imported = parse(text).unwrap();
    let phases = imported.runs.iter().flat_map(|run| &run.phases);
    let found: Vec<_> =
        phases.flat_map(Phase::metrics).map(|it| (it.name.clone(), it.value)).collect();
    let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(found, expected);
    assert_eq!(imported.unknown, [""; 0]);
}

#[test]
fn tests_of_version_0_4_are_read() {
    let file = [
        ("fileio_rndrw_rate", 12.515),
        ("fileio_rndrw_requests", 800.93),
        ("fileio_rndrw_latency_min", 0.01),
        ("fileio_rndrw_latency_avg", 0.6),
        ("fileio_rndrw_latency_max", 97.92),
        ("fileio_rndrw_latency_p95", 5.51),
    ];
    check_old(OLD_FILE, &file);
    check_old(OLD_CPU, &[("cpu_latency_avg", 2.57), ("cpu_events", 1000.0)]);
    check_old(OLD_SQL, &[("sql_transactions", 251.44)]);
    let indented = format!("    {}", OLD_FILE.replace('\n', "\n    "));
    check_old(&indented, &file);
}

#[test]
fn seconds_and_other_amounts_are_scaled() {
    let text = OLD_FILE.replace("0.60ms", "0.0006s").replace("12.515Mb/sec", "1.5Gb/sec");
    let imported = parse(&text).unwrap();
    let figures = &imported.runs[0].phases[0].figures;
    assert!((figures[0].value - 1536.0).abs() < 1e-9, "{figures:?}");
    assert!((figures[3].value - 0.6).abs() < 1e-9, "{figures:?}");
}

#[test]
fn what_was_pasted_without_its_first_lines_is_read() {
    let count = |text: &str| -> (usize, usize) {
        assert!(is_sysbench(text), "{text}");
        let imported = parse(text).unwrap();
        let figures = imported.runs.iter().flat_map(|run| &run.phases).map(|it| it.figures.len());
        (imported.runs.len(), figures.sum())
    };
    let all = count(FILE);
    let options = &FILE[FILE.find("Running the test").unwrap()..];
    let figures = &FILE[FILE.find("File operations:").unwrap()..];
    assert_eq!(count(options), all);
    assert_eq!(count(figures), all);
    assert_eq!(count(&format!("{figures}\n{figures}")), (2, 2 * all.1));
    let rates = "Throughput:\n    read, MiB/s:      6.92\n    written, MiB/s:   4.61\n";
    assert_eq!(count(rates), (1, 2));
    assert!(!is_sysbench("Throughput:\n    read: 5\n"));
}
