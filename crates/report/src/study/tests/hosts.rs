//! Runs that many hosts made together.

use drivelab_analysis::study::{Experiment, HostSample, StudyResult, analyse};
use drivelab_core::record::Skew;
use drivelab_stats::{Verdict, WarningId};

use super::{PLAIN, small};
use crate::study::{json, text};

/// Four hosts that share what all together have: each has so much of the baseline, and gains so
/// much by the other arm.
fn on_hosts(shares: [f64; 4], gains: [f64; 4]) -> Experiment {
    let mut it = small([0, 3], 3);
    for run in &mut it.runs {
        let gain = |rank: u8| if run.arm == 1 { gains[usize::from(rank)] } else { 1.0 };
        let host = |rank: u8| {
            let (number, share) = (u32::from(rank), shares[usize::from(rank)]);
            let chance = 1.0 + 0.002 * f64::from((run.block * 7 + number * 3) % 5);
            let mut metrics = run.metrics.clone();
            // What the arms of the fixture differ by is not the question here.
            for (metric, size) in metrics.iter_mut().zip([1e3, 1e6, 1e7, 1e8]) {
                metric.value = size * share * gain(rank) * chance;
            }
            HostSample {
                rank: number,
                host: format!("node{rank}"),
                target: format!("/mnt/{rank}"),
                is_straggler: share < 0.1,
                metrics,
            }
        };
        run.hosts = (0..4).map(host).collect();
        run.start_skew = Some(Skew { ns: 1000 * u64::from(run.block), error_ns: 50 });
        for (place, metric) in run.metrics.iter_mut().enumerate() {
            metric.value = run.hosts.iter().map(|host| host.metrics[place].value).sum();
        }
    }
    it.primary = format!("{}.iops", it.workloads[0].name);
    it
}

fn analysed(shares: [f64; 4], gains: [f64; 4]) -> StudyResult {
    analyse(on_hosts(shares, gains)).unwrap()
}

#[test]
fn each_host_is_compared_with_itself_and_all_together() {
    let result = analysed([0.05, 0.2, 0.3, 0.4], [1.5; 4]);
    assert_eq!(result.verdict(), Verdict::Faster);
    let json: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    let hosts = &json["hosts"];
    assert_eq!(hosts["ranks"].as_array().unwrap().len(), 4);
    for rank in hosts["ranks"].as_array().unwrap() {
        let own = &rank["metrics"][0];
        assert_eq!((own["verdict"].as_str(), own["n"].as_u64()), (Some("faster"), Some(10)));
        assert!((own["ratio"].as_f64().unwrap() - 1.5).abs() < 1e-9, "{own}");
    }
    let blocked = &hosts["blocked"][0];
    assert!((blocked["ratio"].as_f64().unwrap() - 1.5).abs() < 1e-9, "{blocked}");
    assert_eq!((blocked["role"].as_str(), blocked["n"].as_u64()), (Some("gate"), Some(10)));
    assert_eq!(hosts["start_skew"]["ns"], 9000);
    assert_eq!(hosts["ranks"][0]["straggler_runs"], 20);
    let text = text(&result, PLAIN);
    for words in [
        "Host by host, each compared with itself: x1.50",
        "of 4 by themselves, faster on 4",
        "node3",
        "each with itself",
        "Straggler: rank 0 (node0) was at least 20 % below the median rate in 20 of 20 runs.",
        "in each of 20 runs all hosts began within 9.00 us, known to 50.0 ns.",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = crate::page::of_study(&result, &[]);
    assert!(page.contains("<h2>Host by host</h2>") && page.contains("node3"));
}

#[test]
fn what_some_hosts_gain_and_others_lose_is_no_verdict() {
    let result = analysed([0.97, 0.01, 0.01, 0.01], [1.5, 0.4, 0.4, 0.4]);
    assert_eq!(result.verdict(), Verdict::Inconclusive);
    let warnings = &result.primary().adjusted.comparison.warnings;
    let disagree = warnings.iter().find(|it| it.id == WarningId::HostsDisagree).unwrap();
    assert!(disagree.advice.contains("the verdict is withheld"), "{}", disagree.advice);
    // Where the others lose less than this one gains, both say the same.
    let result = analysed([0.97, 0.01, 0.01, 0.01], [1.5, 0.95, 0.95, 0.95]);
    assert_eq!(result.verdict(), Verdict::Faster);
    // Wherever its lines are broken.
    let text = text(&result, PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("faster on 1, slower on 3"), "{text}");
}

#[test]
fn a_host_without_a_figure_is_said_so_and_the_total_stands() {
    let mut it = on_hosts([0.25; 4], [1.5; 4]);
    it.runs[5].hosts[2].metrics.clear();
    let block = it.runs[5].block + 1;
    let result = analyse(it).unwrap();
    assert_eq!(result.verdict(), Verdict::Faster);
    let notes = result.notes.join("\n");
    let why = format!("host by host: rank 2 has no figure of it in block {block}.");
    assert!(notes.contains(&why), "{notes}");
    let json: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    assert_eq!(json["hosts"]["blocked"], serde_json::json!([]));
}

#[test]
fn one_process_has_no_hosts() {
    let result = analyse(small([0, 3], 3)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
    assert!(json.get("hosts").is_none());
    assert!(!text(&result, PLAIN).contains("Host by host"));
}
