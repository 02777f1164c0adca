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
}

impl Choice for Level {
    const WHAT: &'static str = "RAID level";
    const NAMES: &'static [(&'static str, Self)] =
        &[("0", Self::Raid0), ("1", Self::Raid1), ("5", Self::Raid5)];
}
choice_as_text!(Level);
