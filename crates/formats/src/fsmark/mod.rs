//! `fs_mark`'s table, version 3.3.
//!
//! Each row is an iteration (`-L`), and therefore a run; the metric's name contains the size of the
//! files.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Phase, Remark, Work, WrittenFiles};

use crate::found::{Found, detail, figure, labelled, number, phase};
use crate::sign::in_a_line;

/// The columns, and those added by `-v`: shortest, mean and longest call.
const COLUMNS: [&str; 5] = ["FSUse%", "Count", "Size", "Files/sec", "App Overhead"];
const CALLS: [&str; 6] = ["creat", "write", "fsync", "sync", "close", "unlink"];
const OF_CALL: [&str; 3] = ["min", "avg", "max"];

fn is_header(line: &str) -> bool {
    let mut rest = line.trim();
    for column in COLUMNS {
        let Some(after) = rest.strip_prefix(column) else { return false };
        rest = after.trim_start();
    }
    true
}

/// True if a text contains a table of `fs_mark`.
pub fn is_fsmark(text: &str) -> bool {
    in_a_line(text, COLUMNS[0], is_header)
}

/// Reads every row of a text.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("fs_mark");
    let mut setup = Setup::default();
    let mut table = None;
    for line in lines(text)? {
        let text = line.text.trim();
        let row_of = table.filter(|_| text.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(comment) = text.strip_prefix('#') {
            table = None;
            setup.take(comment.trim(), &mut found);
        } else if is_header(text) {
            // The last column of a row ends where its title does.
            setup.width = if text.contains("  ") { text.chars().count() } else { 0 };
            table = Some(line.number);
        } else if let Some(begin) = row_of {
            match setup.row(line) {
                // The iterations of one call (`-L`) are its trials.
                Ok(row) => found.run_of(begin, "", setup.work.clone(), vec![row]),
                Err(error) => found.damaged(error),
            }
        } else {
            found.unknown(line.number, text);
        }
    }
    found.finish("give the complete output of a call of `fs_mark` that finished")
}

/// The settings in the lines above the table.
#[derive(Debug, Default)]
struct Setup {
    threads: u32,
    /// `NO SYNC: ...`, `INBAND FSYNC: ...`; empty if not stated.
    sync: String,
    work: Work,
    /// Characters of the title of the table; 0 where its columns are not aligned.
    width: usize,
}

impl Setup {
    fn take(&mut self, comment: &str, found: &mut Found) {
        if let Some(rest) = comment.strip_prefix("Version ") {
            let (version, rest) = rest.split_once(',').unwrap_or((rest, ""));
            found.version(version);
            let threads = rest.split_once("thread").map_or("", |(count, _)| count);
            self.threads = threads.trim().parse().unwrap_or(1);
            self.work.set("threads", self.threads);
        } else if let Some(method) = comment.strip_prefix("Sync method:") {
            method.trim().clone_into(&mut self.sync);
            self.work.set("sync", method.split(':').next().unwrap_or_default());
        } else if let Some(info) = comment.strip_prefix("Files info:") {
            self.work.set_size("size", number_after(info, "size ").unwrap_or_default());
            self.work.set_size("bs", number_after(info, "IO size of ").unwrap_or_default());
        } else if let Some(rest) = comment.strip_prefix("Directories:") {
            self.work.set("directories", rest);
        } else if comment.contains("fs_mark") {
            self.command(comment);
        }
    }

    /// `fs_mark -d /mnt -n 1000`, the first line of a run: only it states the number of files.
    fn command(&mut self, text: &str) {
        self.work = Work::default();
        let mut words = text.split_whitespace().skip_while(|word| *word != "-n");
        self.work.set("files", words.nth(1).unwrap_or_default());
    }

    fn row(&self, line: Line) -> Result<Phase, ParseError> {
        let values: Vec<&str> = line.text.split_whitespace().collect();
        let (plain, verbose) = (COLUMNS.len(), COLUMNS.len() + CALLS.len() * OF_CALL.len());
        if values.len() != plain && values.len() != verbose {
            let what = format!(
                "there are {} columns, but `fs_mark` writes {plain}, or {verbose} with `-v`",
                values.len()
            );
            return Err(ParseError::new(line.number, what, "check whether the line is truncated"));
        }
        // Blanks in front of the row belong to its first column.
        if line.text.trim_end().chars().count() < self.width {
            let what = "a row that is cut off";
            return Err(ParseError::new(line.number, what, "check whether the line is truncated"));
        }
        // Every cell is checked, so that a damaged row is refused and not half read.
        for value in &values {
            number(line, value)?;
        }
        let name = format!("files_{}b", values[2]);
        let mut figures = vec![figure(&name, number(line, values[3])?, "1/s", Better::More)];
        figures.push(time(line, &format!("{name}_app_overhead"), values[4])?);
        for (index, value) in values[plain..].iter().enumerate() {
            let (call, of) = (CALLS[index / OF_CALL.len()], OF_CALL[index % OF_CALL.len()]);
            figures.push(time(line, &format!("{name}_{call}_{of}"), value)?);
        }
        Ok(self.phase(&name, figures))
    }

    fn phase(&self, name: &str, figures: Vec<Figure>) -> Phase {
        let mut phase = if self.sync.starts_with("NO SYNC") {
            labelled(name, WrittenFiles::NotSynced.nature(), WrittenFiles::NOT_SYNCED, figures)
        } else if self.sync.is_empty() {
            phase(name, WrittenFiles::Synced.nature(), figures)
        } else {
            let why = "files are synced inside the timed part: it measures how the file system \
                       writes its journal and flushes it";
            labelled(name, WrittenFiles::Synced.nature(), why, figures)
        };
        if self.threads > 1 {
            let why = "the rates of the threads are added up, although not all of them run for the \
                       whole time, so the sum is too high";
            phase.remarks.push(Remark::new(Label::ToolDefect, why));
        }
        phase
    }
}

/// The digits after `start` in a text.
fn number_after<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.split_once(start)?.1.split(|c: char| !c.is_ascii_digit()).next()
}

fn time(line: Line, name: &str, value: &str) -> Result<Figure, ParseError> {
    Ok(detail(name, number(line, value)?, "us", Better::Less))
}

#[cfg(test)]
mod tests;
