//! A study's result for a terminal: the answer, the table, what to know about both.

mod short;

pub use short::short;

use drivelab_analysis::outcome::{Outcome, gather};
use drivelab_analysis::specimens::Settle;
use drivelab_analysis::study::StudyResult;
use drivelab_analysis::{figures, metric};
use drivelab_core::counted;
use drivelab_core::plan::Scale;
use drivelab_stats::Verdict;

use super::hosts;
use super::words::{findings, interactions, words};
use crate::attachment;
use crate::outcome::{direction, ratio_and_range};
use crate::text::{Align, BOLD, Cell, DOUBT, Look, Table, style};

/// The result as text.
pub fn text(result: &StudyResult, look: Look) -> String {
    let mut text = String::new();
    text += &look.paint(&look.wrap(&result.experiment.title, 0), BOLD);
    text += "\n\n";
    for sentence in words(result).into_iter().chain(findings(result)) {
        text += &sentence.text(look);
    }
    text += &settle(result, look);
    text.push('\n');
    if let Some(cells) = &result.experiment.cells {
        text += &crate::cells::summary(cells, &result.names(), look);
        text.push('\n');
    }
    text += &headlines(result).render(look);
    if let Some(table) = hosts::table(result, look) {
        text.push('\n');
        text += &table;
    }
    if let Some(table) = causes(result) {
        text.push('\n');
        text += &table.render(look);
    }
    for sentence in interactions(result) {
        text.push('\n');
        text += &sentence.text(look);
    }
    if let Some(table) = prices(result) {
        text.push('\n');
        text += &table.render(look);
    }
    text.push('\n');
    text += &attachment::text(&result.attached, &result.names(), look);
    text += &footnotes(result, look);
    text
}

fn headlines(result: &StudyResult) -> Table {
    let mut columns = vec![
        ("  arm", Align::Left, 0),
        ("measured", Align::Right, 1),
        ("ratio", Align::Right, 0),
        ("95 % interval", Align::Left, 0),
    ];
    columns.extend(result.is_sampled().then_some(("95 % of drives", Align::Left, 0)));
    columns.push(("verdict", Align::Left, 0));
    let mut table = Table::new(&columns);
    for (index, workload) in result.experiment.workloads.iter().enumerate() {
        let mut series = result.series.iter().filter(|s| s.workload == index);
        let Some(series) = series.find(|s| result.is_headline(s)) else { continue };
        let (name, about, baseline) =
            (&workload.name, &workload.summary, &result.experiment.arms[0].name);
        let first = result.headline(index, 1);
        let measured = first.map_or_else(|| series.mean(0), |outcome| outcome.mean(series, 0));
        let (measured, direction) = (series.show(measured), direction(series.better));
        let body = format!("{about}; `{baseline}` has {measured}, {direction}");
        table.heading(format!("{name}:"), body);
        for arm in 1..result.experiment.arms.len() {
            let Some(outcome) = result.headline(index, arm) else { continue };
            let name = format!("  {}", result.experiment.arms[arm].name);
            let measured = series.show(outcome.mean(series, arm));
            let mut row = vec![Cell::from(name), measured.into()];
            row.extend(conclusion(outcome, result));
            table.row(row);
        }
    }
    table
}

/// The commands that settle what depends on the drive; not wrapped, so that they can be pasted.
fn settle(result: &StudyResult, look: Look) -> String {
    let Some((commands, writes)) = result.settle() else { return String::new() };
    let lead = look.paint(&look.wrap(Settle::lead(writes), 2), BOLD);
    let lines = commands.iter().map(|command| format!("  {command}\n"));
    format!("{lead}\n{}", lines.collect::<String>())
}

/// Each single cause on the headline metric of every workload: one column a cause.
fn causes(result: &StudyResult) -> Option<Table> {
    if result.contrasts.iter().all(|contrast| contrast.outcomes.is_empty()) {
        return None;
    }
    let mut columns = vec![("workload", Align::Left, 0)];
    columns.extend(result.contrasts.iter().map(|c| (c.name.as_str(), Align::Left, 0)));
    let mut table = Table::new(&columns);
    for (index, workload) in result.experiment.workloads.iter().enumerate() {
        let cells = result.contrasts.iter().map(|contrast| {
            let mut outcomes = contrast.outcomes.iter();
            let outcome = outcomes.find(|o| result.series_of(o).workload == index);
            outcome.map_or_else(Cell::default, |o| (effect(o), style(o.verdict())).into())
        });
        table.row(std::iter::once(Cell::from(workload.name.as_str())).chain(cells));
    }
    Some(table)
}

