//! Hosts on the page of a study.

use drivelab_analysis::figures;
use drivelab_analysis::study::StudyResult;
use drivelab_analysis::study::hosts::{Judged, OnHosts};

use super::text::{listed, question};
use crate::page::html::{self, escape};

/// A line for each host; nothing where one process made the runs.
pub(crate) fn section(result: &StudyResult) -> String {
    let Some(hosts) = &result.hosts else { return String::new() };
    let (name, arms) = question(result);
    let names = result.names();
    let heads = ["rank", "host", names[arms.0], names[arms.1], "ratio", "95 % interval", "verdict"];
    let table = html::table(&heads, rows(hosts, name, arms).into_iter());
    let about = format!(
        "All hosts made each run at the same time, and its figures are those of all together. Here \
         each is compared with itself, in <code>{}</code>: the last line is the geometric mean of \
         their ratios, block by block.",
        escape(name)
    );
    html::section("Host by host", &about, &html::scroll("Hosts", &table))
}

fn rows(hosts: &OnHosts, name: &str, arms: (usize, usize)) -> Vec<Vec<String>> {
    let each = listed(hosts, name, arms).into_iter().filter_map(|host| {
        let head = [host.rank.to_string(), escape(&host.host)];
        row(head, &host.judged, name, arms)
    });
    let all = row(["all".into(), "each with itself".into()], &hosts.blocked, name, arms);
    each.chain(all).collect()
}

fn row(
    head: [String; 2],
    judged: &Judged,
    name: &str,
    arms: (usize, usize),
) -> Option<Vec<String>> {
    let outcome = judged.of(name, arms)?;
    let series = &judged.series[outcome.series];
    let comparison = &outcome.adjusted.comparison;
    let cells = [
        escape(&series.show(outcome.mean(series, arms.0))),
        escape(&series.show(outcome.mean(series, arms.1))),
        html::inline(&figures::times(comparison.ratio)),
        comparison.ci95.map(figures::range).unwrap_or_default(),
        escape(&outcome.word()),
    ];
    Some(head.into_iter().chain(cells).collect())
}
