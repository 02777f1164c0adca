//! Hosts for scripts: `hosts` of `drivelab.study/1`.

use drivelab_analysis::study::hosts::{Judged, OnHosts};
use drivelab_core::record::Skew;
use serde::Serialize;

use crate::outcome::MetricJson;

#[derive(Serialize)]
pub(in crate::study) struct HostsJson<'a> {
    ranks: Vec<RankJson<'a>>,
    /// Each host compared with itself, all together.
    blocked: Vec<MetricJson<'a>>,
    runs: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_skew: Option<Skew>,
}

#[derive(Serialize)]
struct RankJson<'a> {
    rank: u32,
    host: &'a str,
    target: &'a str,
    straggler_runs: usize,
    metrics: Vec<MetricJson<'a>>,
}

/// The results of each host.
pub(in crate::study) fn json<'a>(it: &'a OnHosts, names: &[&'a str]) -> HostsJson<'a> {
    let ranks = it.hosts.iter().map(|host| RankJson {
        rank: host.rank,
        host: &host.host,
        target: &host.target,
        straggler_runs: host.straggled,
        metrics: metrics(&host.judged, names),
    });
    HostsJson {
        ranks: ranks.collect(),
        blocked: metrics(&it.blocked, names),
        runs: it.runs,
        start_skew: it.skew,
    }
}

fn metrics<'a>(judged: &'a Judged, names: &[&'a str]) -> Vec<MetricJson<'a>> {
    judged
        .outcomes
        .iter()
        .map(|outcome| {
            let series = &judged.series;
            MetricJson::new(outcome, &series[outcome.series], names)
        })
        .collect()
}
