//! A line of CSV, and the positions of the columns in each format.

use super::column::{self, FILE_PHASES, Kind, PHASES};
use super::row::Row;
use super::value;
use drivelab_core::counted;
use drivelab_core::csv::{Line, ParseError, fields, quote};

/// A version of the CSV format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// No version field, no latencies.
    V103,
    V196,
    /// As 1.96, but with the directories in the column of the chunk size.
    V197,
    /// With the number of seeks and of seek threads, which shift the rest by two.
    V198,
}

impl Format {
    const fn name(self) -> &'static str {
        match self {
            Self::V103 => "1.03",
            Self::V196 => "1.96",
            Self::V197 => "1.97",
            Self::V198 => "1.98",
        }
    }

    const fn count(self) -> usize {
        match self {
            Self::V103 => 27,
            Self::V196 | Self::V197 => 48,
            Self::V198 => 50,
        }
    }

    /// The column of the first rate.
    const fn rates(self) -> usize {
        match self {
            Self::V103 => 2,
            Self::V196 | Self::V197 => 7,
            Self::V198 => 9,
        }
    }

    /// The column of the number of files.
    const fn files(self) -> usize {
        self.rates() + 2 * FILE_PHASES
    }

    /// The column of the first rate on many files: after number, sizes, directories and chunk,
    /// which 1.03 writes into one column.
    const fn file_rates(self) -> usize {
        match self {
            Self::V103 => self.files() + 1,
            Self::V196 | Self::V197 | Self::V198 => self.files() + 5,
        }
    }

    const fn latencies(self) -> Option<usize> {
        match self {
            Self::V103 => None,
            Self::V196 | Self::V197 | Self::V198 => Some(self.file_rates() + 2 * FILE_PHASES),
        }
    }
}

// The columns end with the rates of many files, or with a latency for each phase.
const _: () = {
    assert!(Format::V103.count() == Format::V103.file_rates() + 2 * FILE_PHASES);
    assert!(Format::V196.count() == Format::V196.file_rates() + 2 * FILE_PHASES + PHASES.len());
    assert!(Format::V198.count() == Format::V198.file_rates() + 2 * FILE_PHASES + PHASES.len());
    assert!(PHASES.len() == 2 * FILE_PHASES);
};

/// A line with its columns in their positions.
#[derive(Debug)]
struct Layout {
    format: Format,
    fields: Vec<String>,
    /// Number of empty columns inserted, because 1.96 omits some if the big file was skipped.
    inserted: usize,
}

/// Columns before the first rate, from 1.96 on: concurrency to the number of seek threads.
pub(super) const OPTIONS: [&str; 6] =
    ["concurrency", "seed", "file_size", "io_chunk_size", "seeks", "seek_procs"];
/// Columns before the first rate on many files.
pub(super) const FILE_OPTIONS: [&str; 5] =
    ["num_files", "max_size", "min_size", "num_dirs", "file_chunk_size"];

/// Number of commas that identify a line as CSV: the text tables contain none.
const COMMAS_MIN: usize = 12;

pub(super) fn is_header(text: &str) -> bool {
    text.starts_with("format_version,")
}

/// True if a line is CSV of this tool, complete or truncated.
pub(super) fn is_csv(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let Some((first, rest)) = text.split_once(',') else { return false };
    let first = first.trim();
    // A truncated line still begins with its version.
    let versioned = first.len() == 4 && (first.starts_with("1.9") || first.starts_with("2.0"));
    let size = rest.split(',').next().unwrap_or("");
    versioned || (rest.matches(',').count() + 1 >= COMMAS_MIN && is_host(first) && is_size(size))
}

/// The name of a machine, with which a line of 1.03 begins: no number, and nothing with blanks. Any
/// table of numbers has lines with enough commas.
fn is_host(text: &str) -> bool {
    !text.contains(char::is_whitespace) && text.parse::<f64>().is_err()
}

