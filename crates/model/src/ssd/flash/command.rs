//! Commands to a die.

use drivelab_core::Span;

use super::timing::FlashRules;

/// Kinds of command to a die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A read for the host, which overtakes all commands but other such reads.
    Read,
    /// A read for collection, in order of arrival.
    Copy,
    /// A program.
    Program,
    /// An erase.
    Erase,
    /// A command without duration, in order of arrival: the erase of a block of which another
    /// part has been erased.
    Release,
}

/// A command to one die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// The kind of command.
    pub kind: Kind,
    /// The firmware looks for the page in the register before it reads the cells.
    pub looks: bool,
    /// The page's index in its block, which determines its kind; [`super::SLC_PAGE`] for a page
    /// written as SLC.
    pub page: u32,
    /// Units moved over the channel.
    pub units: u32,
    /// The page among all pages of the flash, which a read leaves in the die's register;
    /// [`Command::NO_PAGE`] for commands that leave none.
    pub register: u32,
    /// The caller's identification.
    pub token: u32,
}

impl Command {
    /// A number that no page has.
    pub const NO_PAGE: u32 = u32::MAX;

    /// A command that leaves no page in the register.
    #[inline]
    pub fn new(kind: Kind, page: u32, units: u32, token: u32) -> Self {
        Self { kind, looks: false, page, units, register: Self::NO_PAGE, token }
    }

    /// Time of the cells.
    #[inline]
    pub(super) fn array_time(&self, rules: &FlashRules) -> Span {
        match self.kind {
            Kind::Read | Kind::Copy => rules.times_of(self.page).read,
            Kind::Program => rules.times_of(self.page).program,
            Kind::Erase => rules.erase,
            Kind::Release => Span::ZERO,
        }
    }

    /// Time of the channel.
    #[inline]
    pub(super) fn channel_time(&self, rules: &FlashRules) -> Span {
        rules.channel_command + rules.transfer * u64::from(self.units)
    }

    #[inline]
    pub(super) const fn reads(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Copy)
    }
}
