//! An import for a terminal.

use anstyle::Style;

use super::{Imported, label};
use crate::figures;
use crate::text::{Align, BOLD, Look, Table};

/// Everything that was read, with what each number is.
pub fn text(imported: &Imported, look: Look) -> String {
    let mut table = Table::new(&[
        ("line", Align::Right, 1),
        ("arm", Align::Left, 0),
        ("metric", Align::Left, 0),
        ("value", Align::Right, 0),
        ("unit", Align::Left, 0),
        ("what it is", Align::Left, 0),
    ]);
    for result in &imported.results {
        let cells = [
            result.line.to_string(),
            result.arm.clone(),
            result.metric.clone(),
            figures::plain(result.value),
            result.unit.to_owned(),
            label::names(&result.remarks).join(", "),
        ];
        table.row(cells.map(|cell| (cell, Style::new())).to_vec());
    }
    let head = format!("{} {}", imported.tool, imported.tool_version);
    let mut text = format!("{}\n\n{}\n", look.paint(&head, BOLD), table.render(look));
    for (label, why) in reasons(imported) {
        text += &look.led(&format!("{label}:"), BOLD, &why, 2);
        text.push('\n');
    }
    for (lead, lines) in [("Not read:", &imported.unknown), ("Note:", &imported.notes)] {
        for line in lines {
            text += &look.led(lead, BOLD, line, 2);
            text.push('\n');
        }
    }
    text
}

/// Every different reason, in the order of the results.
fn reasons(imported: &Imported) -> Vec<(&'static str, String)> {
    let mut reasons: Vec<(&str, String)> = Vec::new();
    for remark in imported.results.iter().flat_map(|result| &result.remarks) {
        let reason = (remark.label.as_str(), remark.why.clone());
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}
