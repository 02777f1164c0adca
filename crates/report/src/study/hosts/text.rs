//! Hosts for people: the answer host by host, and a table.

use drivelab_analysis::figures;
use drivelab_analysis::outcome::Outcome;
use drivelab_analysis::study::StudyResult;
use drivelab_analysis::study::hosts::{Judged, OnHosts, OneHost};
use drivelab_stats::Verdict;

use crate::hosts::span;
use crate::outcome::{Sentence, ratio_and_range};
use crate::text::{Align, BOLD, Cell, Look, Table, style};

/// Hosts that are listed before the rest is only counted.
const HOSTS_MAX: usize = 20;

/// Describes the effect on the primary metric on each host, in a sentence.
pub(in crate::study) fn sentence(result: &StudyResult) -> Option<Sentence> {
    let hosts = result.hosts.as_ref()?;
    let (name, arms) = question(result);
    let all = hosts.blocked.of(name, arms)?;
    let verdicts = [
        Verdict::Faster,
        Verdict::Slower,
        Verdict::NoPracticalDifference,
        Verdict::Different,
        Verdict::Inconclusive,
    ];
    let counted = verdicts.into_iter().filter_map(|verdict| {
        let has =
            |host: &&OneHost| host.judged.of(name, arms).map(Outcome::verdict) == Some(verdict);
        let count = hosts.hosts.iter().filter(has).count();
        (count > 0).then(|| format!("{verdict} on {count}"))
    });
    let counted: Vec<String> = counted.collect();
    let body = format!(
        "each compared with itself: {}, {}; of {} by themselves, {}.",
        ratio_and_range(all),
        all.word(),
        hosts.hosts.len(),
        counted.join(", ")
    );
    Some(Sentence::new("Host by host,", body, None))
}

/// The metric and the arms that the study's answer is about.
pub(super) fn question(result: &StudyResult) -> (&str, (usize, usize)) {
    let primary = result.primary();
    (&result.series_of(primary).name, (primary.from, primary.to))
}

/// A line for each host; those that do not show what all show come first where there are many.
pub(in crate::study) fn table(result: &StudyResult, look: Look) -> Option<String> {
    let hosts = result.hosts.as_ref()?;
    let (name, arms) = question(result);
    let names = result.names();
    let mut table = Table::new(&[
        ("  rank", Align::Right, 1),
        ("host", Align::Left, 0),
        (names[arms.0], Align::Right, 0),
        (names[arms.1], Align::Right, 0),
        ("ratio", Align::Right, 0),
        ("95 % interval", Align::Left, 0),
        ("verdict", Align::Left, 0),
    ]);
    table.heading(format!("{name}, host by host:"), String::new());
    for host in listed(hosts, name, arms).into_iter().take(HOSTS_MAX) {
        if let Some(row) = row(&host.judged, name, arms) {
            table.row([vec![host.rank.to_string().into(), host.host.clone().into()], row].concat());
        }
    }
    let all = row(&hosts.blocked, name, arms)?;
    table.row([vec!["all".into(), "each with itself".into()], all].concat());
    let mut text = table.render(look);
    if let more @ 1.. = hosts.hosts.len().saturating_sub(HOSTS_MAX) {
        text += &format!("  and {more} more: --json lists all\n");
    }
    if let Some(skew) = hosts.skew {
        let [skew, error] = [skew.ns, skew.error_ns].map(span);
        let body = format!(
            "in each of {} runs all hosts began within {skew}, known to {error}.",
            hosts.runs
        );
        text += &(look.led("Start:", BOLD, &body, 2) + "\n");
    }
    Some(text)
}

/// Hosts by rank, but those first that do not show what all show.
pub(super) fn listed<'a>(hosts: &'a OnHosts, name: &str, arms: (usize, usize)) -> Vec<&'a OneHost> {
    let all = hosts.blocked.of(name, arms).map(Outcome::verdict);
    let mut listed: Vec<&OneHost> = hosts.hosts.iter().collect();
    if listed.len() > HOSTS_MAX {
        // Hosts that disagree with all together come first: `false` sorts before `true`.
        listed.sort_by_key(|host| host.judged.of(name, arms).map(Outcome::verdict) == all);
    }
    listed
}

fn row(judged: &Judged, name: &str, arms: (usize, usize)) -> Option<Vec<Cell>> {
    let outcome = judged.of(name, arms)?;
    let series = &judged.series[outcome.series];
    let comparison = &outcome.adjusted.comparison;
    Some(vec![
        series.show(outcome.mean(series, arms.0)).into(),
        series.show(outcome.mean(series, arms.1)).into(),
        figures::times(comparison.ratio).into(),
        comparison.ci95.map(figures::range).unwrap_or_default().into(),
        (outcome.word(), style(outcome.verdict())).into(),
    ])
}
