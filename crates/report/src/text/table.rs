//! A table without lines: columns two spaces apart.

use anstyle::Style;
use drivelab_core::shown_in_line;

use super::{BOLD, Look};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

#[derive(Debug, Clone)]
struct Column {
    title: String,
    align: Align,
    /// Left out first where the line is too short: the lowest goes first, 0 never.
    spare: u8,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<(String, Style)> for Cell {
    fn from((text, style): (String, Style)) -> Self {
        Self { text, style }
    }
}

#[derive(Debug, Clone)]
enum Row {
    Cells(Vec<Cell>),
    /// Text across all columns, its first words painted.
    Heading {
        lead: String,
        body: String,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new(columns: &[(&str, Align, u8)]) -> Self {
        let columns = columns
            .iter()
            .map(|&(title, align, spare)| Column { title: title.to_owned(), align, spare })
            .collect();
        Self { columns, rows: Vec::new() }
    }

    pub(crate) fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let mut cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        for cell in &mut cells {
            // Names come from devices and files, and may hold control characters.
            cell.text = shown_in_line(&cell.text).into_owned();
        }
        assert_eq!(cells.len(), self.columns.len(), "one cell a column");
        self.rows.push(Row::Cells(cells));
    }

    pub(crate) fn heading(&mut self, lead: String, body: String) {
        self.rows.push(Row::Heading { lead, body });
    }

    /// Lays it out in at most the look's width, as far as leaving out spare columns allows; a line
    /// of titles stands first unless there are none.
    pub(crate) fn render(&self, look: Look) -> String {
        let shown = self.shown_columns(look.columns());
        let widths: Vec<usize> = shown.iter().map(|&column| self.width(column)).collect();
        let mut text = String::new();
        let titles = |column: usize| Cell { text: self.columns[column].title.clone(), style: BOLD };
        let header: Vec<Cell> = shown.iter().map(|&column| titles(column)).collect();
        if header.iter().any(|title| !title.text.is_empty()) {
            self.line(&mut text, &shown, &widths, &header, look);
        }
        for row in &self.rows {
            match row {
                Row::Cells(row) => {
                    let cells: Vec<Cell> = shown.iter().map(|&c| row[c].clone()).collect();
                    self.line(&mut text, &shown, &widths, &cells, look);
                }
                Row::Heading { lead, body } => {
                    text.push_str(&look.led(lead, BOLD, body, 2));
                    text.push('\n');
                }
            }
        }
        text
    }

    /// True if all columns have room in the look's width.
    pub(crate) fn fits(&self, look: Look) -> bool {
        self.shown_columns(look.columns()).len() == self.columns.len()
    }

    fn line(
        &self,
        text: &mut String,
        shown: &[usize],
        widths: &[usize],
        cells: &[Cell],
        look: Look,
    ) {
        // `zip` would silently drop the cells of a longer list.
        debug_assert!(cells.len() == shown.len() && widths.len() == shown.len());
        let mut line = String::new();
        for ((cell, width), column) in cells.iter().zip(widths).zip(shown) {
            let space = " ".repeat(width - cell.text.chars().count());
            let painted = look.paint(&cell.text, cell.style);
            match self.columns[*column].align {
                Align::Left => line.extend([painted.as_str(), &space, "  "]),
                Align::Right => line.extend([space.as_str(), &painted, "  "]),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| match row {
            Row::Cells(cells) => Some(cells[column].text.chars().count()),
            Row::Heading { .. } => None,
        });
        cells.chain([self.columns[column].title.chars().count()]).max().unwrap_or(0)
    }

    fn shown_columns(&self, limit: usize) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        loop {
            let total: usize = shown.iter().map(|&column| self.width(column) + 2).sum();
            let spare = shown.iter().copied().filter(|&column| self.columns[column].spare > 0);
            let Some(least) = spare.min_by_key(|&column| self.columns[column].spare) else {
                return shown;
            };
            // The last column needs no space behind it.
            if total <= limit + 2 {
                return shown;
            }
            shown.retain(|&column| column != least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&[
            ("arm", Align::Left, 0),
            ("IOPS", Align::Right, 1),
            ("verdict of the statistics", Align::Left, 0),
        ]);
        for (arm, iops, verdict) in [("ide", "76.2", "baseline"), ("ahci", "131", "faster")] {
            table.row([arm, iops, verdict]);
        }
        table
    }

    #[test]
    fn columns_line_up() {
        insta::assert_snapshot!(sample().render(Look { width: 80, colour: false }), @r"
        arm   IOPS  verdict of the statistics
        ide   76.2  baseline
        ahci   131  faster
        ");
    }

    #[test]
    fn spare_columns_go_where_there_is_no_room() {
        let mut table = sample();
        table.columns[2].title = "what the statistics have to say".to_owned();
        let text = table.render(Look { width: 40, colour: false });
        assert!(!text.contains("IOPS") && text.contains("faster"), "{text}");
    }
}
