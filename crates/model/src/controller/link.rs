//! The speed of a SATA link.

use drivelab_core::choice_as_text;
use drivelab_core::config::Choice;

/// The speed of a SATA link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Link {
    /// 1.5 Gb/s, 150 MB/s of data.
    Sata1,
    /// 3 Gb/s, 300 MB/s of data.
    Sata2,
    /// 6 Gb/s, 600 MB/s of data.
    Sata3,
}

impl Choice for Link {
    const WHAT: &'static str = "link speed in Gb/s";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("1.5", Self::Sata1),
        ("3", Self::Sata2),
        ("6", Self::Sata3),
        ("3.0", Self::Sata2),
        ("6.0", Self::Sata3),
    ];
}
choice_as_text!(Link);
