//! A kept run as a list shows it.

use crate::choice_as_text;
use crate::config::Choice;

/// What made a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `drivelab run`.
    Run,
    /// A study, of which it is one run.
    Study,
    /// A benchmark of several phases.
    Suite,
    /// Another tool, whose results were imported.
    Import,
}

impl Choice for Origin {
    const WHAT: &'static str = "origin of a run";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("run", Self::Run),
        ("study", Self::Study),
        ("suite", Self::Suite),
        ("import", Self::Import),
    ];
}
choice_as_text!(Origin);

/// A kept run as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Its name in the archive, which sorts as runs were kept.
    pub id: String,
    /// When it was kept, in milliseconds since 1970.
    pub time_ms: u64,
    /// What made it.
    pub origin: Origin,
    /// What was measured.
    pub target: String,
    /// The modelled drive, or the model of the device.
    pub drive: Option<String>,
    /// The machine, as records name it.
    pub host: Option<String>,
    /// The benchmark.
    pub suite: Option<String>,
    /// The user's name for it.
    pub label: Option<String>,
    /// What its seconds look like, one character each.
    pub spark: String,
    /// The figure asked for, or its first; `None` where it has none.
    pub figure: Option<KeptFigure>,
}

/// A figure of a kept run.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptFigure {
    /// Its name.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its unit; empty where the name says it.
    pub unit: String,
}
