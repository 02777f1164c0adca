//! Where the columns of each format stand.

use super::column::{FILE_PHASES, Kind};
use drivelab_core::csv::{Line, ParseError, fields, quote};

/// A version of the CSV format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// No version field, no latencies.
    V103,
    V196,
    /// As 1.96, but directories stand in the column of the chunk size.
    V197,
    /// Number of seeks and of seek threads added; the rest moves by two.
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
    /// which 1.03 writes into one.
    const fn file_rates(self) -> usize {
        match self {
            Self::V103 => self.files() + 1,
            Self::V196 | Self::V197 | Self::V198 => self.files() + 5,
        }
    }

    const fn latencies(self) -> Option<usize> {
        match self {
            Self::V103 => None,
            Self::V196 | Self::V197 | Self::V198 => Some(self.file_rates() + 12),
        }
    }
}

/// A line with its columns in their places.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) format: Format,
    pub(super) tool_version: String,
    pub(super) machine: String,
    pub(super) fields: Vec<String>,
    /// Empty columns put in, because 1.96 leaves some out where the big file was skipped.
    inserted: usize,
}

/// Commas from which a line is meant as CSV: the text tables hold none.
const COMMAS_MIN: usize = 12;

pub(super) fn is_header(text: &str) -> bool {
    text.starts_with("format_version,")
}

/// Whether a line is CSV of this tool, whole or cut off.
pub(super) fn is_csv(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let versioned = text.split_once(',').is_some_and(|(first, _)| {
        let first = first.trim();
        first.len() == 4 && (first.starts_with("1.9") || first.starts_with("2.0"))
    });
    let commas = text.matches(',').count();
    versioned || (commas >= COMMAS_MIN && is_size(text.split(',').nth(1).unwrap_or("")))
}

/// A file size of 1.03: `4G`, `1000M`, `4G:64k`.
fn is_size(text: &str) -> bool {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    digits > 0 && matches!(&text[digits..], "" | "K" | "M" | "G" | "k" | "m" | "g")
        || text.split_once(':').is_some_and(|(size, chunk)| is_size(size) && is_size(chunk))
}

impl Layout {
    pub(super) fn new(line: Line) -> Result<Self, ParseError> {
        let mut fields = fields(line)?;
        let format = format(line, &fields)?;
        let (count, expected) = (fields.len(), format.count());
        let mut inserted = 0;
        // 1.96 with `-s 0` writes a wrong number of commas for the phases it skipped (1.97 does
        // not): what follows them is still complete, so it is counted from the end.
        let skips_file = format == Format::V196 && fields.get(5).is_some_and(String::is_empty);
        let empty = |fields: &[String]| fields.iter().all(String::is_empty);
        let tail = expected - format.files();
        if count != expected && skips_file && count > tail + 5 && empty(&fields[5..count - tail]) {
            let files = fields.split_off(count - tail);
            fields.resize(format.files(), String::new());
            fields.extend(files);
            inserted = expected.saturating_sub(count);
        } else if count != expected {
            let what =
                format!("there are {count} fields, but format {} has {expected}", format.name());
            let hint = if count < expected {
                "check whether the line is truncated or split over two lines"
            } else {
                "check for text appended to it"
            };
            return Err(ParseError::new(line.number, what, hint));
        }
        let (machine, tool_version) = match format {
            Format::V103 => (fields[0].clone(), format.name().to_owned()),
            _ => (fields[2].clone(), fields[1].clone()),
        };
        Ok(Self { format, tool_version, machine, fields, inserted })
    }

    /// The column of a phase, or `None` where the format has no such column.
    pub(super) fn column(&self, phase: usize, kind: Kind) -> Option<usize> {
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
    pub(super) fn in_file(&self, column: usize) -> usize {
        let shift = if column >= self.format.files() { self.inserted } else { 0 };
        column + 1 - shift
    }

    /// Number of files with their sizes, as written.
    pub(super) fn files(&self) -> usize {
        self.format.files()
    }

    /// What was put right in this line.
    pub(super) fn notes(&self, line: usize) -> Vec<String> {
        let mut notes = Vec::new();
        let chunk = self.format.files() + 4;
        let swaps = matches!(self.format, Format::V197 | Format::V198);
        if swaps && self.fields[chunk - 1].is_empty() && !self.fields[chunk].is_empty() {
            notes.push(format!(
                "line {line}: `{}`, in the column of the file chunk size, is the number of \
                 directories: versions 1.97 and 1.98 write it there, and the chunk size is lost",
                self.fields[chunk]
            ));
        }
        if self.inserted > 0 {
            notes.push(format!(
                "line {line}: version 1.96 left out {} comma(s) for the phases it skipped",
                self.inserted
            ));
        }
        notes
    }
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
        check("1.96,1.96,kvm,1", true);
        check("kvm,4G,439,99,52686,15,27168,5,2039,99,62782,4,228.9,3,16", true);
        check("kvm,4G:64k,439,99,52686,15,27168,5,2039,99,62782,4,228.9,3,16", true);
        check("Version  1.96       ------Sequential Output------ --Sequential Input-", false);
        check("1,ide,75.1", false);
        check("a,b,c,d,e,f,g,h,i,j,k,l,m,n", false);
    }
}
