//! A kept run, as shown in a list.

use crate::choice_as_text;
use crate::config::Choice;

/// The source of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `drivelab run`.
    Run,
    /// A study, or one run of it.
    Study,
    /// A benchmark of several phases.
    Suite,
    /// A job file with several jobs.
    Jobs,
    /// The cells of a matrix.
    Matrix,
    /// A measurement for a model of the drive.
    Measure,
    /// A host of a fleet: its inspection, with its runs as parts.
    Fleet,
    /// The I/O bill of a program.
    Cost,
    /// Another tool, whose results were imported.
    Import,
}

impl Choice for Origin {
    const WHAT: &'static str = "origin of a run";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("run", Self::Run),
        ("study", Self::Study),
        ("suite", Self::Suite),
        ("jobs", Self::Jobs),
        ("matrix", Self::Matrix),
        ("measure", Self::Measure),
        ("fleet", Self::Fleet),
        ("cost", Self::Cost),
        ("import", Self::Import),
    ];
}
choice_as_text!(Origin);

/// A kept run, as shown in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Its id in the archive; ids sort in the order in which runs were kept.
    pub id: String,
    /// Time at which it was kept, in milliseconds since 1970.
    pub time_ms: u64,
    /// Its source.
    pub origin: Origin,
    /// Its target.
    pub target: String,
    /// The modelled drive, or the model of the device.
    pub drive: Option<String>,
    /// The machine, as records name it.
    pub host: Option<String>,
    /// The benchmark.
    pub suite: Option<String>,
    /// The user's name for it.
    pub label: Option<String>,
    /// Words to find it by, in order.
    pub tags: Vec<String>,
    /// The commit of the thing that was tested.
    pub commit: Option<String>,
    /// Number of runs that are parts of it.
    pub parts: u64,
    /// The course of its seconds, one character each.
    pub spark: String,
    /// The requested figure, or its first; `None` if it has none.
    pub figure: Option<KeptFigure>,
}

/// A figure of a kept run.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptFigure {
    /// Its name.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its unit; empty if the name contains it.
    pub unit: String,
}
