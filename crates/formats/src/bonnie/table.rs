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

/// Characters of a load, with the blank before it.
const LOAD_WIDTH: usize = 4;

/// The cells of one kind in a row.
type Cells = [Value; FILE_PHASES];

/// Runs of one table that are kept until the table of many files, which has a row for each.
const ROWS_MAX: usize = 1000;

/// True if a line is the first one of a table.
pub(super) fn is_heading(text: &str) -> bool {
    // The table of the big file, and that of many small ones.
    let kinds = ["Sequential Output", "Sequential Create"];
    text.starts_with("Version ")
        && text.contains("------")
        && kinds.iter().any(|kind| text.contains(kind))
}

/// The first line of the second table of 1.03, which has no version.
fn is_second(text: &str) -> bool {
    text.trim_start().starts_with("------Sequential Create------")
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
) {
    let mut table: Option<Table> = None;
    for line in lines {
        let text = line.text;
        if is_heading(text) || table.is_some() && is_second(text) {
            let (next, ended) = Table::new(text, table.take());
            for row in ended {
                add(row, found);
            }
            table = Some(next);
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
            let machine = text.split_whitespace().next().filter(|word| !word.starts_with('-'));
            machine.unwrap_or("").clone_into(&mut table.machine);
        } else {
            for row in table.row(line, found) {
                add(row, found);
            }
        }
    }
    for row in table.into_iter().flat_map(|table| table.rows) {
        add(row, found);
    }
}

/// A table during reading.
#[derive(Debug)]
struct Table {
    version: String,
    part: Part,
    machine: String,
    concurrency: String,
    /// The runs whose rows were read, and which are not complete yet.
    rows: Vec<Row>,
    /// The number of those of which the second table has been read.
    filled: usize,
    /// The run to which a line of latencies belongs.
    last: usize,
}

impl Table {
    /// The table under `heading`, with the runs that the one before it ends.
    fn new(heading: &str, before: Option<Self>) -> (Self, Vec<Row>) {
        let is_file = heading.contains("Sequential Output");
        let part = if is_file { Part::BigFile } else { Part::Files };
        let mut version = before.as_ref().map(|it| it.version.clone()).unwrap_or_default();
        if heading.starts_with("Version ") {
            heading.split_whitespace().nth(1).unwrap_or("").clone_into(&mut version);
        }
        let follows =
            part == Part::Files && before.as_ref().is_some_and(|it| it.part == Part::BigFile);
        let before = before.map(|it| it.rows).unwrap_or_default();
        let (rows, ended) = if follows { (before, Vec::new()) } else { (Vec::new(), before) };
        let (machine, concurrency) = (String::new(), String::new());
        (Self { version, part, machine, concurrency, rows, filled: 0, last: 0 }, ended)
    }

    fn concurrency(&mut self, text: &str) {
        if let Some(rest) = text.strip_prefix("Concurrency") {
            rest.split_whitespace().next().unwrap_or("").clone_into(&mut self.concurrency);
        }
    }

    /// Takes a row; returns the runs before it that it ends.
    fn row(&mut self, line: Line, found: &mut Found) -> Vec<Row> {
        // Such a line has no column: taken for runs, many of them would take minutes.
        if line.text.len() <= NAME_WIDTH {
            found.unknown(line.number, line.text);
            return Vec::new();
        }
        let first = line.text.split_whitespace().next().unwrap_or("");
        if first == "Latency" {
            let first = if self.part == Part::BigFile { 0 } else { FILE_PHASES };
            if let Some(row) = self.rows.get_mut(self.last) {
                match latencies(line) {
                    Ok(cells) => row.fill(first, Kind::Latency, cells),
                    Err(error) => found.damaged(error),
                }
            }
            return Vec::new();
        }
        // Notes stand between tables, too.
        let Some(part) = self.part_of(line.text) else {
            found.unknown(line.number, line.text);
            return Vec::new();
        };
        let mut ended = Vec::new();
        if self.part == Part::Files && part == Part::BigFile {
            ended = self.end();
        }
        self.part = part;
        match part {
            Part::BigFile => {
                if self.rows.len() == ROWS_MAX {
                    ended = self.end();
                }
                let mut row = Row::new(line.number, &self.version, first);
                row.option("concurrency", &self.concurrency);
                let size = line.text.split_whitespace().nth(1).unwrap_or("");
                let (size, chunk) = size.split_once(':').unwrap_or((size, ""));
                row.option("file_size", size);
                row.option("io_chunk_size", chunk);
                self.last = self.rows.len();
                // Machine and size precede the rates.
                match rates(line, 2, 0) {
                    Ok([rates, loads]) => {
                        row.fill(0, Kind::Rate, rates);
                        row.fill(0, Kind::Cpu, loads);
                        self.rows.push(row);
                    }
                    Err(error) => found.damaged(error),
                }
            }
            Part::Files => {
                if self.filled == self.rows.len() {
                    ended = self.end();
                    self.rows.push(Row::new(line.number, &self.version, &self.machine));
                }
                self.last = self.filled;
                self.filled += 1;
                self.files(line, first, found);
            }
        }
        ended
    }