/// A file size of 1.03: `4G`, `1000M`, `4G:64k`.
fn is_size(text: &str) -> bool {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    digits > 0 && matches!(&text[digits..], "" | "K" | "M" | "G" | "k" | "m" | "g")
        || text.split_once(':').is_some_and(|(size, chunk)| is_size(size) && is_size(chunk))
}

impl Layout {
    fn new(line: Line) -> Result<Self, ParseError> {
        let mut fields = fields(line)?;
        let version = format(line, &fields)?;
        let (count, expected) = (fields.len(), version.count());
        let mut inserted = 0;
        // With `-s 0`, 1.96 writes a wrong number of commas for the phases it skipped (1.97 does
        // not): the columns after them are complete, so they are counted from the end.
        let skips_file = version == Format::V196 && fields.get(5).is_some_and(String::is_empty);
        let tail = expected - version.files();
        let is_cut = count != expected && skips_file && count > tail + 5;
        if is_cut && fields[5..count - tail].iter().all(String::is_empty) {
            let files = fields.split_off(count - tail);
            fields.resize(version.files(), String::new());
            fields.extend(files);
            inserted = expected.saturating_sub(count);
        } else if count != expected {
            let what =
                format!("there are {count} fields, but format {} has {expected}", version.name());
            let hint = if count < expected {
                "check whether the line is truncated or split over two lines"
            } else {
                "check for text appended to it"
            };
            return Err(ParseError::new(line.number, what, hint));
        }
        debug_assert_eq!(fields.len(), version.count());
        Ok(Self { format: version, fields, inserted })
    }

    /// True if the number of directories is in the column of the chunk size.
    fn swaps(&self) -> bool {
        let chunk = self.format.files() + 4;
        matches!(self.format, Format::V197 | Format::V198)
            && self.fields[chunk - 1].is_empty()
            && !self.fields[chunk].is_empty()
    }

    /// The run without its figures.
    fn begin(&self, line: Line) -> Row {
        let files = self.format.files();
        if self.format == Format::V103 {
            let mut row = Row::new(line.number, self.format.name(), &self.fields[0]);
            let (size, chunk) = self.fields[1].split_once(':').unwrap_or((&self.fields[1], ""));
            row.option("file_size", size);
            row.option("io_chunk_size", chunk);
            file_options(&mut row, &self.fields[files]);
            return row;
        }
        let mut row = Row::new(line.number, &self.fields[1], &self.fields[2]);
        for (name, value) in OPTIONS.iter().zip(&self.fields[3..self.format.rates()]) {
            row.option(name, value);
        }
        for (name, value) in FILE_OPTIONS.iter().zip(&self.fields[files..]) {
            let name = if self.swaps() && *name == "file_chunk_size" { "num_dirs" } else { name };
            row.option(name, value);
        }
        row
    }

    /// The column of a phase, or `None` if the format has no such column.
    fn column(&self, phase: usize, kind: Kind) -> Option<usize> {
        let rate = match phase.checked_sub(FILE_PHASES) {
            None => self.format.rates() + 2 * phase,
            Some(file_phase) => self.format.file_rates() + 2 * file_phase,
        };
        match kind {
            Kind::Rate => Some(rate),
            Kind::Cpu => Some(rate + 1),
            Kind::Latency => Some(self.format.latencies()? + phase),
        }
    }

    /// A column as counted in the file, from 1.
    fn in_file(&self, column: usize) -> usize {
        // Users count the columns of their file, not those that were inserted here.
        let shift = if column >= self.format.files() { self.inserted } else { 0 };
        column + 1 - shift
    }

    /// The corrections made to this line.
    fn notes(&self, line: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if self.swaps() {
            notes.push(format!(
                "line {line}: `{}`, in the column of the file chunk size, is the number of \
                 directories: versions 1.97 and 1.98 write it there, and the chunk size is lost",
                self.fields[self.format.files() + 4]
            ));
        }
        if self.inserted > 0 {
            notes.push(format!(
                "line {line}: version 1.96 left out {} for the phases it skipped",
                counted(self.inserted as u64, "comma")
            ));
        }
        notes
    }
}

