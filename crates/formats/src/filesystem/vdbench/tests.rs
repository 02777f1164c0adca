//! Averages in the form of vdbench 5.04.

use super::*;

const REPORT: &str = "\
<a name=\"_1\"></a><i><b>13:49:00.011 Starting RD=rd1; I/O rate: 50; elapsed=60; For loops: threads=2</b></i>
Apr 08, 2016  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%
                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth sys+u   sys
13:49:01.250         1       0.00     0.00       0   0.00    0.000    0.000    0.000    0.000    0.000   0.0  24.1   2.0
13:50:00.208  avg_2-60      50.02     0.20    4096  75.91    5.395    6.944    0.516   96.066   10.097   0.3   1.2   0.2
13:50:02.001 Starting RD=rd2; I/O rate: Uncontrolled MAX; elapsed=60
11:23:54.347avg_2-1200    4909.28  2454.64  524288 100.00    6.516    6.516    0.000   28.607    0.998  32.0   1.4   1.2
";
const FLAT: &str = "\
         tod        Run   Interval    reqrate       rate     MB/sec   bytes/io      read%       resp  read_resp write_resp   xfersize    threads
12:53:47.274        rd1          1 25000.0000    37.0000     0.1445       4096    72.9730    44.0770    59.9303     1.2730       4096     2.0000
12:54:46.183        rd1   avg_2-60 25000.0000   117.7458     0.4599       4096    74.9388    16.9653    22.3532     0.8543       4096     2.0000
";

fn values_of(text: &str) -> Vec<(String, String, f64)> {
    let imported = parse(text).unwrap();
    let mut values = Vec::new();
    for run in &imported.runs {
        let metrics = run.phases.iter().flat_map(Phase::metrics).filter(|it| !it.is_detail);
        values.extend(metrics.map(|it| (run.arm.clone(), it.name, it.value)));
    }
    values
}

#[track_caller]
fn check(text: &str, expected: &[(&str, &str, f64)]) {
    let found = values_of(text);
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((found.0.as_str(), found.1.as_str()), (expected.0, expected.1));
        assert!((found.2 / expected.2 - 1.0).abs() < 1e-12, "{found:?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:?}");
}

#[test]
fn the_averages_of_reports_are_read() {
    assert!(is_vdbench(REPORT));
    let expected = [
        ("rd1", "iops", 50.02),
        ("rd1", "bytes_per_s", 0.2 * MIB),
        ("rd1", "lat_mean_ns", 5_395_000.0),
        ("rd1", "read_lat_mean_ns", 6_944_000.0),
        ("rd1", "write_lat_mean_ns", 516_000.0),
        ("rd2", "iops", 4909.28),
        ("rd2", "bytes_per_s", 2454.64 * MIB),
        ("rd2", "lat_mean_ns", 6_516_000.0),
        ("rd2", "read_lat_mean_ns", 6_516_000.0),
    ];
    check(REPORT, &expected);
    let imported = parse(REPORT).unwrap();
    assert_eq!(imported.runs[0].work.to_string(), "rwmixread=76 threads=2 rate=50");
    assert_eq!(imported.runs[1].work.get("rate"), None);
    let labels = |run: usize| imported.runs[run].phases[0].figures[0].remarks.len();
    assert_eq!((labels(0), labels(1)), (1, 0), "only the rate of the first was given");
}

#[test]
fn the_averages_of_flat_files_are_read_by_their_columns() {
    assert!(is_vdbench(FLAT));
    let expected = [
        ("rd1", "iops", 117.7458),
        ("rd1", "bytes_per_s", 0.4599 * MIB),
        ("rd1", "lat_mean_ns", 16_965_300.0),
        ("rd1", "read_lat_mean_ns", 22_353_200.0),
        ("rd1", "write_lat_mean_ns", 854_300.0),
    ];
    check(FLAT, &expected);
}

/// Version 5.02, which has no times of reads and writes.
const OLD: &str = "\
Apr 08, 2010  interval        i/o   MB/sec   bytes   read     resp     resp     resp    cpu%  cpu%
                             rate  1024**2     i/o    pct     time      max   stddev sys+usr   sys
13:50:00.208  avg_2-60      50.00     0.20    4096  75.91    5.500   96.066   10.097     1.2   0.2
";
/// A load of a file system.
const FILES: &str = "\
Jun 05, 2018  .Interval. .ReqstdOps... ...cpu%...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer.. ...mkdir....
                          rate   resp total  sys   pct   rate   resp   rate   resp  read write  total    size  rate   resp
18:58:42.205    avg_2-10  60.2  1.500  13.0 2.80  25.0   15.0  2.500   45.0  1.250  1.00  6.25   7.25 1048576   0.0  0.000
";

#[test]
fn columns_are_those_of_the_heading() {
    let rates = [("", "iops", 50.0), ("", "bytes_per_s", 0.2 * MIB), ("", "lat_mean_ns", 5.5e6)];
    check(OLD, &rates);
    // Without it, only what is the same in every version.
    check(&OLD[OLD.find("13:50").unwrap()..], &rates);
    let times = [("", "read_lat_mean_ns", 2.5e6), ("", "write_lat_mean_ns", 1.25e6)];
    let rates = [("", "iops", 60.2), ("", "bytes_per_s", 7.25 * MIB), ("", "lat_mean_ns", 1.5e6)];
    check(FILES, &[&rates[..], &times].concat());
    let row = &FILES[FILES.find("18:58").unwrap()..];
    assert!(parse(row).unwrap_err().to_string().starts_with("it contains no results of vdbench"));
}

#[test]
fn other_averages_are_not_read() {
    for text in ["avg_2-60 1 2 3 4 5 6 7\n", "12:00:00.1 avg_of-all 1 2 3 4 5 6 7\n", "avg_\n"] {
        assert!(!is_vdbench(text), "{text}");
    }
    let imported = parse(&REPORT.replace("50.02", "5x.02")).unwrap();
    assert!(imported.unknown[0].starts_with("line 5: `13:50:00.208"), "{:?}", imported.unknown);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.a-z:;_<> -]{0,30}") {
        let _ = parse(&text);
        let _ = parse(&REPORT.replace("50.02", &put));
        let _ = parse(&REPORT.replace("13:50:00.208  avg_2-60", &put));
        let _ = parse(&FLAT.replace("117.7458", &put));
        let _ = parse(&FILES.replace("rate   resp total", &put));
    }

    #[test]
    fn what_is_written_comes_back(cents in 1_u32..99_999_999) {
        let text = format!("{}.{:02}", cents / 100, cents % 100);
        let value = values_of(&REPORT.replace("50.02", &text))[0].2;
        proptest::prop_assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits());
    }
}

#[test]
fn a_row_that_is_cut_off_never_has_another_number() {
    for text in [REPORT, FLAT, OLD, FILES] {
        let wrong = crate::found::damage::misread(text, |line| line.contains("avg_"), parse);
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
