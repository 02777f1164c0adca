//! Summaries in the form of several versions.

use super::*;
use drivelab_core::record::Phase;

const V15: &str = "pgbench (15.7 (Debian 15.7-0+deb12u1))
starting vacuum...end.
progress: 5.0 s, 602.2 tps, lat 16.608 ms stddev 17.528, 0 failed
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
query mode: simple
number of clients: 10
number of threads: 1
maximum number of tries: 1
duration: 600 s
number of transactions actually processed: 326155
number of failed transactions: 0 (0.000%)
latency average = 18.395 ms
latency stddev = 19.632 ms
initial connection time = 21.214 ms
tps = 543.590099 (without initial connection time)
";
const V12: &str = "starting vacuum...end.
transaction type: <builtin: select only>
scaling factor: 1
query mode: extended
number of clients: 16
number of threads: 2
number of transactions per client: 1000
number of transactions actually processed: 16000/16000
latency average = 0.155 ms
tps = 103417.377469 (including connections establishing)
tps = 103510.639935 (excluding connections establishing)
";

#[track_caller]
fn check(text: &str, expected: &[(&str, f64)]) -> Imported {
    let imported = parse(text).unwrap();
    let metrics: Vec<Figure> =
        imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics).collect();
    let found: Vec<_> = metrics.iter().map(|f| (f.name.as_str(), f.value)).collect();
    assert_eq!(found, expected);
    imported
}

#[test]
fn summaries_of_every_version_are_read() {
    let first = [
        ("tps_tpc-b", 543.590_099),
        ("tps_tpc-b_latency_avg", 18.395),
        ("tps_tpc-b_latency_stddev", 19.632),
        ("tps_tpc-b_connection_time", 21.214),
    ];
    let imported = check(V15, &first);
    assert_eq!((imported.tool.as_str(), imported.tool_version.as_str()), ("pgbench", "15.7"));
    assert_eq!((&imported.unknown, &imported.notes), (&vec![], &vec![]));
    assert_eq!(imported.runs[0].phases[0].nature, Nature::JournalSync);
    let second = [
        ("tps_select-only", 103_510.639_935),
        ("tps_select-only_with_connections", 103_417.377_469),
        ("tps_select-only_latency_avg", 0.155),
    ];
    let imported = check(V12, &second);
    assert_eq!(imported.runs[0].phases[0].nature, Nature::PageCache);
    let both: Vec<_> = first.into_iter().chain(second).collect();
    let imported = check(&format!("{V15}{V12}"), &both);
    assert_eq!(imported.runs.iter().map(|run| run.line).collect::<Vec<_>>(), [4, 18]);
}

#[test]
fn further_runs_may_lack_the_beginning_of_their_summary() {
    let end = &V15[V15.find("duration:").unwrap()..];
    let text = format!("{V15}=== RUN 1 ===\n{}", end.replace("543.590099", "600.5"));
    let imported = parse(&text).unwrap();
    assert_eq!(imported.runs.iter().map(|run| run.line).collect::<Vec<_>>(), [4, 18]);
    let rates: Vec<f64> = imported.runs.iter().map(|run| run.phases[0].figures[0].value).collect();
    assert_eq!(rates, [543.590_099, 600.5]);
}

#[test]
fn failures_and_unknown_lines_are_kept() {
    let text = V15.replace("transactions: 0 (0.000%)", "transactions: 7 (0.002%)");
    let imported = parse(&format!("{text}SQL script 1: a.sql\n - weight: 1\nodd\n")).unwrap();
    assert_eq!(imported.notes, ["Line 12: transactions failed: 7 (0.002%)."]);
    assert_eq!(imported.unknown, ["line 19: `odd`"]);
    assert_eq!(imported.runs[0].flaws, [Flaw::Failed { failed: 7, requests: 326_162 }]);
    let error = parse(&V15.replace("543.590099", "54x")).unwrap_err().to_string();
    assert!(error.starts_with("line 16: `54x` is not a number; check"), "{error}");
    let error = parse("transaction type: a\n").unwrap_err().to_string();
    assert!(error.starts_with("it contains no results of pgbench; give"), "{error}");
}

proptest::proptest! {
    #[test]
    fn no_damage_panics(at in 0..600_usize, cut in 0..30_usize, put in "[0-9.=() a-z:\n]{0,8}") {
        let mut text = V15.to_owned();
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &put);
        let _ = parse(&text);
    }
}
