//! Imported results for a terminal.

use drivelab_analysis::figures;
use drivelab_core::config::Choice as _;
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Label, label_names};
use drivelab_core::{counted, shown_in_line};

use super::rows::{Row, rows};
use crate::text::{Align, BOLD, DOUBT, Look, Table};

/// Lines that were not read and are listed; the others are counted.
const UNREAD_MAX: usize = 5;

/// Every result that stands for itself, what is doubted, and what was not read.
pub fn text(results: &Imported, look: Look) -> String {
    let title = [results.tool.as_str(), &results.tool_version].join(" ");
    let mut text = format!("{}\n\n", look.paint(&shown_in_line(title.trim()), BOLD));
    let all = rows(results);
    let shown: Vec<&Row> = all.iter().filter(|row| !row.figure.is_detail).collect();
    text += &table(&shown).render(look);
    text.push('\n');
    text += &look.each("Doubt:", DOUBT, &doubts(&shown));
    text += &look.each("Note:", BOLD, &results.notes);
    let listed = results.unknown.iter().take(UNREAD_MAX);
    let mut unread: Vec<String> = listed.map(|it| format!("{it}.")).collect();
    if let more @ 1.. = results.unknown.len() - unread.len() {
        unread.push(format!("{}, in the JSON.", counted(more, "more line")));
    }
    text += &look.each("Not read:", BOLD, &unread);
    let details: Vec<&Row> = all.iter().filter(|row| row.figure.is_detail).collect();
    if !details.is_empty() {
        let (figures, are) = if details.len() == 1 { ("figure", "is") } else { ("figures", "are") };
        let (count, of) = (details.len(), kinds(&details));
        let more = format!("{count} more {figures}{of} {are} in the JSON.");
        text += &look.each("Note:", BOLD, &[more]);
    }
    text
}

fn table(rows: &[&Row]) -> Table {
    let is_spread = rows.iter().any(|row| row.spread.is_some());
    let has_arms = rows.iter().any(|row| !row.arm.is_empty());
    let has_several = rows.iter().any(|row| row.arm != rows[0].arm);
    let mut columns = Vec::new();
    if has_arms {
        // Rows of several arms cannot be distinguished without it.
        columns.push(("arm", Align::Left, if has_several { 0 } else { 2 }));
    }
    columns.extend([("metric", Align::Left, 0), ("value", Align::Right, 0), ("", Align::Left, 0)]);
    if is_spread {
        columns.extend([("runs", Align::Right, 1), ("std. dev.", Align::Right, 1)]);
    }
    columns.push(("what it is", Align::Left, 0));
    let mut table = Table::new(&columns);
    for row in rows {
        let mut cells = Vec::new();
        if has_arms {
            cells.push(row.arm.clone());
        }
        let (value, unit) = measured(row);
        cells.extend([row.figure.name.clone(), value, unit]);
        if is_spread {
            // In the unit of the value, which has no prefix where there are several.
            let spread = row.spread.map(figures::significant).unwrap_or_default();
            cells.extend([row.n.to_string(), spread]);
        }
        cells.push(label_names(&row.figure.remarks).join(", "));
        table.row(cells);
    }
    table
}

/// The value with the prefix that suits it, and its unit.
fn measured(row: &Row) -> (String, String) {
    let unit = row.figure.unit();
    let scaled = match unit {
        "ns" if row.n == 1 => figures::span_ns(row.value),
        "B/s" if row.n == 1 => figures::bytes_per_s(row.value),
        _ => {
            let value = if row.n == 1 {
                figures::plain(row.value)
            } else {
                figures::significant(row.value)
            };
            return (value, unit.to_owned());
        }
    };
    let (value, unit) = scaled.split_once(' ').unwrap_or((&scaled, unit));
    (value.to_owned(), unit.to_owned())
}

/// The kinds of details, by their units: `CPU load, latencies`.
fn kinds(details: &[&Row]) -> String {
    let kinds = [
        ("CPU load", &["%"][..]),
        ("latencies", &["ns", "us", "ms", "s"]),
        ("rates", &["1/s", "B/s", "KiB/s", "MiB/s", "MB/s"]),
    ];
    let of_units = kinds
        .iter()
        .filter(|(_, units)| details.iter().any(|row| units.contains(&row.figure.unit())));
    let named: Vec<&str> = of_units.map(|(kind, _)| *kind).collect();
    if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
}

/// Why each label stands, with the metrics that share the reason.
fn doubts(rows: &[&Row]) -> Vec<String> {
    let mut reasons: Vec<(Label, &str, Vec<&str>)> = Vec::new();
    for row in rows {
        for remark in &row.figure.remarks {
            let known = reasons
                .iter_mut()
                .find(|(label, why, _)| (*label, *why) == (remark.label, remark.why.as_str()));
            let name = row.figure.name.as_str();
            match known {
                Some((_, _, names)) if names.contains(&name) => {}
                Some((_, _, names)) => names.push(name),
                None => reasons.push((remark.label, &remark.why, vec![name])),
            }
        }
    }
    let mut names: Vec<&str> = rows.iter().map(|row| row.figure.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let all = names.len();
    let worded = reasons.into_iter().map(|(label, why, names)| {
        let of = if names.len() == all && all > 1 { "all".to_owned() } else { names.join(", ") };
        format!("{} ({of}): {why}.", label.name())
    });
    worded.collect()
}
