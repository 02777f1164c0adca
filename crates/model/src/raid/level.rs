//! The levels of RAID.

use drivelab_core::choice_as_text;
use drivelab_core::config::Choice;

/// The redundancy of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Striped, without redundancy.
    Raid0,
    /// Mirrored on every member.
    Raid1,
    /// Striped with parity that moves from member to member.
    Raid5,
    /// Striped with two parities that move from member to member.
    Raid6,
    /// Striped, each chunk on two members.
    Raid10,
}

impl Level {
    /// The fewest members.
    pub fn least(self) -> usize {
        match self {
            Self::Raid0 | Self::Raid1 | Self::Raid10 => 2,
            Self::Raid5 => 3,
            Self::Raid6 => 4,
        }
    }

    /// Returns true if it computes parities.
    pub(crate) fn has_parity(self) -> bool {
        matches!(self, Self::Raid5 | Self::Raid6)
    }
}

impl Choice for Level {
    const WHAT: &'static str = "RAID level";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("0", Self::Raid0),
        ("1", Self::Raid1),
        ("5", Self::Raid5),
        ("6", Self::Raid6),
        ("10", Self::Raid10),
    ];
}
choice_as_text!(Level);
