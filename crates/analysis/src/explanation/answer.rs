//! An explanation with its limits, and the next measurement.

use super::ranking::Explanation;
use super::separate::Next;

/// An explanation with all that a reader needs to judge it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The ranking.
    pub explanation: Explanation,
    /// The measurement that would separate what remains.
    pub next: Option<Next>,
    /// The target of each arm, if all its runs have one.
    pub targets: [Option<String>; 2],
    /// The drive that was simulated, as it should be.
    pub drive: String,
    /// The number of drives that were simulated.
    pub specimens: u32,
    /// Figures that no modelled drive gives, with the reason.
    pub left_out: Vec<(String, String)>,
    /// Causes that this drive cannot have, with the reason.
    pub impossible: Vec<(String, String)>,
    /// Causes that the model has no mechanism for, with the mechanism.
    pub not_predicted: Vec<(String, String)>,
}

impl Answer {
    /// The commands of the next measurement: one for each arm, or one for both where their targets
    /// are the same or unknown.
    pub fn next_commands(&self) -> Vec<String> {
        let Some(next) = &self.next else { return Vec::new() };
        let targets = match &self.targets {
            [Some(a), Some(b)] if a == b => vec![a.as_str()],
            [Some(a), Some(b)] => vec![a.as_str(), b.as_str()],
            _ => vec!["TARGET"],
        };
        let targets = targets.into_iter().map(shell_word);
        targets.map(|target| format!("drivelab run {target} {}", next.options)).collect()
    }
}

/// A word of a shell's command line.
fn shell_word(text: &str) -> String {
    const PLAIN: &str = "-_./:,=+@%";
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c)) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
