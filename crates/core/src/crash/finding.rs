//! The result of checking a file system after a power cut.

use crate::choice_as_text;
use crate::config::Choice;

/// The result of checking a file system after a power cut, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// All acknowledged data is present.
    Whole,
    /// Acknowledged data is missing.
    Lost,
    /// Data appeared that was never written, or the file system is damaged.
    Corrupt,
}

impl Choice for Finding {
    const WHAT: &'static str = "finding";
    const NAMES: &'static [(&'static str, Self)] =
        &[("whole", Self::Whole), ("lost", Self::Lost), ("corrupt", Self::Corrupt)];
}
choice_as_text!(Finding);
