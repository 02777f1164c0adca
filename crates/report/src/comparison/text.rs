//! A comparison for a terminal.

mod short;

pub use short::short;

use drivelab_analysis::comparison::{CompareResult, SeriesFacts};
use drivelab_analysis::figures;
use drivelab_analysis::outcome::Outcome;
use drivelab_core::counted;
use drivelab_stats::Better;

use super::words::{title, words};
use crate::attachment;
use crate::outcome::direction;
use crate::text::{Align, BOLD, Cell, DOUBT, Look, Table, style};
use drivelab_core::config::Choice as _;
use drivelab_core::record::{Label, label_names};

/// The result as text.
pub fn text(result: &CompareResult, look: Look) -> String {
    let mut text = format!("{}\n\n", look.paint(&look.wrap(&title(&result.names()), 0), BOLD));
    for sentence in words(result) {
        text += &sentence.text(look);
    }
    text.push('\n');
    if let Some(better) = one_direction(result) {
        text += &format!("In each metric of this table {}.\n", direction(better));
    }
    text += &table(result).render(look);
    text.push('\n');
    text += &attachment::text(&result.attached, &result.names(), look);
    text += &footnotes(result, look);
    text
}

/// The better direction if all metrics of the table share it; otherwise it has a column.
fn one_direction(result: &CompareResult) -> Option<Better> {
    let mut shown = result.series.iter().zip(&result.facts).filter(|(_, facts)| !facts.is_detail);
    let (first, _) = shown.next()?;
    shown.all(|(series, _)| series.better == first.better).then_some(first.better)
}

/// The metrics that stand for themselves; details are in the JSON.
fn table(result: &CompareResult) -> Table {
    let two = result.arms.len() == 2;
    let measured = if two { result.arms[1].as_str() } else { "measured" };
    let labelled = result.facts.iter().any(|facts| !facts.remarks.is_empty());
    let mut columns = vec![("metric", Align::Left, 0)];
    if !two {
        columns.push(("arm", Align::Left, 0));
    }
    columns.extend([
        (result.arms[0].as_str(), Align::Right, 2),
        (measured, Align::Right, 3),
        ("ratio", Align::Right, 0),
    ]);
    if has_intervals(result) {
        columns.push(("95 % interval", Align::Left, 0));
    }
    if is_sampled(result) {
        columns.push(("95 % of drives", Align::Left, 0));
    }
    columns.push(("verdict", Align::Left, 0));
    if one_direction(result).is_none() {
        columns.push(("which way", Align::Left, 0));
    }
    if labelled {
        columns.push(("what it is", Align::Left, 1));
    }
    let mut table = Table::new(&columns);
    for outcome in &result.outcomes {
        let facts = &result.facts[outcome.series];
        if facts.is_detail {
            continue;
        }
        let mut row = vec![Cell::from(result.series[outcome.series].name.as_str())];
        if !two {
            row.push(result.arms[outcome.to].as_str().into());
        }
        row.extend(conclusion(result, outcome));
        if one_direction(result).is_none() {
            row.push(direction(result.series[outcome.series].better).into());
        }
        if labelled {
            row.push(nature(facts).into());
        }
        table.row(row);
    }
    table
}

fn conclusion(result: &CompareResult, outcome: &Outcome) -> Vec<Cell> {
    let comparison = &outcome.adjusted.comparison;
    let primary = if outcome == result.primary() { " (primary)" } else { "" };
    let mut cells = vec![
        measured(result, outcome, outcome.from).into(),
        measured(result, outcome, outcome.to).into(),
        figures::times(comparison.ratio).into(),
    ];
    if has_intervals(result) {
        cells.push(comparison.ci95.map(figures::range).unwrap_or_default().into());
    }
    if is_sampled(result) {
        let drives = outcome.foreseen.as_ref().map(|it| it.forecast.prediction95);
        cells.push(drives.map(figures::range).unwrap_or_default().into());
    }
    cells.push((format!("{}{primary}", outcome.word()), style(outcome.verdict())).into());
    cells
}

/// Describes the runs that the primary metric rests on.
fn runs(result: &CompareResult) -> String {
    let primary = result.primary();
    if result.unpaired.is_none() {
        return counted(primary.adjusted.comparison.n as u64, "block");
    }
    let values = &result.series[primary.series].values;
    let counts: Vec<String> = values.iter().map(|values| values.len().to_string()).collect();
    format!("{} runs, not paired", counts.join(" and "))
}

/// True if the runs simulated different drives, so that there is a prediction for one more.
fn is_sampled(result: &CompareResult) -> bool {
    result.outcomes.iter().any(|outcome| outcome.foreseen.is_some())
}

/// A single run of each has none.
fn has_intervals(result: &CompareResult) -> bool {
    result.primary().adjusted.comparison.n > 1
}

/// The labels; that there was one run is said of all at once.
fn nature(facts: &SeriesFacts) -> String {
    let mut names = label_names(&facts.remarks);
    // The missing interval says it already.
    names.retain(|name| *name != Label::SingleRun.name());
    names.join(", ")
}

fn measured(result: &CompareResult, outcome: &Outcome, arm: usize) -> String {
    let series = &result.series[outcome.series];
    series.show(outcome.mean(series, arm))
}

fn footnotes(result: &CompareResult, look: Look) -> String {
    let mut text = String::new();
    text += &look.each("Warning:", DOUBT, &result.warnings());
    text += &look.each("Note:", BOLD, &result.notes);
    let details = result.facts.iter().filter(|facts| facts.is_detail).count();
    let intervals = if has_intervals(result) { ", each with its own 95 % interval" } else { "" };
    let details = match details {
        0 => String::new(),
        1 => " One more metric is in the JSON.".to_owned(),
        count => format!(" {count} more metrics (CPU load, maximum latencies) are in the JSON."),
    };
    let facts = format!(
        "ratios above 1 are better than `{}`{intervals}; n = {}, margin {}, seed {}; {}.{details}",
        result.arms[0],
        runs(result),
        figures::percent(result.margin),
        result.seed,
        result.together.words(),
    );
    text += &look.each("How to read this:", BOLD, &[facts]);
    text
}
