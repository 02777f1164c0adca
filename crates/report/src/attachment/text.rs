//! The differences in attachment, for a terminal.

use drivelab_analysis::attachment::Difference;

use crate::text::{Align, BOLD, Cell, DIM, DOUBT, Look, Table};

/// Rows that are shown: with head and warnings it stays below what a glance takes in.
const ROWS_MAX: usize = 6;
/// Characters of a value; the whole stands in JSON and page.
const VALUE_MAX: usize = 28;

/// Warnings and a table of what differed; nothing where there is nothing to say.
pub(crate) fn text(difference: &Difference, arms: &[&str], look: Look) -> String {
    let mut text = String::new();
    if !difference.rows.is_empty() {
        text += &table(difference, arms).render(look);
        let more = difference.rows.len().saturating_sub(ROWS_MAX);
        if more > 0 {
            text += &look.paint(&format!("and {more} more that differ (--json lists all)"), DIM);
            text.push('\n');
        }
    }
    text += &look.each("Warning:", DOUBT, &difference.warnings);
    text += &look.each("Found:", DOUBT, &difference.faults);
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn table(difference: &Difference, arms: &[&str]) -> Table {
    let mut columns = vec![("attached with", Align::Left, 0)];
    columns.extend(arms.iter().map(|arm| (*arm, Align::Left, 0)));
    columns.push(("", Align::Left, 1));
    let mut table = Table::new(&columns);
    for row in difference.rows.iter().take(ROWS_MAX) {
        let mut cells = vec![Cell::from((row.name.clone(), BOLD))];
        cells.extend(row.values.iter().map(|value| short(value.as_deref()).into()));
        let meant = if difference.is_unexpected(row) { "not declared" } else { "" };
        cells.push((meant.to_owned(), DIM).into());
        table.row(cells);
    }
    table
}

fn short(value: Option<&str>) -> String {
    let value = value.unwrap_or("-");
    if value.chars().count() <= VALUE_MAX {
        return value.to_owned();
    }
    value.chars().take(VALUE_MAX - 3).chain("...".chars()).collect()
}
