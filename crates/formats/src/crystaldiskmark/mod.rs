//! `CrystalDiskMark`'s text, versions 2.2 to 8.
//!
//! The test file is read and written without the cache of Windows. The figure of a test is its
//! fastest run (and its shortest latency, from version 8 on), so a file contains one run and no
//! variation.

mod form;
pub(crate) mod row;
pub(crate) mod settings;
mod write;

pub use write::write;

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::{Imported, ImportedRun};

use crate::date;
use crate::found::Found;
use crate::sign::in_a_line;
use row::{Direction, Row};

/// The beginning of its banner.
const BANNER: &str = "CrystalDiskMark ";
/// The end of the banner of a text that has only the form of the tool's.
const BY_ANOTHER: &str = "measured by another program";
/// The beginnings of lines that describe the settings.
const SETTINGS: [&str; 9] =
    ["* ", "--", "Crystal Dew World", "Profile:", "Test", "Mode:", "Time:", "Date", "OS"];

/// True if a text contains its banner, or its rows without the banner of another program.
pub fn is_crystaldiskmark(text: &str) -> bool {
    in_a_line(text, BANNER, |line| version(line).is_some()) || is_headless(text)
}

/// True for a row with its operations a second.
fn is_row(text: &str) -> bool {
    let row = Row::new(Line { number: 1, text }, Some(Direction::Read));
    matches!(row, Ok(Some(row)) if row.iops.is_some())
}

/// True for the rows of a report that was copied without its first lines.
fn is_headless(text: &str) -> bool {
    // These print the same rows, but measure in other ways.
    let others = ["KDiskMark", "Flexible I/O Tester", "disk-mark", "AmorphousDiskMark"];
    in_a_line(text, "IOPS]", is_row) && !others.iter().any(|other| text.contains(other))
}

/// The version in its banner.
fn version(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('\u{feff}').trim();
    let rest = line.strip_prefix(BANNER)?;
    let version = rest.split_whitespace().next()?.trim_end_matches(',');
    version.starts_with(|c: char| c.is_ascii_digit()).then_some(version)
}

/// Reads every report of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("CrystalDiskMark");
    let mut run = ImportedRun::default();
    let mut section = None;
    let mut is_comment = false;
    let mut is_its_own = true;
    let mut begin = 0;
    for line in lines(text)? {
        let trimmed = line.text.trim();
        if let Some(version) = version(trimmed) {
            found.version(version);
            if is_comment {
                end_comment(&mut run);
            }
            found.add(std::mem::take(&mut run));
            let banner = trimmed.trim_start_matches('\u{feff}').to_owned();
            // One foreign report is enough: the note would be wrong for the whole file.
            is_its_own &= !banner.ends_with(BY_ANOTHER);
            run.setup.insert("banner".into(), banner);
            (run.line, section, is_comment) = (line.number, None, false);
        } else if is_comment {
            // A comment is last and has no end mark: only the next report ends it.
            comment(&mut run, trimmed);
        } else if let Some(rest) = trimmed.strip_prefix("Comment:") {
            is_comment = true;
            comment(&mut run, rest.trim());
        } else if trimmed.starts_with("::") {
            is_comment = true;
        } else if SETTINGS.iter().any(|start| trimmed.starts_with(start)) {
            setting(&mut run, trimmed);
        } else if let Some(direction) = Direction::of_section(trimmed) {
            section = Some(direction);
            settings::mixture(&mut run.work, trimmed);
        } else {
            let is_row = match Row::new(line, section)? {
                Some(row) => row.add(&mut run.phases, Vec::new(), line)?,
                None => false,
            };
            begin = if begin == 0 && is_row { line.number } else { begin };
            if !is_row {
                found.unknown(line.number, line.text);
            }
        }
    }
    if run.line == 0 && !run.phases.is_empty() {
        // Its rows may also be KDiskMark's, whose figures are means.
        run.line = begin;
        found.note(HEADLESS.to_owned());
    } else if run.line > 0 {
        explain(&mut found, is_its_own);
    }
    found.add(run);
    found.finish("save the result as text after the test finished")
}

/// The note on a report that lacks its banner.
const HEADLESS: &str = "The first lines of CrystalDiskMark's report are missing: its version is \
                        unknown, and another program may have printed this form.";

/// Adds what the reports of a text measure.
fn explain(found: &mut Found, is_its_own: bool) {
    let note = if is_its_own {
        "CrystalDiskMark reports the fastest of its runs, not their mean."
    } else {
        "The text has the form of CrystalDiskMark's; another program measured."
    };
    found.note(note.to_owned());
    if is_its_own && found.is_of_version("2.") {
        let note = "CrystalDiskMark 2 sends one request at a time, so it cannot show what a queue \
                    brings; its writes end in the drive's cache where that is on.";
        found.note(note.to_owned());
    }
}

/// The settings that are kept, in the order of version 8.
const KEPT: [&str; 8] = ["Profile", "Test", "Test Size", "Mode", "Time", "Date", "OS", "Comment"];

fn setting(run: &mut ImportedRun, text: &str) {
    let Some((name, value)) = text.split_once(':') else { return };
    settings::read(&mut run.work, name.trim(), value.trim());
    if name.trim() == "Date" {
        run.ended_unix_s = date::unix_s(value);
    }
    if KEPT.contains(&name.trim()) && !value.trim().is_empty() {
        run.setup.insert(name.trim().to_owned(), value.trim().to_owned());
    }
}

/// Number of characters of a comment that are kept.
const COMMENT_MAX: usize = 1000;

fn comment(run: &mut ImportedRun, text: &str) {
    let known = run.setup.entry("Comment".to_owned()).or_default();
    if known.chars().count() >= COMMENT_MAX {
        return;
    }
    if !known.is_empty() {
        known.push('\n');
    }
    let free = COMMENT_MAX.saturating_sub(known.chars().count());
    known.extend(text.chars().take(free));
}

/// Takes the line above the next report's banner out of a comment, which ends nowhere else.
fn end_comment(run: &mut ImportedRun) {
    let Some(comment) = run.setup.get_mut("Comment") else { return };
    let (rest, last) = comment.rsplit_once('\n').unwrap_or(("", comment.as_str()));
    let is_line = !last.is_empty() && last.bytes().all(|byte| byte == b'-');
    let length = rest.len();
    if is_line {
        comment.truncate(length);
    }
}

#[cfg(test)]
pub(crate) mod tests;
