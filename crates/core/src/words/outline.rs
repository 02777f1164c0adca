//! Text that one crate supplies and another draws: lines, severities, risks.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How severe it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A misconfiguration or a fault: a measurement now would measure it, or data is at risk.
    Error,
    /// Worth a look before a measurement is trusted.
    Warn,
    /// Good to know.
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

/// Why a part of a line stands out; colour only repeats what the words say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing.
    #[default]
    Plain,
    /// Being a name or a heading.
    Bold,
    /// It is as it should be.
    Good,
    /// It is wrong.
    Wrong(Severity),
}

/// A part of a line that is not broken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// Why it stands out.
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

/// What settings risk when power fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Risk {
    /// In a sentence or two.
    pub sentence: String,
    /// Whether it differs between the arms, so that the choice of an arm changes it.
    pub differs: bool,
}
