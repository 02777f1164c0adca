//! Words that one crate knows and another draws: lines, how bad something is, what is at risk.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A misconfiguration or a fault: a measurement now measures it, or data is at risk.
    Error,
    /// Worth a look before a measurement is believed.
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

/// What a part of a line stands out for; colour only repeats what the words say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing.
    #[default]
    Plain,
    /// Being a name or a heading.
    Bold,
    /// Being as it should.
    Good,
    /// Being wrong.
    Wrong(Severity),
}

/// A part of a line that is not broken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// What it stands out for.
    pub tone: Tone,
    /// Its words.
    pub text: String,
}

/// Parts side by side, then text that goes on in further lines where it is long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// What stands first.
    pub parts: Vec<Part>,
    /// What is wrapped.
    pub body: String,
    /// Columns by which further lines are indented.
    pub hanging: usize,
}

impl Line {
    /// A line of text alone.
    pub fn new(body: impl Into<String>, hanging: usize) -> Self {
        Self { parts: Vec::new(), body: body.into(), hanging }
    }

    /// Puts a part in front of the text, behind the parts that are there.
    #[must_use]
    pub fn part(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.parts.push(Part { tone, text: text.into() });
        self
    }
}

/// What settings risk when power fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Risk {
    /// In a sentence or two.
    pub sentence: String,
    /// Whether it depends on the arm, so that the choice of an arm changes it.
    pub differs: bool,
}
