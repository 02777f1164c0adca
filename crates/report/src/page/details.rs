//! Tables of every number.

use drivelab_analysis::outcome::{Outcome, Series};
use drivelab_analysis::study::{LatencyCurve, StudyResult};
use drivelab_analysis::{figures, metric};

use super::badge::badge;
use super::html::{self, escape, fold, range_or_dash, scroll, table};
use crate::outcome::direction;

pub(super) fn section(result: &StudyResult) -> String {
    let mut html = comparisons(&result.outcomes, &result.series, &result.names());
    let blocks: Vec<String> = result.used.iter().map(|block| (block + 1).to_string()).collect();
    for (index, workload) in result.experiment.workloads.iter().enumerate() {
        let series: Vec<&Series> = result.series.iter().filter(|s| s.workload == index).collect();
        if !series.is_empty() {
            let title = format!("Values of {}, block by block", escape(&workload.name));
            html += &folded(&title, &values(&blocks, &result.names(), &series));
        }
    }
    html::section("Every number", "", &html)
}

pub(crate) fn folded(title: &str, table: &str) -> String {
    fold(title, &scroll(title, table))
}

/// The verdict stands first.
pub(crate) fn comparisons(outcomes: &[Outcome], series: &[Series], names: &[&str]) -> String {
    let heads = "metric|verdict|arm|ratio|95 % interval|95 % of drives|better|n|Hodges-Lehmann|its \
                 interval|p|p adjusted|interval of the family";
    let heads: Vec<&str> = heads.split('|').collect();
    let rows = outcomes
        .iter()
        .map(|outcome| comparison(outcome, &series[outcome.series], names[outcome.to]));
    folded("All comparisons", &table(&heads, rows))
}

fn comparison(outcome: &Outcome, series: &Series, arm: &str) -> Vec<String> {
    let comparison = &outcome.adjusted.comparison;
    vec![
        escape(&series.name),
        badge(outcome),
        escape(arm),
        figures::ratio(comparison.ratio),
        range_or_dash(comparison.ci95),
        range_or_dash(outcome.foreseen.as_ref().map(|it| it.forecast.prediction95)),
        escape(direction(series.better)),
        comparison.n.to_string(),
        figures::ratio(comparison.hl_ratio),
        range_or_dash(comparison.hl_ci95),
        escape(&figures::p_value(comparison.p)),
        escape(&figures::p_value(outcome.adjusted.p_adjusted)),
        range_or_dash(outcome.adjusted.ci95_family),
    ]
}

/// The values that every block measured; `series` share their blocks.
pub(crate) fn values(blocks: &[String], names: &[&str], series: &[&Series]) -> String {
    let mut heads = vec!["block", "arm"];
    let labels: Vec<String> = series.iter().map(|s| metric::label(&s.metric)).collect();
    heads.extend(labels.iter().map(String::as_str));
    let rows = blocks.iter().enumerate().flat_map(|(index, block)| {
        names.iter().enumerate().map(move |(arm, name)| {
            let mut cells = vec![escape(block), escape(name)];
            // Arms without pairs may have fewer runs than others.
            let value = |s: &&Series| s.values[arm].get(index).map(|value| escape(&s.show(*value)));
            cells.extend(series.iter().map(|s| value(s).unwrap_or_else(|| "\u{2013}".to_owned())));
            cells
        })
    });
    table(&heads, rows)
}

pub(super) fn depth(result: &StudyResult) -> String {
    let mut heads = vec!["depth"];
    heads.extend(result.depth.iter().map(|curve| result.experiment.arms[curve.arm].name.as_str()));
    let rows = result.depths().into_iter().map(|depth| {
        let mut cells = vec![depth.to_string()];
        cells.extend(result.depth.iter().map(|curve| {
            let point = curve.points.iter().find(|point| point.iodepth == depth);
            point.map_or("\u{2013}".to_owned(), |point| figures::count(point.iops))
        }));
        cells
    });
    folded("The figures of these lines (IOPS)", &table(&heads, rows))
}

pub(super) fn quantiles(result: &StudyResult) -> String {
    let workloads: Vec<&str> =
        result.experiment.workloads.iter().map(|workload| workload.name.as_str()).collect();
    quantiles_of(&result.latency, &workloads, &result.names())
}

/// The quantiles of curves, each of a workload and an arm.
pub(crate) fn quantiles_of(curves: &[LatencyCurve], workloads: &[&str], arms: &[&str]) -> String {
    let rows = curves.iter().map(|curve| {
        let mut cells = vec![escape(workloads[curve.workload]), escape(arms[curve.arm])];
        let shown = curve.quantiles.iter();
        cells.extend(shown.map(|q| q.map_or("\u{2013}".to_owned(), figures::span_ns)));
        cells.push(curve.n.to_string());
        cells
    });
    let heads = ["workload", "arm", "p50", "p90", "p99", "p99.9", "longest", "requests"];
    folded("The quantiles of these curves", &table(&heads, rows))
}
