//! Reading ahead of a stream: the next pages are in the registers of their dies when they are asked
//! for.

use std::ops::Range;

use drivelab_core::{Lba, Request};

/// Pages that are read ahead at most.
// Our choice: more do not help, as a request of four pages takes longer on the wire.
pub(super) const PAGES_MAX: u32 = 4;

/// The stream of the latest read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stream {
    /// The end of that read, where its stream continues.
    end: Lba,
    /// True if that read continued the one before it.
    in_sequence: bool,
    /// The first unit that was not read ahead.
    ahead: u32,
}

impl Stream {
    /// Returns true if `request` is at least the third read in sequence: two may be by chance.
    pub(super) fn continues(&self, request: &Request) -> bool {
        self.in_sequence && request.lba == self.end
    }

    /// Follows `request`, whose last unit is before `end`; returns the units to read ahead, at most
    /// `units` behind it, unless the request does not continue the stream.
    pub(super) fn follow(&mut self, request: &Request, end: u32, units: u32) -> Range<u32> {
        let is_next = self.continues(request);
        self.in_sequence = request.lba == self.end;
        self.end = request.end();
        if !is_next {
            self.ahead = end;
            return end..end;
        }
        let first = self.ahead.max(end);
        self.ahead = self.ahead.max(end + units);
        debug_assert!(first <= self.ahead, "what was read ahead is not read again");
        first..self.ahead
    }
}
