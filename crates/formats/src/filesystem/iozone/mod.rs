//! iozone's table of rates, versions 3.x, and its throughput mode (`-t`).
//!
//! Rates are in KiB/s; with `-O` operations a second, and with `-N` microseconds for each. Without
//! `-I` the file is in the page cache; with it, `fwrite` and `fread` and their repetitions still go
//! through the page cache.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, ReadBack, Remark, Work};

use crate::found::{Found, decimal, figure, phase, put, slug, word_ends};
use crate::quantity::{Comma, bytes_per_s, split};
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

/// Words of a label before a row.
const LABEL_WORDS_MAX: usize = 3;

/// True for `kB  reclen    write  rewrite ...`; `KB` before version 3.400.
fn is_header(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let first = words.next();
    first.is_some_and(|word| word.eq_ignore_ascii_case("kb")) && words.next() == Some(COLUMN)
}

/// True if the last of these `rates` is cut off: in the columns of a table that were not squeezed
/// each number ends at least as far behind the one before it as the others.
fn is_cut(row: &str, rates: usize) -> bool {
    let ends: Vec<usize> = word_ends(row).collect();
    let gaps: Vec<usize> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let of_rates = &gaps[gaps.len().saturating_sub(rates)..];
    let Some((last, earlier)) = of_rates.split_last() else { return false };
    row.trim().contains("  ") && earlier.iter().min().is_some_and(|least| last < least)
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
            match throughput(rate) {
                Some((value, unit)) => {
                    let mode = mode.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
                    let phase = call.throughput(mode, value, unit);
                    put(&mut call.phases, phase, line.number)?;
                }
                None => found.unknown(line.number, text),
            }
        } else if call.is_table && call.is_row(text) {
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

/// The values of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Unit {
    #[default]
    KibPerS,
    /// `-O`.
    PerS,
    /// `-N`.
    Microseconds,
}

/// The event that ends a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Syncs {
    #[default]
    None,
    /// Files are opened with `O_SYNC` (`-o`), other than those of `fwrite`.
    Open,
    /// The time includes a flush (`-e`).
    Flush,
}

/// The value of `3757.86 kB/sec` in bytes, or of `1074.97 ops/sec`.
fn throughput(text: &str) -> Option<(f64, &'static str)> {
    let read = match split(text, Comma::Decimal)? {
        (value, "ops/sec") => (value, "1/s"),
        _ => (bytes_per_s(text, 1024.0, Comma::Decimal)?, "B/s"),
    };
    (read.0 > 0.0).then_some(read)
}

#[derive(Debug, Default)]
struct Call {
    line: usize,
    is_table: bool,
    unit: Unit,
    /// `O_DIRECT` (`-I`).
    is_direct: bool,
    syncs: Syncs,
    /// The tests that were chosen; empty for all.
    tests: Vec<u32>,
    work: Work,
    phases: Vec<Phase>,
}

