//! A command as a workload: what is run, what is filled in, and which numbers are read from what it
//! prints.

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
    /// What is measured.
    pub run: Template,
    /// What goes before each run, unmeasured.
    pub prepare: Option<Template>,
    /// What must succeed after each run for it to count.
    pub check: Option<Template>,
    /// What follows each run, however it ended.
    pub reset: Option<Template>,
    /// How long a run, and each of the others, may take.
    pub timeout: Span,
    /// Numbers that are read from what it prints.
    pub metrics: Vec<Metric>,
    /// The tool whose output it prints, where its numbers are read as that tool's.
    pub format: Option<String>,
    /// The programs of this machine that it calls, for where only those are that are named.
    pub programs: Vec<String>,
    /// What its numbers measure, where the file says it.
    pub measures: Option<Nature>,
}

/// A number in what a command prints.
#[derive(Debug, Clone)]
pub struct Metric {
    /// What it is called.
    pub name: String,
    /// Where it stands.
    pub place: Place,
    /// Its unit; empty where the name says it.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// What a comma in it is, where the file says it.
    pub comma: Option<Comma>,
}

/// What a comma in a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comma {
    /// It stands before the fraction.
    Decimal,
    /// It separates groups of three digits.
    Thousands,
}

/// Where a number stands in what a command prints.
#[derive(Debug, Clone)]
pub enum Place {
    /// The first group of the last match.
    Regex(Regex),
    /// The value at this JSON Pointer (RFC 6901).
    Json(String),
}

impl Command {
    /// The names of its numbers; `None` where only its output says them.
    pub fn metric_names(&self) -> Option<Vec<String>> {
        let own = self.metrics.iter().map(|metric| metric.name.clone());
        let always = [WALL, CPU].map(str::to_owned);
        self.format.is_none().then(|| own.chain(always).collect())
    }

    /// The number that speaks for it.
    pub fn headline(&self) -> &str {
        self.metrics.first().map_or(WALL, |metric| &metric.name)
    }

    /// The command and all that goes with it.
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
    format!("'{}'", word.replace('\'', "'\\''")).into()
}

/// Whether a character means only itself to every shell.
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
