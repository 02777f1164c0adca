//! Where sequential threads of one drive go on.

use crate::choice_as_text;
use crate::config::Choice;

/// Where sequential threads of one drive go on reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cursor {
    /// Each in a part of the region of its own.
    Own,
    /// All in one place: whoever is free takes the next block.
    Shared,
}

impl Choice for Cursor {
    const WHAT: &'static str = "cursor";
    const NAMES: &'static [(&'static str, Self)] = &[("own", Self::Own), ("shared", Self::Shared)];
}
choice_as_text!(Cursor);
