//! Results of other tools: what they say, and what they may be taken for.

pub mod bonnie;

mod json;
mod label;
mod text;

pub use json::{IMPORT_SCHEMA, json};
pub(crate) use label::names as label_names;
pub use label::{Label, Remark};
pub use text::text;

use drivelab_stats::Better;

use crate::parse::ParseError;

/// What was read from a foreign result.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The tool, `bonnie++`.
    pub tool: String,
    /// Its version as it says itself; several, where lines differ.
    pub tool_version: String,
    /// Every number.
    pub results: Vec<ImportedResult>,
    /// What was not understood, or holds no number.
    pub unknown: Vec<String>,
    /// What was put right.
    pub notes: Vec<String>,
}

/// One number.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedResult {
    /// The line it comes from; lines are runs.
    pub line: usize,
    /// What the file calls the machine or configuration.
    pub arm: String,
    /// What was measured.
    pub metric: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// How many runs it is made of.
    pub n: u32,
    /// Standard deviation over those runs, where the tool gives one.
    pub spread: Option<f64>,
    /// It only accompanies another number (processor load, longest wait).
    pub is_detail: bool,
    /// What it is, and why.
    pub remarks: Vec<Remark>,
}

/// Formats that can be told apart by their text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// bonnie++ CSV 1.03, 1.96, 1.97 or 1.98.
    Bonnie,
}

/// The format of a text, or `None` where it is none that is known.
pub fn detect(text: &str) -> Option<Format> {
    bonnie::is_bonnie(text).then_some(Format::Bonnie)
}

/// Reads a foreign result of any known format.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    match detect(text) {
        Some(Format::Bonnie) => bonnie::parse(text),
        None => {
            // What is empty or binary gets its own message.
            let is_empty = crate::parse::lines(text)?.is_empty();
            let what = if is_empty {
                "there is nothing in it"
            } else {
                "this is no result of a known tool"
            };
            let hint = "give bonnie++'s CSV line (versions 1.03, 1.96, 1.97 or 1.98)";
            Err(ParseError::new(0, what, hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_apart() {
        let check = |text, expected| assert_eq!(detect(text), expected, "{text}");
        check("1.98,2.00a,vm,1,1795319432,64M,,8192,5", Some(Format::Bonnie));
        check("block,arm,value\n1,ide,75\n", None);
        check("{\"schema\": \"drivelab.run/1\"}", None);
        check("", None);
    }

    #[test]
    fn what_is_no_result_is_refused() {
        let check = |text, expected: &str| {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check("", "there is nothing in it");
        check("hello", "this is no result of a known tool");
        check("\0\0\0", "line 1: this is binary data");
    }
}
