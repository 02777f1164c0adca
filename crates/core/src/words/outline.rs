//! Text that one crate supplies and another draws: lines, severities, risks.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A misconfiguration or a fault: a measurement now would measure it, or data is at risk.
    Error,
    /// To be checked before a measurement is trusted.
    Warn,
    /// Information only.
    Info,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
        })
    }
}

/// The reason why a part of a line stands out; colour only repeats what the words say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// It does not stand out.
    #[default]
    Plain,
    /// A name or a heading.
    Bold,
    /// A good state.
    Good,
    /// A fault.
    Wrong(Severity),
}

/// A part of a line that is not broken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// The reason why it stands out.
    pub tone: Tone,
    /// Its words.
    pub text: String,
}

/// Parts side by side, then text that is wrapped into further lines if it is long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// The parts at the beginning.
    pub parts: Vec<Part>,
    /// The text that is wrapped.
    pub body: String,
    /// Columns by which further lines are indented.
    pub hanging: usize,
}

impl Line {
    /// A line of text alone.
    pub fn new(body: impl Into<String>, hanging: usize) -> Self {
        Self { parts: Vec::new(), body: body.into(), hanging }
    }

    /// Adds a part in front of the text, after the existing parts.
    #[must_use]
    pub fn part(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.parts.push(Part { tone, text: text.into() });
        self
    }
}

/// The risk of settings in a power failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Risk {
    /// In a sentence or two.
    pub sentence: String,
    /// True if it differs between the arms, so that the choice of an arm changes it.
    pub differs: bool,
}
