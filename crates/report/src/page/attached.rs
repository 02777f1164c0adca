//! How the arms were attached, as it was seen before each run.

use super::html::{each, escape, inline, swatch};
use crate::study::StudyResult;

/// What differed, and what is wrong with that; nothing where no run says how it was attached.
pub(super) fn section(result: &StudyResult) -> String {
    let difference = &result.attached;
    if difference.rows.is_empty() && difference.warnings.is_empty() && difference.faults.is_empty()
    {
        return String::new();
    }
    let list = |class: &str, lines: &[String]| {
        let items = each("<li>", lines.iter().map(|line| inline(line)), "</li>");
        if items.is_empty() { items } else { format!("<ul class=\"{class}\">{items}</ul>\n") }
    };
    let faults: Vec<String> =
        difference.faults.iter().map(|fault| format!("An inspection finds {fault}")).collect();
    format!(
        "<section>\n<h2>How the arms were attached</h2>\n<p class=\"about\">Looked at before each \
         run; only what differs.</p>\n{}{}{}</section>\n",
        list("warnings", &difference.warnings),
        list("warnings", &faults),
        table(result),
    )
}

fn table(result: &StudyResult) -> String {
    let rows = &result.attached.rows;
    if rows.is_empty() {
        return String::new();
    }
    let heads = result.arms.iter().enumerate().map(|(place, arm)| {
        format!("<th scope=\"col\">{}{}</th>", swatch(place), escape(&arm.name))
    });
    let rows = rows.iter().map(|row| {
        let cells = row.values.iter().map(|value| {
            let shown = value.as_deref().map_or("\u{2013}".to_owned(), escape);
            if *value == row.values[0] {
                format!("<td>{shown}</td>")
            } else {
                format!("<td class=\"differs\"><mark>{shown}</mark></td>")
            }
        });
        let meant = if result.attached.is_unexpected(row) { " (not declared)" } else { "" };
        let cells: String = cells.collect();
        format!("<tr><th scope=\"row\">{}{meant}</th>{cells}</tr>\n", escape(&row.name))
    });
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Attachment of the arms\">\
         <table class=\"settings\">\n<thead><tr><th scope=\"col\">setting</th>{}</tr></thead>\n\
         <tbody>\n{}</tbody></table></div>\n",
        heads.collect::<String>(),
        rows.collect::<String>(),
    )
}
