//! A verdict as a coloured sign.

use drivelab_analysis::outcome::Outcome;
use drivelab_stats::Verdict;

/// The class that colours a verdict.
pub(crate) fn class(verdict: Verdict) -> &'static str {
    signs(verdict)[0]
}

/// The class that colours a verdict, with a distinct sign, so that the colour is not needed.
fn signs(verdict: Verdict) -> [&'static str; 2] {
    match verdict {
        Verdict::Faster => ["faster", "\u{25b2}"],
        Verdict::Slower => ["slower", "\u{25bc}"],
        Verdict::Different => ["different", "\u{2260}"],
        Verdict::NoPracticalDifference => ["same", "\u{2248}"],
        Verdict::Inconclusive => ["open", "?"],
    }
}

/// The sign and the word.
pub(crate) fn badge(outcome: &Outcome) -> String {
    let [class, sign] = signs(outcome.verdict());
    let word = outcome.word();
    format!("<span class=\"badge {class}\"><span aria-hidden=\"true\">{sign}</span> {word}</span>")
}