/// Reads a line; also returns the corrections made to it.
pub(super) fn read(line: Line) -> Result<(Row, Vec<String>), ParseError> {
    let layout = Layout::new(line)?;
    let mut row = layout.begin(line);
    check_concurrency(line, &row)?;
    for (index, phase) in PHASES.iter().enumerate() {
        for part in column::parts(phase) {
            let Some(column) = layout.column(index, part.kind) else { continue };
            let value = value::read(&layout.fields[column], part.kind).map_err(|what| {
                let hint = format!("bonnie++ writes {} here", part.kind.expected());
                let what = format!("{what} ({})", part.name);
                // Columns are counted as they are in the file.
                ParseError::new(line.number, what, hint).at(layout.in_file(column))
            })?;
            row.set(index, part.kind, value);
        }
    }
    Ok((row, layout.notes(line.number)))
}

fn check_concurrency(line: Line, row: &Row) -> Result<(), ParseError> {
    match row.setup.get("concurrency") {
        Some(count) if count.parse::<u32>().is_err() => {
            let what = format!("{} is not a concurrency", quote(count));
            let hint = "bonnie++ writes a small number here, usually 1";
            Err(ParseError::new(line.number, what, hint).at(4))
        }
        _ => Ok(()),
    }
}

/// Records `16:4096:1024/4`: the number of files, their sizes, and the number of directories.
pub(super) fn file_options(row: &mut Row, text: &str) {
    let (sizes, dirs) = text.split_once('/').unwrap_or((text, ""));
    for (name, value) in FILE_OPTIONS.iter().zip(sizes.split(':')) {
        row.option(name, value);
    }
    row.option("num_dirs", dirs);
}

fn format(line: Line, fields: &[String]) -> Result<Format, ParseError> {
    let first = fields[0].as_str();
    match first {
        "1.96" => Ok(Format::V196),
        "1.97" => Ok(Format::V197),
        "1.98" => Ok(Format::V198),
        _ if fields.get(1).is_some_and(|size| is_size(size)) => Ok(Format::V103),
        _ => {
            let what = format!("unknown version {} of the format", quote(first));
            let hint = "known versions: 1.96, 1.97 and 1.98, and 1.03, which starts with the \
                        machine";
            Err(ParseError::new(line.number, what, hint).at(1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_where_the_format_says() {
        let check = |format: Format, rates, files, latencies| {
            assert_eq!(
                (format.rates(), format.files(), format.latencies()),
                (rates, files, latencies)
            );
            let last = format.latencies().unwrap_or(format.file_rates()) + 12;
            assert_eq!(last, format.count(), "{format:?}");
        };
        check(Format::V103, 2, 14, None);
        check(Format::V196, 7, 19, Some(36));
        check(Format::V197, 7, 19, Some(36));
        check(Format::V198, 9, 21, Some(38));
    }

    #[test]
    fn csv_is_told_from_text() {
        let check = |text, expected| assert_eq!(is_csv(text), expected, "{text}");
        // A table of other numbers, and a sentence with commas.
        check("200,1,500,8500,3600,47.3,2.1,15.2,42.5,4.8,38.6,89.1,false", false);
        check("Jul 05 03:11:51 of 0x6a78910, 50,61 GiB, a, b, c, d, e, f, g, h, i, j, k", false);
        check("1.96,1.96,kvm,1", true);
        check("kvm,4G,439,99,52686,15,27168,5,2039,99,62782,4,228.9,3,16", true);
        check("kvm,4G:64k,439,99,52686,15,27168,5,2039,99,62782,4,228.9,3,16", true);
        check("Version  1.96       ------Sequential Output------ --Sequential Input-", false);
        check("1,ide,75.1", false);
        check("a,b,c,d,e,f,g,h,i,j,k,l,m,n", false);
    }
}
