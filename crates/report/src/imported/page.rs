//! Results of another tool as a page.

use drivelab_analysis::figures;
use drivelab_core::foreign::Imported;
use drivelab_core::record::label_names;

use super::rows::rows;
use crate::page::html::{escape, list, scroll, section, table};
use crate::page::scripted;

/// Every figure with what it is. The same results, the same bytes.
pub(crate) fn page(results: &Imported, more: &[String]) -> String {
    let title = [results.tool.as_str(), &results.tool_version].join(" ");
    let row = |row: super::rows::Row| {
        let value =
            if row.n == 1 { figures::plain(row.value) } else { figures::significant(row.value) };
        let spread = row.spread.map(figures::significant).unwrap_or_default();
        vec![
            escape(&row.arm),
            escape(&row.figure.name),
            escape(&value),
            escape(row.figure.unit()),
            row.n.to_string(),
            spread,
            escape(&label_names(&row.figure.remarks).join(", ")),
        ]
    };
    let heads = ["arm", "metric", "value", "unit", "runs", "std. dev.", "what it is"];
    let figures = table(&heads, rows(results).into_iter().map(row));
    let unread: Vec<String> = results.unknown.iter().map(|it| format!("Not read: {it}.")).collect();
    let body = section("Every figure", "", &scroll("Figures", &figures))
        + &list("Notes", "notes", &[results.notes.clone(), unread].concat());
    scripted("import", title.trim(), more, &body, &crate::page::data::Data::default())
}
