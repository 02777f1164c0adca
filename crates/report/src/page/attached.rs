//! The attachment of the arms, as it was seen before each run.

use drivelab_analysis::attachment::Difference;

use super::arms::{settings_row, settings_table};
use super::html::{self, each, escape, inline};

/// Shows the differences and what is wrong with them; empty if no run says how it was attached.
pub(crate) fn section(difference: &Difference, names: &[&str]) -> String {
    if difference.rows.is_empty() && difference.warnings.is_empty() && difference.faults.is_empty()
    {
        return String::new();
    }
    let list = |class: &str, lines: &[String]| {
        let items = each("<li>", lines.iter().map(|line| inline(line)), "</li>");
        if items.is_empty() { items } else { format!("<ul class=\"{class}\">{items}</ul>\n") }
    };
    let faults: Vec<String> =
        difference.faults.iter().map(|fault| format!("Inspection: {fault}")).collect();
    let body = list("warnings", &difference.warnings)
        + &list("warnings", &faults)
        + &table(difference, names);
    let about = "Looked at before each run; only what differs.";
    html::section("How the arms were attached", about, &body)
}

fn table(difference: &Difference, names: &[&str]) -> String {
    if difference.rows.is_empty() {
        return String::new();
    }
    let rows = difference.rows.iter().map(|row| {
        let meant = if difference.is_unexpected(row) { " (not declared)" } else { "" };
        let values: Vec<Option<&str>> = row.values.iter().map(Option::as_deref).collect();
        settings_row(&format!("{}{meant}", escape(&row.name)), names, &values)
    });
    settings_table("Attachment of the arms", names, &[], &rows.collect::<String>())
}