impl Call {
    fn setting(&mut self, text: &str) {
        self.is_direct |= text.starts_with("O_DIRECT feature enabled");
        if text.starts_with("Include fsync in write timing") {
            self.syncs = Syncs::Flush;
        } else if text.starts_with("SYNC Mode") && self.syncs == Syncs::None {
            self.syncs = Syncs::Open;
        } else if text.starts_with("OPS Mode") {
            self.unit = Unit::PerS;
        } else if text.starts_with("Microseconds/op Mode") {
            self.unit = Unit::Microseconds;
        }
        let Some(command) = text.strip_prefix("Command line used:") else { return };
        let words: Vec<&str> = command.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            // The value may be joined to its letter: `-i0`.
            let Some((letter, joined)) = word.split_at_checked(2) else { continue };
            let value =
                if joined.is_empty() { words.get(at + 1).copied().unwrap_or("") } else { joined };
            match letter {
                "-i" => self.tests.extend(value.parse::<u32>().ok().filter(|test| *test < 8)),
                "-t" => self.work.set("threads", value),
                _ => {}
            }
        }
        self.work.set_switch("direct", words.contains(&"-I"));
    }

    /// The columns of the tests that were chosen.
    fn columns(&self) -> impl Iterator<Item = &'static str> {
        let chosen =
            COLUMNS.iter().filter(|(_, test)| self.tests.is_empty() || self.tests.contains(test));
        chosen.map(|(name, _)| *name)
    }

    /// True for a row, also for one behind a label that a note gives it.
    fn is_row(&self, text: &str) -> bool {
        text.starts_with(|c: char| c.is_ascii_digit()) || self.label_of(text).is_some()
    }

    /// The label before the numbers of a complete row, `raid0  1048576  512 ...`.
    fn label_of(&self, text: &str) -> Option<String> {
        let numbers = self.columns().count() + 2;
        let words: Vec<&str> =
            text.split_whitespace().take(numbers + LABEL_WORDS_MAX + 1).collect();
        let label =
            words.len().checked_sub(numbers).filter(|more| (1..=LABEL_WORDS_MAX).contains(more))?;
        debug_assert!(label < words.len(), "numbers follow a label");
        let is_row = words[label..].iter().all(|word| decimal(word).is_some());
        let is_name = words[..label].iter().any(|word| decimal(word).is_none());
        (is_row && is_name).then(|| words[..label].join(" "))
    }

    /// `1048576     512  5169375  7712220 ...`.
    fn row(&mut self, line: Line, found: &mut Found) -> Result<(), ParseError> {
        // Nothing else distinguishes two arrays in one table.
        let label = self.label_of(line.text);
        let skipped = label.as_ref().map_or(0, |label| label.split(' ').count());
        let words: Vec<&str> = line.text.split_whitespace().skip(skipped).take(20).collect();
        let values: Option<Vec<f64>> = words.iter().map(|word| decimal(word)).collect();
        let columns: Vec<&str> = self.columns().collect();
        let Some([size, record, rates @ ..]) = values.as_deref() else {
            found.unknown(line.number, line.text);
            return Ok(());
        };
        // A row that is cut off, or of which columns are empty, cannot be attributed.
        if rates.len() != columns.len() || is_cut(line.text, rates.len()) {
            found.unknown(line.number, line.text);
            return Ok(());
        }
        // Each size of the file and of a record is a test.
        let label = label.as_ref().map(|label| format!("{}_", slug(label))).unwrap_or_default();
        let name = format!("{label}{size}k_{record}k");
        let mut figures = Vec::new();
        for (column, value) in columns.iter().zip(rates) {
            let measured = match self.unit {
                Unit::KibPerS => figure(column, value * 1024.0, "B/s", Better::More),
                Unit::PerS => figure(column, *value, "1/s", Better::More),
                Unit::Microseconds => figure(column, value * 1e3, "ns", Better::Less),
            };
            figures.push(self.labelled(column, measured));
        }
        put(&mut self.phases, phase(&name, Nature::Disk, figures), line.number)
    }

    /// A rate of all threads, `initial writers` or `re-fwriters`.
    fn throughput(&self, mode: &str, value: f64, unit: &str) -> Phase {
        let name = if unit == "B/s" { "bytes_per_s" } else { "iops" };
        let measured = figure(name, value, unit, Better::More);
        let test = mode.trim_start_matches("re-");
        let kind = if test.contains("reader") { "read" } else { "write" };
        let stream = if test.starts_with('f') { "f" } else { "" };
        let measured = self.labelled(&format!("{stream}{kind}"), measured);
        let nature = measured.nature.unwrap_or(Nature::Disk);
        phase(&slug(mode), nature, vec![measured])
    }

    /// A figure of a column with what it measures.
    fn labelled(&self, column: &str, measured: Figure) -> Figure {
        assert!(measured.value >= 0.0, "plain decimals have no sign");
        let is_stream = column.starts_with('f');
        let is_read = column.ends_with("read");
        let waits = match self.syncs {
            Syncs::None => false,
            Syncs::Open => !is_stream,
            Syncs::Flush => true,
        };
        if waits && !is_read || self.is_direct && !is_stream {
            return measured;
        }
        let why = match () {
            () if self.is_direct => {
                "`fread` and `fwrite` go through the page cache, also with `-I`"
            }
            () if is_read => ReadBack::WHY,
            () => "without `-I` or `-e` the page cache takes the data",
        };
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
