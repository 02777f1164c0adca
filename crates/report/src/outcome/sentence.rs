//! Statements that open with the words that matter, and how they stand in text.

use drivelab_stats::Verdict;

use crate::text::{BOLD, Look, style};

/// A statement with its opening words apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// `No practical difference:`
    pub lead: String,
    /// The rest.
    pub body: String,
    /// What it concludes, where it is about one verdict.
    pub verdict: Option<Verdict>,
}

impl Sentence {
    pub(crate) fn new(lead: &str, body: String, verdict: Option<Verdict>) -> Self {
        Self { lead: lead.to_owned(), body, verdict }
    }

    /// A line of text, or several.
    pub(crate) fn text(&self, look: Look) -> String {
        let style = self.verdict.map_or(BOLD, style);
        let style = if style.is_plain() { BOLD } else { style };
        let mut text = look.led(&self.lead, style, &self.body, 2);
        text.push('\n');
        text
    }
}

/// Parts of a sentence that may themselves hold commas.
pub(crate) fn join(parts: &[String]) -> String {
    parts.join("; ")
}
