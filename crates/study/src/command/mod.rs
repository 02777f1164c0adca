//! A command as a workload: the command line, its placeholders, and the numbers read from its
//! output.

mod context;
mod reading;
mod template;

pub use reading::{AsTool, Printed};
pub use template::{Filling, Template, substitute};

use std::borrow::Cow;

use drivelab_core::record::{Better, Nature};
use drivelab_core::units::Span;
use regex_lite::Regex;

/// The time from its start to its end, in nanoseconds.
pub const WALL: &str = "wall_ns";
/// Processor time of it and of the processes that it waited for, in nanoseconds.
pub const CPU: &str = "cpu_ns";

/// A command as a workload.
#[derive(Debug, Clone)]
pub struct Command {
    /// The measured command.
    pub run: Template,
    /// The command before each run, unmeasured.
    pub prepare: Option<Template>,
    /// The command that must succeed after each run for it to count.
    pub check: Option<Template>,
    /// The command after each run, regardless of its outcome.
    pub reset: Option<Template>,
    /// Time limit of a run, and of each of the other commands.
    pub timeout: Span,
    /// Numbers that are read from what it prints.
    pub metrics: Vec<Metric>,
    /// The tool whose output it prints, where its numbers are read as that tool's.
    pub format: Option<String>,
    /// Programs of this machine that it calls, for stages that have no others.
    pub programs: Vec<String>,
    /// The nature of its numbers, where the file states it.
    pub measures: Option<Nature>,
}

/// A number in the output of a command.
#[derive(Debug, Clone)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Its position in the output.
    pub source: Source,
    /// Its unit; empty where the name implies it.
    pub unit: String,
    /// The better direction.
    pub better: Better,
    /// The meaning of a comma in it, where the file states it.
    pub comma: Option<Comma>,
}

/// The meaning of a comma in a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comma {
    /// It precedes the fraction.
    Decimal,
    /// It separates groups of three digits.
    Thousands,
}

/// The position of a number in the output of a command.
#[derive(Debug, Clone)]
pub enum Source {
    /// The first group of the last match.
    Regex(Regex),
    /// The value at this JSON Pointer (RFC 6901).
    Json(String),
}

impl Command {
    /// The names of its numbers; `None` where only its output has them.
    pub fn metric_names(&self) -> Option<Vec<String>> {
        if self.format.is_some() {
            return None;
        }
        let own = self.metrics.iter().map(|metric| metric.name.clone());
        Some(own.chain([WALL, CPU].map(str::to_owned)).collect())
    }

    /// The number shown first.
    pub fn headline(&self) -> &str {
        self.metrics.first().map_or(WALL, |metric| &metric.name)
    }

    /// The command with all commands around it.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let others = [&self.prepare, &self.check, &self.reset];
        std::iter::once(&self.run).chain(others.into_iter().flatten())
    }
}

/// A word as a POSIX shell takes it.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    // Between single quotes a shell reads everything as it is, except a quote.
    format!("'{}'", word.replace('\'', "'\\''")).into()
}

/// True if a character is literal in every shell.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_words_back() {
        let check = |word: &str, expected: &str| assert_eq!(quoted(word), expected);
        check("drive:a,b=1", "drive:a,b=1");
        check("my study.toml", "'my study.toml'");
        check("it's", "'it'\\''s'");
        check("$HOME", "'$HOME'");
        check("~/x", "'~/x'");
        check("", "''");
    }
}
