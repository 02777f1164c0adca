//! iozone's table of rates, versions 3.x, and its throughput mode (`-t`).
//!
//! Rates are in KiB/s. Without `-I` the file is in the page cache; with it, `fwrite` and `fread`
//! and their repetitions still go through the page cache.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, ReadBack, Remark, Work};

use crate::found::{Found, decimal, figure, phase, put, slug};
use crate::quantity::{Comma, bytes_per_s};
use crate::sign::in_a_line;

const COLUMN: &str = "reclen";
const CHILDREN: &str = "Children see throughput for ";
/// The columns in order, with the number of the test (`-i`) that fills them.
const COLUMNS: [(&str, u32); 13] = [
    ("write", 0),
    ("rewrite", 0),
    ("read", 1),
    ("reread", 1),
    ("random_read", 2),
    ("random_write", 2),
    ("backward_read", 3),
    ("record_rewrite", 4),
    ("stride_read", 5),
    ("fwrite", 6),
    ("frewrite", 6),
    ("fread", 7),
    ("freread", 7),
];

/// True for `kB  reclen    write  rewrite ...`; `KB` before version 3.400.
fn is_header(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let first = words.next();
    first.is_some_and(|word| word.eq_ignore_ascii_case("kb")) && words.next() == Some(COLUMN)
}

/// The mode and the rate of `Children see throughput for  4 readers \t=  123.45 kB/sec`.
fn children(line: &str) -> Option<(&str, &str)> {
    let (mode, rate) = line.trim().strip_prefix(CHILDREN)?.split_once('=')?;
    Some((mode.trim(), rate.trim()))
}

/// True if a text contains a table, or rates of throughput mode.
pub fn is_iozone(text: &str) -> bool {
    in_a_line(text, COLUMN, is_header) || in_a_line(text, CHILDREN, |it| children(it).is_some())
}

/// Reads every call of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("iozone");
    let mut call = Call::default();
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some(version) = text.strip_prefix("Version $Revision:") {
            std::mem::take(&mut call).finish(&mut found);
            found.version(version.trim_end_matches('$').trim());
        } else if is_header(text) {
            call.line = if call.line == 0 { line.number } else { call.line };
            call.is_table = true;
        } else if let Some((mode, rate)) = children(text) {
            call.line = if call.line == 0 { line.number } else { call.line };
            match bytes_per_s(rate, 1024.0, Comma::Decimal).filter(|rate| *rate > 0.0) {
                Some(rate) => {
                    let name =
                        slug(mode.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '));
                    let phase = call.throughput(&name, rate);
                    put(&mut call.phases, phase, line.number)?;
                }
                None => found.unknown(line.number, text),
            }
        } else if call.is_table && text.starts_with(|c: char| c.is_ascii_digit()) {
            call.row(line, &mut found)?;
        } else if text.starts_with('"') || text.starts_with("iozone test complete") {
            // The report for a spreadsheet repeats the table.
            call.is_table = false;
        } else {
            call.setting(text);
        }
    }
    call.finish(&mut found);
    found.finish("give the complete output of a call of `iozone` that finished")
}

#[derive(Debug, Default)]
struct Call {
    line: usize,
    is_table: bool,
    /// `O_DIRECT` (`-I`).
    is_direct: bool,
    /// The time includes a flush (`-e`), or writes are synchronous (`-o`).
    is_synced: bool,
    /// The tests that were chosen; empty for all.
    tests: Vec<u32>,
    work: Work,
    phases: Vec<Phase>,
}

impl Call {
    fn setting(&mut self, text: &str) {
        self.is_direct |= text.starts_with("O_DIRECT feature enabled");
        self.is_synced |= text.starts_with("Include fsync in write timing")
            || text.starts_with("SYNC Mode")
            || text.starts_with("Include close in write timing") && text.contains("fsync");
        let Some(command) = text.strip_prefix("Command line used:") else { return };
        let words: Vec<&str> = command.split_whitespace().collect();
        for pair in words.windows(2) {
            match pair[0] {
                "-i" => self.tests.extend(pair[1].parse::<u32>().ok().filter(|test| *test < 8)),
                "-t" => self.work.set("threads", pair[1]),
                _ => {}
            }
        }
        self.work.set_switch("direct", words.contains(&"-I"));
    }

    /// `1048576     512  5169375  7712220 ...`.
    fn row(&mut self, line: Line, found: &mut Found) -> Result<(), ParseError> {
        let words: Vec<&str> = line.text.split_whitespace().take(20).collect();
        let values: Option<Vec<f64>> = words.iter().map(|word| decimal(word)).collect();
        let columns: Vec<&str> = COLUMNS
            .iter()
            .filter(|(_, test)| self.tests.is_empty() || self.tests.contains(test))
            .map(|(name, _)| *name)
            .collect();
        let Some([size, record, rates @ ..]) = values.as_deref() else {
            found.unknown(line.number, line.text);
            return Ok(());
        };
        // A row that is cut off, or of which columns are empty, cannot be attributed.
        if rates.len() != columns.len() {
            found.unknown(line.number, line.text);
            return Ok(());
        }
        // Each size of the file and of a record is a test.
        let name = format!("{size}k_{record}k");
        let mut figures = Vec::new();
        for (column, kib) in columns.iter().zip(rates) {
            figures.push(self.rate(column, kib * 1024.0));
        }
        put(&mut self.phases, phase(&name, Nature::Disk, figures), line.number)
    }

    fn throughput(&self, name: &str, rate: f64) -> Phase {
        let kind = if name.contains("read") { "read" } else { "write" };
        let figure = Figure { name: "bytes_per_s".into(), ..self.rate(kind, rate) };
        let nature = figure.nature.unwrap_or(Nature::Disk);
        phase(name, nature, vec![figure])
    }

    /// A rate with what it measures.
    fn rate(&self, column: &str, rate: f64) -> Figure {
        assert!(rate >= 0.0, "plain decimals have no sign");
        let is_stream = column.starts_with('f');
        let is_read = column.ends_with("read");
        let why = if self.is_direct && !is_stream {
            None
        } else if is_stream && self.is_direct {
            Some("`fread` and `fwrite` go through the page cache, also with `-I`")
        } else if is_read {
            Some(ReadBack::WHY)
        } else if self.is_synced {
            None
        } else {
            Some("without `-I` or `-e` the page cache takes the data")
        };
        let measured = figure(column, rate, "B/s", Better::More);
        let Some(why) = why else { return measured };
        let nature = Nature::PageCache;
        let remarks = vec![Remark::new(Label::Nature(nature), why)];
        Figure { nature: Some(nature), remarks, ..measured }
    }

    fn finish(self, found: &mut Found) {
        found.run_of(self.line, "", self.work, self.phases);
    }
}

#[cfg(test)]
mod tests;
