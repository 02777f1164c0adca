//! An output in the form of `ab` 2.3.

use super::*;
use drivelab_core::record::{Label, Nature, Phase};

const RUN: &str = "This is ApacheBench, Version 2.3 <$Revision: 1901567 $>
Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/
Licensed to The Apache Software Foundation, http://www.apache.org/

Benchmarking localhost (be patient)
Completed 100 requests
Finished 1000 requests


Server Software:        Apache/2.4.57
Server Hostname:        localhost
Server Port:            8088

Document Path:          /test.html
Document Length:        3064 bytes

Concurrency Level:      100
Time taken for tests:   0.064 seconds
Complete requests:      1000
Failed requests:        0
Total transferred:      3310000 bytes
HTML transferred:       3064000 bytes
Requests per second:    15546.63 [#/sec] (mean)
Time per request:       6.432 [ms] (mean)
Time per request:       0.064 [ms] (mean, across all concurrent requests)
Transfer rate:          50253.20 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    1   0.5      1       3
Processing:     2    5   2.0      5      20
Waiting:        1    4   1.9      4      19
Total:          2    6   2.1      6      22

Percentage of the requests served within a certain time (ms)
  50%      6
  99%     20
 100%     22 (longest request)
";

fn metrics(imported: &Imported) -> Vec<Figure> {
    imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics).collect()
}

#[test]
fn the_figures_are_those_that_are_printed() {
    let imported = parse(RUN).unwrap();
    assert_eq!((imported.tool.as_str(), imported.tool_version.as_str()), ("ab", "2.3"));
    let metrics = metrics(&imported);
    let found: Vec<_> = metrics.iter().map(|f| (f.name.as_str(), f.value)).collect();
    let expected = [
        ("requests", 15_546.63),
        ("requests_latency_mean", 6.432),
        ("requests_interval_mean", 0.064),
        ("requests_transfer_rate", 50_253.2),
        ("requests_connect_mean", 1.0),
        ("requests_processing_mean", 5.0),
        ("requests_waiting_mean", 4.0),
        ("requests_total_mean", 6.0),
        ("requests_latency_p50", 6.0),
        ("requests_latency_p99", 20.0),
        ("requests_latency_max", 22.0),
    ];
    assert_eq!(found, expected);
    assert_eq!((&imported.unknown, &imported.notes), (&vec![], &vec![]));
    let labels: Vec<_> = metrics[0].remarks.iter().map(|remark| remark.label).collect();
    assert_eq!(labels, [Label::Nature(Nature::Cpu), Label::NotDisk, Label::SingleRun]);
}

#[test]
fn failures_are_noted_and_unknown_lines_kept() {
    let text = RUN.replace("Failed requests:        0", "Failed requests:        12\n   odd: 3");
    let imported = parse(&format!("{text}{RUN}")).unwrap();
    assert_eq!(imported.notes, ["Line 20: Failed requests: 12."]);
    assert_eq!(imported.unknown, ["line 21: `odd: 3`"]);
    assert_eq!(imported.runs.len(), 2);
}

#[test]
fn damage_is_named_with_its_line() {
    let error = parse(&RUN.replace("15546.63", "fast")).unwrap_err().to_string();
    assert!(error.starts_with("line 23: `fast` is not a number; check"), "{error}");
    let error = parse(BANNER).unwrap_err().to_string();
    assert!(error.starts_with("it contains no results of ab; give"), "{error}");
}

proptest::proptest! {
    #[test]
    fn no_damage_panics(at in 0..1500_usize, cut in 0..30_usize, put in "[0-9.%() a-z:\n]{0,8}") {
        let mut text = RUN.to_owned();
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &put);
        let _ = parse(&text);
    }
}
