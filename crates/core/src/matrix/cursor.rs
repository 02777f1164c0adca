//! The position at which sequential threads of one drive continue.

use crate::choice_as_text;
use crate::config::Choice;

/// The position at which sequential threads of one drive continue reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cursor {
    /// Each in its own part of the region.
    Own,
    /// All from one position: the next free thread takes the next block.
    Shared,
}

impl Choice for Cursor {
    const WHAT: &'static str = "cursor";
    const NAMES: &'static [(&'static str, Self)] = &[("own", Self::Own), ("shared", Self::Shared)];
}
choice_as_text!(Cursor);
