//! Reads, writes and mixtures.

use crate::choice_as_text;
use crate::config::Choice;

/// The kinds of request and the order of their addresses, under fio's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rw {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential reads and writes over one shared cursor.
    ReadWrite,
    /// Random reads and writes.
    RandRw,
    /// Deallocation in order.
    Trim,
    /// Deallocation at random.
    RandTrim,
}

impl Choice for Rw {
    const WHAT: &'static str = "kind of I/O (`rw`)";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("read", Self::Read),
        ("write", Self::Write),
        ("randread", Self::RandRead),
        ("randwrite", Self::RandWrite),
        ("readwrite", Self::ReadWrite),
        ("rw", Self::ReadWrite),
        ("randrw", Self::RandRw),
        ("trim", Self::Trim),
        ("randtrim", Self::RandTrim),
    ];
}
choice_as_text!(Rw);

impl Rw {
    /// Whether addresses are drawn at random.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite | Self::RandRw | Self::RandTrim)
    }

    /// Whether any request destroys existing data.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::RandRead)
    }

    /// Whether any request reads.
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::RandWrite) && !self.trims()
    }

    /// Whether all requests deallocate.
    pub const fn trims(self) -> bool {
        matches!(self, Self::Trim | Self::RandTrim)
    }

    /// Whether any request carries data to the target.
    pub const fn sends(self) -> bool {
        self.writes() && !self.trims()
    }
}
