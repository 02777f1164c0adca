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
    /// Deallocation in order, each block written after it.
    TrimWrite,
    /// Deallocation at random, each block written after it.
    RandTrimWrite,
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
        ("trimwrite", Self::TrimWrite),
        ("randtrimwrite", Self::RandTrimWrite),
    ];

    fn is_destructive(self) -> bool {
        self.writes()
    }
}
choice_as_text!(Rw);

impl Rw {
    /// True if addresses are drawn at random.
    pub const fn is_random(self) -> bool {
        matches!(
            self,
            Self::RandRead | Self::RandWrite | Self::RandRw | Self::RandTrim | Self::RandTrimWrite
        )
    }

    /// True if any request destroys existing data.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::RandRead)
    }

    /// True if any request reads.
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::RandWrite) && !self.trims()
    }

    /// True if all requests deallocate.
    pub const fn only_trims(self) -> bool {
        matches!(self, Self::Trim | Self::RandTrim)
    }

    /// True if each block is deallocated, and then written.
    pub const fn trims_and_writes(self) -> bool {
        matches!(self, Self::TrimWrite | Self::RandTrimWrite)
    }

    /// True if any request deallocates.
    pub const fn trims(self) -> bool {
        self.only_trims() || self.trims_and_writes()
    }

    /// True if any request carries data to the target.
    pub const fn sends(self) -> bool {
        self.writes() && !self.only_trims()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_destroys_data_is_not_suggested_lightly() {
        let check = |typed: &str, meant: Option<&str>| {
            let error = typed.parse::<Rw>().unwrap_err();
            let suggested = error.0.split("did you mean `").nth(1);
            assert_eq!(suggested.and_then(|rest| rest.split('`').next()), meant, "{error}");
        };
        check("random", Some("randread"));
        check("rand", Some("randread"));
        check("randwriet", Some("randwrite"));
        check("trimm", Some("trim"));
        check("randdelete", Some("randread"));
        check("seq", None);
    }
}
