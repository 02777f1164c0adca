//! The tables that bonnie++ prints above its line of CSV.
//!
//! Columns are ten characters wide from the twentieth on. A longer number shifts those to its
//! right, so a row in which every column is filled is split at its spaces.

use super::column::{FILE_PHASES, Kind, PHASES};
use super::layout;
use super::row::Row;
use super::value::{self, Value};
use crate::found::Found;
use drivelab_core::csv::{Line, ParseError, quote};

/// Characters of name and size, or of the number of files.
const NAME_WIDTH: usize = 19;
/// Characters of a rate and its load, or of a latency.
const COLUMN_WIDTH: usize = 10;

/// True if a line is the first one of a table.
pub(super) fn is_heading(text: &str) -> bool {
    // The table of the big file, and that of many small ones.
    let kinds = ["Sequential Output", "Sequential Create"];
    text.starts_with("Version ")
        && text.contains("------")
        && kinds.iter().any(|kind| text.contains(kind))
}

/// The kind of the next row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    BigFile,
    Files,
}

/// Reads the runs of all tables and passes each to `add`: a run is a table of the big file, of many
/// files, or both.
pub(super) fn read<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    found: &mut Found,
    add: fn(Row, &mut Found),
) -> Result<(), ParseError> {
    let mut last: Option<Row> = None;
    let mut table: Option<Table> = None;
    for line in lines {
        let text = line.text;
        if is_heading(text) {
            table = Some(Table::new(text, table.as_ref()));
            continue;
        }
        let Some(table) = &mut table else {
            found.unknown(line.number, text);
            continue;
        };
        if text.contains("-Per Chr-") || text.contains("%CP") {
            table.concurrency(text);
        } else if text.contains("-Create--") {
            // The second table names the machine above its columns, not in its row.
            text.split_whitespace().next().unwrap_or("").clone_into(&mut table.machine);
        } else if let Some(row) = table.row(line, &mut last, found)? {
            add(row, found);
        }
    }
    if let Some(row) = last {
        add(row, found);
    }
    Ok(())
}

/// A table during reading.
#[derive(Debug)]
struct Table {
    version: String,
    part: Part,
    machine: String,
    concurrency: String,
    /// The preceding table of the same run.
    follows: bool,
}

impl Table {
    fn new(heading: &str, before: Option<&Self>) -> Self {
        let version = heading.split_whitespace().nth(1).unwrap_or("").to_owned();
        let is_file = heading.contains("Sequential Output");
        let part = if is_file { Part::BigFile } else { Part::Files };
        let follows = part == Part::Files && before.is_some_and(|it| it.part == Part::BigFile);
        let (machine, concurrency) = (String::new(), String::new());
        Self { version, part, machine, concurrency, follows }
    }

    fn concurrency(&mut self, text: &str) {
        if let Some(rest) = text.strip_prefix("Concurrency") {
            rest.split_whitespace().next().unwrap_or("").clone_into(&mut self.concurrency);
        }
    }

    /// Takes a row; returns the run before it if a new one begins.
    fn row(
        &self,
        line: Line,
        last: &mut Option<Row>,
        found: &mut Found,
    ) -> Result<Option<Row>, ParseError> {
        // Such a line has no column: taken for runs, many of them would take minutes.
        if line.text.len() <= NAME_WIDTH {
            found.unknown(line.number, line.text);
            return Ok(None);
        }
        let first = line.text.split_whitespace().next().unwrap_or("");
        let mut ended = None;
        if first == "Latency" {
            if let Some(row) = last {
                self.latencies(line, row)?;
            }
            return Ok(ended);
        }
        match self.part {
            Part::BigFile => {
                let mut row = Row::new(line.number, &self.version, first);
                row.option("concurrency", &self.concurrency);
                let size = line.text.split_whitespace().nth(1).unwrap_or("");
                let (size, chunk) = size.split_once(':').unwrap_or((size, ""));
                row.option("file_size", size);
                row.option("io_chunk_size", chunk);
                // Machine and size precede the rates.
                rates(line, 2, 0, &mut row)?;
                ended = last.replace(row);
            }
            Part::Files => {
                if !self.follows {
                    ended = last.replace(Row::new(line.number, &self.version, &self.machine));
                }
                let Some(row) = last else { return Ok(None) };
                layout::file_options(row, first);
                if self.version.starts_with('2') {
                    found.note(format!(
                        "The tables of bonnie++ {} show wrong rates for many files (the number of \
                         files in place of the rate): they are left out. Its line of CSV has them.",
                        self.version
                    ));
                } else {
                    // The number of files precedes the rates.
                    rates(line, 1, FILE_PHASES, row)?;
                }
            }
        }
        Ok(ended)
    }

    fn latencies(&self, line: Line, row: &mut Row) -> Result<(), ParseError> {
        let first = if self.part == Part::BigFile { 0 } else { FILE_PHASES };
        let words: Vec<&str> = line.text.split_whitespace().skip(1).collect();
        for index in 0..FILE_PHASES {
            let text = match words.get(index) {
                Some(word) if words.len() == FILE_PHASES => word,
                _ => column(line.text, index).trim(),
            };
            let name = PHASES[first + index].name;
            row.set(first + index, Kind::Latency, cell(line, text, Kind::Latency, name)?);
        }
        Ok(())
    }
}

/// Takes rates and loads after `skipped` words.
fn rates(line: Line, skipped: usize, first: usize, row: &mut Row) -> Result<(), ParseError> {
    let words: Vec<&str> = line.text.split_whitespace().skip(skipped).collect();
    for index in 0..FILE_PHASES {
        let (rate, cpu) = if words.len() == 2 * FILE_PHASES {
            (words[2 * index], words[2 * index + 1])
        } else {
            let mut pair = column(line.text, index).split_whitespace();
            (pair.next().unwrap_or(""), pair.next().unwrap_or(""))
        };
        let name = PHASES[first + index].name;
        row.set(first + index, Kind::Rate, cell(line, rate, Kind::Rate, name)?);
        row.set(first + index, Kind::Cpu, cell(line, cpu, Kind::Cpu, name)?);
    }
    Ok(())
}

/// The characters of a column; nothing beyond the end of the line.
fn column(text: &str, index: usize) -> &str {
    let start = NAME_WIDTH + COLUMN_WIDTH * index;
    // Widths are in characters: a machine's name may take more bytes.
    let mut ends = text.char_indices().map(|(at, _)| at).chain(std::iter::repeat(text.len()));
    let from = ends.nth(start).unwrap_or(text.len());
    let to = ends.nth(COLUMN_WIDTH - 1).unwrap_or(text.len());
    &text[from..to]
}

fn cell(line: Line, text: &str, kind: Kind, name: &str) -> Result<Value, ParseError> {
    // 2.00 writes KiB/s as `1288k`, `895m` and `1.2g`.
    let units = [("k", 1.0), ("m", 1024.0), ("g", 1_048_576.0)];
    let scaled = units.iter().find_map(|(unit, kib)| Some((text.strip_suffix(unit)?, *kib)));
    let (number, kib) = scaled.filter(|_| kind == Kind::Rate).unwrap_or((text, 1.0));
    match value::read(number, kind) {
        Ok(Value::Number(value)) => Ok(Value::Number(value * kib)),
        Ok(value) => Ok(value),
        Err(_) => {
            let what = format!("{} is not {} ({name})", quote(text), kind.expected());
            let hint = "keep the spaces of the table, or give the line of CSV";
            Err(ParseError::new(line.number, what, hint))
        }
    }
}