    /// The kind of a row, also where the heading was left out: that of many files has no name, that
    /// of the big file has its size.
    fn part_of(&self, text: &str) -> Option<Part> {
        let mut words = text.split_whitespace();
        let (first, second) = (words.next()?, words.next()?);
        if self.part == Part::BigFile && is_row_of_files(text) {
            return Some(Part::Files);
        }
        let begins_with_digit =
            [first, second].map(|it| it.starts_with(|c: char| c.is_ascii_digit()));
        match begins_with_digit {
            [true, _] if self.part == Part::Files => Some(Part::Files),
            [_, true] => Some(Part::BigFile),
            _ => None,
        }
    }

    /// Ends the runs so far.
    fn end(&mut self) -> Vec<Row> {
        (self.filled, self.last) = (0, 0);
        std::mem::take(&mut self.rows)
    }

    /// Takes a row of many files for the run that it belongs to.
    fn files(&mut self, line: Line, first: &str, found: &mut Found) {
        debug_assert!(self.filled <= self.rows.len(), "each row of files has its run");
        let row = self.rows.get_mut(self.last).expect("a row of many files has its run");
        layout::file_options(row, first);
        if self.version.starts_with('2') {
            found.note(format!(
                "The tables of bonnie++ {} show wrong rates for many files (the number of files \
                 in place of the rate): they are left out. Its line of CSV has them.",
                self.version
            ));
            return;
        }
        // The number of files precedes the rates.
        match rates(line, 1, FILE_PHASES) {
            Ok([rates, loads]) => {
                row.fill(FILE_PHASES, Kind::Rate, rates);
                row.fill(FILE_PHASES, Kind::Cpu, loads);
            }
            Err(error) => found.damaged(error),
        }
    }
}

/// True for a row of many files in which every column is filled.
fn is_row_of_files(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or("");
    first.starts_with(|c: char| c.is_ascii_digit())
        && !first.contains(|c: char| c.is_ascii_alphabetic())
        && words.count() == 2 * FILE_PHASES
}

fn latencies(line: Line) -> Result<Cells, ParseError> {
    let words: Vec<&str> = line.text.split_whitespace().skip(1).collect();
    let mut cells = [Value::NotRun; FILE_PHASES];
    for (index, found) in cells.iter_mut().enumerate() {
        let text = match words.get(index) {
            Some(word) if words.len() == FILE_PHASES => word,
            _ => column(line.text, index).trim(),
        };
        *found = cell(line, text, Kind::Latency, "a latency")?;
    }
    Ok(cells)
}

/// Rates and loads after `skipped` words.
fn rates(line: Line, skipped: usize, first: usize) -> Result<[Cells; 2], ParseError> {
    if is_cut(line.text, skipped) {
        let hint = "keep the line whole, or give the line of CSV";
        return Err(ParseError::new(line.number, "a row of a table that is cut off", hint));
    }
    let words: Vec<&str> = line.text.split_whitespace().skip(skipped).collect();
    debug_assert!(first + FILE_PHASES <= PHASES.len(), "a table has the phases of a half");
    let pairs = spaced(line.text, skipped);
    let mut cells = [[Value::NotRun; FILE_PHASES]; 2];
    for index in 0..FILE_PHASES {
        let (rate, cpu) = if words.len() == 2 * FILE_PHASES {
            (words[2 * index], words[2 * index + 1])
        } else if let Some(pairs) = &pairs {
            pairs[index]
        } else {
            let mut pair = column(line.text, index).split_whitespace();
            (pair.next().unwrap_or(""), pair.next().unwrap_or(""))
        };
        let name = PHASES[first + index].name;
        cells[0][index] = cell(line, rate, Kind::Rate, name)?;
        cells[1][index] = cell(line, cpu, Kind::Cpu, name)?;
    }
    Ok(cells)
}

/// True if a row ends in a number: a rate has its load behind it, which ends where those of the
/// other columns do, four characters behind the rate.
fn is_cut(text: &str, skipped: usize) -> bool {
    let ends: Vec<usize> = crate::found::word_ends(text).skip(skipped).collect();
    let (pairs, rest) = ends.as_chunks::<2>();
    let widths: Vec<usize> = pairs.iter().map(|[rate, load]| load - rate).collect();
    // Blanks that were squeezed align nothing.
    let is_aligned = text.trim().contains("  ");
    let is_short = widths.split_last().is_some_and(|(last, earlier)| {
        *last < LOAD_WIDTH && earlier.iter().all(|width| *width >= LOAD_WIDTH)
    });
    !rest.is_empty() || is_aligned && is_short
}

/// Rates and loads of a row in which columns are empty, each of them a gap of its width more: a
/// number that is wider than its column shifts those behind it. `None` where that does not add up.
fn spaced(text: &str, skipped: usize) -> Option<[(&str, &str); FILE_PHASES]> {
    let mut pairs = [("", ""); FILE_PHASES];
    let (mut words, mut at, mut rest) = (0, 0, text);
    let mut rate = None;
    while let Some(begin) = rest.find(|c: char| !c.is_whitespace()) {
        let (gap, behind) = rest.split_at(begin);
        let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
        let word = &behind[..end];
        rest = &behind[end..];
        words += 1;
        if words <= skipped {
            continue;
        }
        match rate.take() {
            None => {
                at += gap.len() / COLUMN_WIDTH;
                rate = Some(word);
            }
            // Between a rate and its load there is no column.
            Some(_) if gap.len() >= COLUMN_WIDTH => return None,
            Some(rate) => {
                *pairs.get_mut(at)? = (rate, word);
                at += 1;
            }
        }
    }
    rate.is_none().then_some(pairs)
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
