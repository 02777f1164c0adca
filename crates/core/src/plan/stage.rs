//! The stages of a study.

use crate::choice_as_text;
use crate::config::Choice;

/// A stage, as files and commands spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StageName {
    /// Virtual time over a modelled drive.
    #[default]
    Simulate,
    /// Virtual time over a modelled drive under a real Linux kernel.
    Kernel,
    /// A modelled drive served in real time to this kernel.
    Emulate,
    /// A real file or device.
    Hardware,
}

impl Choice for StageName {
    const WHAT: &'static str = "stage";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("simulate", Self::Simulate),
        ("kernel", Self::Kernel),
        ("emulate", Self::Emulate),
        ("hardware", Self::Hardware),
    ];
}
choice_as_text!(StageName);

/// The sizes of a study's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// The sizes that the study states, which a short run can have.
    #[default]
    Stated,
    /// The sizes of the work that the study repeats.
    Full,
}

impl Choice for Scale {
    const WHAT: &'static str = "scale";
    const NAMES: &'static [(&'static str, Self)] =
        &[("stated", Self::Stated), ("full", Self::Full)];
}
choice_as_text!(Scale);

impl StageName {
    /// True if its time is virtual: each block is then another specimen of its drive, and the same
    /// run made twice is the same.
    pub fn is_virtual(self) -> bool {
        matches!(self, Self::Simulate | Self::Kernel)
    }
}
