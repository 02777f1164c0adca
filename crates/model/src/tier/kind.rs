//! The kinds of tier.

use drivelab_core::choice_as_text;
use drivelab_core::config::Choice;

/// The policy of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierKind {
    /// Copies clean pages that leave memory, as swapcache of `DragonFly` BSD does.
    Swapcache,
    /// Keeps writes and writes them back later, as bcache does.
    Writeback,
}

impl Choice for TierKind {
    const WHAT: &'static str = "kind of tier";
    const NAMES: &'static [(&'static str, Self)] =
        &[("swapcache", Self::Swapcache), ("writeback", Self::Writeback)];
}
choice_as_text!(TierKind);
