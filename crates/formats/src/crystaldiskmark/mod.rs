//! `CrystalDiskMark`'s text, versions 2.2 to 8.
//!
//! The test file is read and written past the cache of Windows. The figure of a test is its fastest
//! run (and its shortest latency, from version 8 on), so a file holds one run and no variation.

pub(crate) mod row;

use drivelab_core::csv::{ParseError, lines};
use drivelab_core::foreign::Imported;

use crate::found::Found;
use row::{Direction, Row};

/// The beginning of its banner.
const BANNER: &str = "CrystalDiskMark ";
/// The beginnings of lines that say how it was run.
const SETTINGS: [&str; 9] =
    ["* ", "--", "Crystal Dew World", "Profile:", "Test", "Mode:", "Time:", "Date", "OS"];

/// Whether a text holds its banner.
pub fn is_crystaldiskmark(text: &str) -> bool {
    text.lines().any(|line| version(line).is_some())
}

/// The version in its banner.
fn version(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('\u{feff}').trim();
    let rest = line.strip_prefix(BANNER)?;
    let version = rest.split_whitespace().next()?;
    version.starts_with(|c: char| c.is_ascii_digit()).then_some(version)
}

/// Reads every report of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("CrystalDiskMark");
    let (mut begin, mut phases) = (0, Vec::new());
    let mut section = None;
    let mut is_comment = false;
    for line in lines(text)? {
        let trimmed = line.text.trim();
        if let Some(version) = version(trimmed) {
            found.version(version);
            found.run(begin, "", std::mem::take(&mut phases));
            (begin, section, is_comment) = (line.number, None, false);
        } else if is_comment || SETTINGS.iter().any(|start| trimmed.starts_with(start)) {
        } else if trimmed.starts_with("::") || trimmed.starts_with("Comment:") {
            is_comment = true;
        } else if let Some(direction) = Direction::of_section(trimmed) {
            section = Some(direction);
        } else if let Some(row) = Row::new(line, section)? {
            phases.push(row.phase(Vec::new()));
        } else {
            found.unknown(line.number, line.text);
        }
    }
    found.run(begin, "", phases);
    if begin > 0 {
        let note = "CrystalDiskMark reports the fastest of its runs, not their mean.";
        found.note(note.to_owned());
    }
    found.finish("save the result as text after the test finished")
}

#[cfg(test)]
mod tests;
