//! Imported results for a terminal.

use drivelab_analysis::figures;
use drivelab_core::config::Choice as _;
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Label, label_names};
use drivelab_core::shown_in_line;

use super::rows::{Row, rows};
use crate::text::{Align, BOLD, DOUBT, Look, Table};

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
    let unread: Vec<String> = results.unknown.iter().map(|it| format!("{it}.")).collect();
    text += &look.each("Not read:", BOLD, &unread);
    let details = all.len() - shown.len();
    if details > 0 {
        let more = format!("{details} more figures (CPU load, latencies) are in the JSON.");
        text += &look.each("Note:", BOLD, &[more]);
    }
    text
}

fn table(rows: &[&Row]) -> Table {
    let is_spread = rows.iter().any(|row| row.spread.is_some());
    let has_arms = rows.iter().any(|row| !row.arm.is_empty());
    let mut columns = Vec::new();
    if has_arms {
        columns.push(("arm", Align::Left, 2));
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
        let value =
            if row.n == 1 { figures::plain(row.value) } else { figures::significant(row.value) };
        cells.extend([row.figure.name.clone(), value, row.figure.unit().to_owned()]);
        if is_spread {
            let spread = row.spread.map(figures::significant).unwrap_or_default();
            cells.extend([row.n.to_string(), spread]);
        }
        cells.push(label_names(&row.figure.remarks).join(", "));
        table.row(cells);
    }
    table
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
