//! `vmstat` of procps, versions 3 and 4: the rates of all block devices together.
//!
//! A block is 1024 bytes for every kernel since 2.6: `-S` changes other columns only. The figures
//! are means over the reports, without the first where there are others: that one is the mean since
//! the boot, which `-y` omits.

use drivelab_core::csv::{ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature};

use crate::found::{Found, decimal, detail, figure, phase};
use crate::sign::in_a_line;

/// Maximum number of columns of a heading; vmstat has 18, and two for `-t`.
const COLUMNS_MAX: usize = 30;
/// Words behind the columns that a time may have: `2026-11-28 02:05:00 UTC`.
const TIME_WORDS: usize = 3;
const KIB: f64 = 1024.0;

/// Name in the heading, name of the figure, factor, unit, and the better direction.
type Column = (&'static str, &'static str, f64, &'static str, Better);

const COLUMNS: [Column; 6] = [
    ("bi", "read_bytes_per_s", KIB, "B/s", Better::More),
    ("bo", "write_bytes_per_s", KIB, "B/s", Better::More),
    ("b", "blocked", 1.0, "", Better::Neither),
    ("wa", "cpu_iowait", 1.0, "%", Better::Neither),
    ("us", "cpu_user", 1.0, "%", Better::Neither),
    ("sy", "cpu_system", 1.0, "%", Better::Neither),
];
/// Columns that are compared; the others accompany them.
const COMPARED: usize = 2;

/// The positions of [`COLUMNS`] in a heading `r b swpd free buff cache si so bi bo in cs us sy id
/// wa st`, and its number of columns. Versions before 3 have a `w` and no `wa`.
fn heading(line: &str) -> Option<([Option<usize>; COLUMNS.len()], usize)> {
    let words: Vec<&str> = line.split_ascii_whitespace().take(COLUMNS_MAX).collect();
    let is_heading = words.first() == Some(&"r") && words.contains(&"si") && words.contains(&"cs");
    let positions = COLUMNS.map(|column| index(&words, column.0));
    // A heading of `-t` has the time zone behind the last column.
    let last = ["gu", "st", "wa", "id"].into_iter().find_map(|printed| index(&words, printed));
    (is_heading && positions[0].is_some() && positions[1].is_some())
        .then(|| (positions, last.map_or(words.len(), |at| at + 1)))
}

fn index(words: &[&str], printed: &str) -> Option<usize> {
    words.iter().position(|word| *word == printed)
}

/// True if a text contains such a heading.
pub fn is_vmstat(text: &str) -> bool {
    in_a_line(text, " bo ", |line| heading(line).is_some())
}

/// Reads every call of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("vmstat");
    let mut call = Call::default();
    let mut omits_boot = false;
    let mut last = 0;
    for line in lines(text)? {
        let is_apart = line.number > last + 1;
        last = line.number;
        if let Some(options) = command(line.text) {
            call.end(&mut found);
            omits_boot = options;
        } else if let Some((positions, count)) = heading(line.text) {
            // A heading is repeated for each screen, below the rows of the same call.
            if call.is_over || is_apart {
                call.end(&mut found);
            }
            if call.reports == 0 {
                call = Call { line: line.number, omits_boot, ..Call::default() };
                omits_boot = false;
            }
            (call.positions, call.columns) = (positions, count);
        } else if let Some(row) = row(line.text, call.columns) {
            call.take(&row);
        } else if !is_apart && is_cut(line.text, call.columns) {
            found.unread(line.number, "a row that is cut off");
        } else if is_apart || !line.text.trim_ascii_start().starts_with("procs") {
            call.is_over = call.reports > 0;
        }
    }
    call.end(&mut found);
    found.finish("give the complete output of `vmstat 1`, with its heading")
}

/// True for a command line that omits the report since the boot, false for another one.
fn command(line: &str) -> Option<bool> {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    let options = line.strip_prefix("vmstat").filter(|it| it.is_empty() || it.starts_with(' '))?;
    let mut words = options.split_ascii_whitespace();
    Some(words.any(|word| {
        word == "--no-first"
            || (word.starts_with('-') && !word.starts_with("--") && word.contains('y'))
    }))
}

/// The numbers of a row; `None` for any other line.
fn row(line: &str, columns: usize) -> Option<Vec<f64>> {
    let words: Vec<&str> =
        line.split_ascii_whitespace().take(COLUMNS_MAX + TIME_WORDS + 1).collect();
    // The date and the time of `-t` stand behind the columns.
    let is_row = columns > 0 && (columns..=columns + TIME_WORDS).contains(&words.len());
    words.get(..columns).filter(|_| is_row)?.iter().map(|word| decimal(word)).collect()
}

/// True for a row that has fewer numbers than the heading has columns.
fn is_cut(line: &str, columns: usize) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().take(COLUMNS_MAX).collect();
    words.len() < columns && words.iter().all(|word| decimal(word).is_some())
}

/// One call of vmstat.
#[derive(Debug, Default)]
struct Call {
    line: usize,
    positions: [Option<usize>; COLUMNS.len()],
    columns: usize,
    /// The first report is one of an interval (`-y`).
    omits_boot: bool,
    reports: u32,
    /// A line that is neither heading nor row followed the rows.
    is_over: bool,
    first: [f64; COLUMNS.len()],
    sums: [f64; COLUMNS.len()],
}

impl Call {
    fn take(&mut self, row: &[f64]) {
        self.reports = self.reports.saturating_add(1);
        // The first report covers the time since the boot.
        let is_first = self.reports == 1 && !self.omits_boot;
        let into = if is_first { &mut self.first } else { &mut self.sums };
        for (sum, position) in into.iter_mut().zip(self.positions) {
            *sum += position.and_then(|at| row.get(at)).copied().unwrap_or_default();
        }
    }

    /// Ends a call: its means are a run.
    fn end(&mut self, found: &mut Found) {
        let call = std::mem::take(self);
        if call.reports == 0 {
            return;
        }
        let counted = call.reports - u32::from(!call.omits_boot);
        let note = match counted {
            _ if call.omits_boot => None,
            0 => Some("The one report is the mean since the boot of the system."),
            _ => Some("The first report, the mean since the boot, is left out."),
        };
        found.note(
            "Rates are those of all block devices together, and what programs asked for, not what \
             the disks can do; `wa` is time in which a processor is idle while a request is under \
             way."
                .to_owned(),
        );
        if let Some(note) = note {
            found.note(note.to_owned());
        }
        let figures = call.figures(counted);
        found.run(call.line, "", vec![phase("", Nature::Disk, figures)]);
    }

    fn figures(&self, counted: u32) -> Vec<Figure> {
        let columns = COLUMNS.iter().zip(self.positions).enumerate();
        let columns = columns.filter(|(_, (_, position))| position.is_some());
        let figures = columns.map(|(index, ((_, name, factor, unit, better), _))| {
            let mean = match counted {
                0 => self.first[index],
                _ => self.sums[index] / f64::from(counted),
            };
            let make = if index < COMPARED { figure } else { detail };
            make(name, mean * factor, unit, *better)
        });
        figures.collect()
    }
}

#[cfg(test)]
mod tests;
