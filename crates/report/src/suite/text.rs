//! The phases of a suite for a terminal.

use anstyle::Style;
use drivelab_analysis::{figures, metric};
use drivelab_core::numbers::float;
use drivelab_core::record::{Figure, Latency, Phase, RunRecord};

use super::rows::{self, COLUMNS, Cell, Row};
use crate::run::over_time;
use crate::text::{Align, Look, Table};

/// The width of the text next to the marks of a curve.
const BESIDE: usize = 40;
/// Most marks of a curve.
const MARKS_MAX: usize = 60;

/// The known rows, the curves, and every other figure with what it measures.
pub(crate) fn text(record: &RunRecord, look: Look) -> String {
    let (rows, others) = rows::of(record);
    let mut parts = Vec::new();
    if !rows.is_empty() {
        parts.push(familiar(&rows).render(look));
    }
    if !others.is_empty() {
        parts.push(phases(&others).render(look));
    }
    let curves: Vec<&&Phase> = others.iter().filter(|phase| is_curve(phase)).collect();
    if !curves.is_empty() {
        parts.push(courses(&curves, look).render(look));
    }
    parts.join("\n")
}

/// One line a kind of test: rate, requests a second and latency of each direction.
fn familiar(rows: &[Row<'_>]) -> Table {
    let shown = rows::columns(rows);
    let mut heads: Vec<(String, Align, u8)> = vec![("MB/s".into(), Align::Left, 0)];
    for column in &shown {
        heads.push((COLUMNS[*column].into(), Align::Right, 0));
    }
    for column in &shown {
        heads.push((format!("{} IOPS", COLUMNS[*column]), Align::Right, 1));
    }
    for column in &shown {
        heads.push((format!("{} latency", COLUMNS[*column]), Align::Right, 2));
    }
    let columns: Vec<(&str, Align, u8)> =
        heads.iter().map(|(name, align, rank)| (name.as_str(), *align, *rank)).collect();
    let mut table = Table::new(&columns);
    for row in rows {
        let cell = |show: &dyn Fn(&Cell) -> Option<String>| -> Vec<String> {
            let of = |column: &usize| row.cells[*column].as_ref().and_then(show);
            shown.iter().map(|column| of(column).unwrap_or_else(|| "-".into())).collect()
        };
        let mut cells = vec![row.label.clone()];
        // Three decimals, as these tools print.
        cells.extend(cell(&|cell| Some(format!("{:.3}", cell.rate))));
        cells.extend(cell(&|cell| cell.iops.map(figures::count)));
        cells.extend(cell(&|cell| cell.latency.map(|us| figures::span_ns(us * 1e3))));
        let plain = cells.into_iter().map(|cell| (cell, Style::new()));
        table.row(plain.collect::<Vec<(String, Style)>>());
    }
    table
}

/// True if its points are a course over the target, not single requests at random offsets.
pub(super) fn is_curve(phase: &Phase) -> bool {
    let ascends =
        |pair: &[drivelab_core::record::Point]| pair[0].offset_bytes < pair[1].offset_bytes;
    phase.points.len() > 1 && phase.points.windows(2).all(ascends)
}

/// Each curve from the beginning of the target to its end.
fn courses(curves: &[&&Phase], look: Look) -> Table {
    let mut table = Table::new(&[
        ("over the target", Align::Left, 0),
        ("from its beginning to its end", Align::Left, 0),
        ("first", Align::Right, 1),
        ("last", Align::Right, 1),
    ]);
    for phase in curves {
        let values: Vec<f64> = phase.points.iter().map(|point| point.value).collect();
        let columns = look.columns().saturating_sub(BESIDE).clamp(1, MARKS_MAX).min(values.len());
        // Evenly spaced values, so that the marks span the whole target.
        let thinned = (0..columns).map(|column| Some(values[column * values.len() / columns]));
        let thinned: Vec<Option<f64>> = thinned.collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        let unit = phase.figures.first().map_or("", |figure| figure.unit.as_str());
        let show = |value: Option<&f64>| {
            value.map_or_else(String::new, |it| format!("{} {unit}", figures::significant(*it)))
        };
        let marks = over_time::marks(&thinned, most);
        let cells = [phase.name.clone(), marks, show(values.first()), show(values.last())];
        table.row(cells.map(|cell| (cell, Style::new())).to_vec());
    }
    table
}

/// A row for each number of each phase, with its processor load, its latencies and what it
/// measures.
fn phases(phases: &[&Phase]) -> Table {
    let spans = ["CPU", "mean", "p99", "max"].map(|name| (name, Align::Right, 3));
    let first = [("phase", Align::Left, 0), ("figure", Align::Left, 0), ("", Align::Right, 0)];
    let columns = [&first[..], &spans[..], &[("measures", Align::Left, 1)]].concat();
    let mut table = Table::new(&columns);
    for phase in phases {
        let load = phase.figures.iter().find(|figure| is_load(figure));
        let load = load.map_or_else(String::new, |load| figures::percent(load.value / 100.0));
        let span = |of: fn(&Latency) -> u64| {
            let lat = phase.lat_ns.as_ref();
            lat.map_or_else(String::new, |lat| figures::span_ns(float(of(lat))))
        };
        let mut about = [load, span(|lat| lat.mean), span(|lat| lat.p99), span(|lat| lat.max)];
        let mut name = phase.name.clone();
        if phase.figures.is_empty() {
            let row = [name.as_str(), "withheld", "", "", "", "", "", &phase.nature.to_string()];
            table.row(row.map(|cell| (cell.to_owned(), Style::new())));
            continue;
        }
        for figure in phase.figures.iter().filter(|figure| !figure.is_detail) {
            let value = match figure.unit.as_str() {
                "" => metric::show(&figure.name, figure.value),
                unit => format!("{} {unit}", rounded(figure.value)),
            };
            let label = metric::label(&figure.name);
            let label =
                // The unit behind the value says it already.
                if figure.unit == "1/s" { label.trim_end_matches(" per s") } else { &label };
            let nature = figure.nature.unwrap_or(phase.nature).to_string();
            // Name and times of a phase are in its first row only.
            let mut row = vec![std::mem::take(&mut name), label.to_owned(), value];
            row.extend(std::mem::take(&mut about));
            row.push(nature);
            let cells = row.into_iter().map(|cell| (cell, Style::new()));
            table.row(cells.collect::<Vec<(String, Style)>>());
        }
    }
    table
}

/// Three digits, and all of a whole number.
fn rounded(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { figures::significant(value) }
}

fn is_load(figure: &Figure) -> bool {
    figure.is_detail && figure.unit == "%" && figure.name.ends_with("_cpu")
}
