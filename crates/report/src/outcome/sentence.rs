//! Statements that open with the words that matter, and how they stand in text.

use drivelab_analysis::outcome::Outcome;
use drivelab_stats::Verdict;

use crate::text::{BOLD, Look, style};

/// A statement with its opening words apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// `No practical difference:`
    pub(crate) lead: String,
    pub(crate) body: String,
    /// Its conclusion, if it is about one verdict.
    pub(crate) verdict: Option<Verdict>,
}

impl Sentence {
    pub(crate) fn new(lead: &str, body: String, verdict: Option<Verdict>) -> Self {
        Self { lead: lead.to_owned(), body, verdict }
    }

    /// Parts that may themselves hold commas; nothing where there are none.
    pub(crate) fn listing(
        lead: &str,
        parts: impl Iterator<Item = String>,
        verdict: Option<Verdict>,
    ) -> Option<Self> {
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty()).then(|| Self::new(lead, format!("{}.", parts.join("; ")), verdict))
    }

    pub(crate) fn text(&self, look: Look) -> String {
        let style = self.verdict.map_or(BOLD, style);
        let style = if style.is_plain() { BOLD } else { style };
        let mut text = look.led(&self.lead, style, &self.body, 2);
        text.push('\n');
        text
    }
}

/// A sentence for each of `leads` whose verdict some outcomes have, and one for those that depend
/// on the drive.
pub(crate) fn by_verdict(
    outcomes: &[&Outcome],
    leads: [(Verdict, &str); 5],
    about: impl Fn(&Outcome) -> String,
) -> Vec<Sentence> {
    let sentence = |(verdict, depends, lead): (Verdict, bool, &str)| {
        let those = outcomes.iter().filter(|it| (it.verdict(), it.depends()) == (verdict, depends));
        Sentence::listing(lead, those.map(|outcome| about(outcome)), Some(verdict))
    };
    let leads = leads.map(|(verdict, lead)| (verdict, false, lead));
    let depends = (Verdict::Inconclusive, true, "Depends on the drive:");
    leads.into_iter().chain([depends]).filter_map(sentence).collect()
}
