//! What a die can be asked for.

use drivelab_core::Span;

use super::timing::FlashRules;

/// What a die can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A read for the host: it overtakes everything but other such reads.
    Read,
    /// A read for collection: it waits its turn.
    Copy,
    /// A program.
    Program,
    /// An erase.
    Erase,
    /// Takes no time, but waits its turn: a part of a block that is erased with another part.
    Release,
}

/// A command to one die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// What to do.
    pub kind: Kind,
    /// The page's number in its block, which decides its kind of page; [`super::SLC_PAGE`] where it
    /// is written as SLC.
    pub page: u32,
    /// Units moved over the channel.
    pub units: u32,
    /// What the caller recognises it by.
    pub token: u32,
}

impl Command {
    /// How long the cells are busy with it.
    #[inline]
    pub(super) fn array_time(&self, rules: &FlashRules) -> Span {
        match self.kind {
            Kind::Read | Kind::Copy => rules.times_of(self.page).read,
            Kind::Program => rules.times_of(self.page).program,
            Kind::Erase => rules.erase,
            Kind::Release => Span::ZERO,
        }
    }

    /// How long the channel is busy with it.
    #[inline]
    pub(super) fn channel_time(&self, rules: &FlashRules) -> Span {
        rules.channel_command + rules.transfer * u64::from(self.units)
    }

    #[inline]
    pub(super) const fn reads(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Copy)
    }
}