/// The headline rate per dollar of each workload that has one.
fn prices(result: &StudyResult) -> Option<Table> {
    let mut table = Table::new(&[
        ("  arm", Align::Left, 0),
        ("price", Align::Right, 1),
        ("a dollar buys", Align::Right, 0),
        ("95 % interval", Align::Left, 2),
        ("ratio", Align::Right, 0),
        ("95 % interval", Align::Left, 0),
    ]);
    for price in &result.prices {
        let name = &result.series[price.series].name;
        table.heading(
            name.clone(),
            format!("for each dollar, against `{}`", result.experiment.arms[0].name),
        );
        for arm in &price.arms {
            let show = |value: f64| metric::show(&price.metric, value);
            let own = arm.ci95.map(|limits| metric::show_range(&price.metric, limits));
            let (ratio, limits) = arm.ratio.map_or((None, None), |(r, limits)| (Some(r), limits));
            table.row([
                format!("  {}", result.experiment.arms[arm.arm].name),
                format!("${:.2}", arm.usd),
                show(arm.value),
                own.unwrap_or_default(),
                ratio.map(figures::times).unwrap_or_default(),
                match arm.withheld {
                    // The warnings below say why.
                    Some(_) => "withheld".to_owned(),
                    None => limits.map(figures::range).unwrap_or_default(),
                },
            ]);
        }
    }
    (!result.prices.is_empty()).then_some(table)
}

/// The size of what there is, in one cell.
fn effect(outcome: &Outcome) -> String {
    let size = ratio_and_range(outcome);
    match outcome.verdict() {
        Verdict::Faster | Verdict::Slower => size,
        Verdict::NoPracticalDifference => "no practical difference".to_owned(),
        Verdict::Inconclusive if outcome.depends() => {
            let drives = outcome.foreseen.as_ref().map(|it| it.forecast.prediction95);
            let drives = drives.map_or_else(String::new, figures::range);
            format!("depends, {drives}")
        }
        verdict @ (Verdict::Different | Verdict::Inconclusive) => format!("{size}, {verdict}"),
    }
}

fn conclusion(outcome: &Outcome, result: &StudyResult) -> Vec<Cell> {
    let comparison = &outcome.adjusted.comparison;
    let is_primary = outcome == result.primary();
    let primary = if is_primary { " (primary)" } else { "" };
    let mut cells = vec![
        figures::times(comparison.ratio).into(),
        comparison.ci95.map(figures::range).unwrap_or_default().into(),
    ];
    if result.is_sampled() {
        let drives = outcome.foreseen.as_ref().map(|it| it.forecast.prediction95);
        cells.push(drives.map(figures::range).unwrap_or_default().into());
    }
    cells.push((format!("{}{primary}", outcome.word()), style(outcome.verdict())).into());
    cells
}

fn footnotes(result: &StudyResult, look: Look) -> String {
    let mut text = String::new();
    let outcomes = result.outcomes.iter().chain(result.contrasts.iter().flat_map(|c| &c.outcomes));
    let named = outcomes.map(|o| (result.series_of(o).name.as_str(), o));
    text += &look.each("Warning:", DOUBT, &gather(named, &[]));
    let doubts = result.experiment.cells.iter().flat_map(|cells| &cells.doubts);
    text += &look.each("Note:", BOLD, doubts.chain(&result.notes));
    let facts = format!(
        "ratios above 1 are better than `{}`, each with its own 95 % interval; n = {}{}, \
         stage {}{}, seed {}; margin {}{}; {}.",
        result.experiment.arms[0].name,
        counted(result.used.len(), "block"),
        drives(result),
        result.experiment.stage,
        scale(result.experiment.scale),
        result.experiment.seed,
        figures::percent(result.experiment.margin),
        tails(result),
        result.together.words(),
    );
    text += &look.each("How to read this:", BOLD, &[facts]);
    text += &look.command("To repeat:", &result.experiment.reproduce);
    text
}

/// The scale of the work, where there is more than one, behind the stage.
pub(crate) fn scale(scale: Option<Scale>) -> &'static str {
    match scale {
        None => "",
        Some(Scale::Stated) => " at the stated scale",
        Some(Scale::Full) => " at full scale",
    }
}

/// Describes the blocks if each simulated another drive.
fn drives(result: &StudyResult) -> &'static str {
    if result.is_sampled() {
        ", each with another drive that fits the profile: that interval is about the mean of all such \
         drives, `95 % of drives` is where 95 of 100 of them lie, and the verdict follows it"
    } else {
        ""
    }
}

/// The exception for tails, where the study has any.
fn tails(result: &StudyResult) -> String {
    let tail = result.series.iter().find(|series| series.margin > result.experiment.margin);
    tail.map_or_else(String::new, |s| {
        format!(" ({} for tail latencies)", figures::percent(s.margin))
    })
}
