//! What the drive's own processor needs per command.

use drivelab_core::Span;

/// Command overheads: from the arrival of a command until its seek begins (miss), or until its
/// data moves over the link (hit).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overheads {
    pub(crate) read_miss: Span,
    pub(crate) read_hit: Span,
    pub(crate) write_miss: Span,
    pub(crate) write_hit: Span,
}
