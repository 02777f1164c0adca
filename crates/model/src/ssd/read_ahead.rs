//! Reading ahead of a stream: the next pages are in the registers of their dies when they are asked
//! for.

use drivelab_core::{Lba, Request, Time};

use super::Ssd;
use super::ftl::{Slot, Unit};

/// Pages that are read ahead at most.
// Our choice: more do not help, as a request of four pages takes longer on the wire.
const PAGES: u32 = 4;

/// The stream of the latest read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stream {
    /// The end of that read, where its stream continues.
    end: Lba,
    /// That read continued the one before it.
    in_sequence: bool,
    /// The first unit that was not read ahead.
    ahead: u32,
}

impl Stream {
    /// Returns true if `request` is at least the third read in sequence: two may be by chance.
    pub(super) fn continues(&self, request: &Request) -> bool {
        self.in_sequence && request.lba == self.end
    }
}

impl Ssd {
    /// Reads as many pages ahead as `request` took, if it continues the latest read and is the only
    /// command: others need the dies.
    pub(super) fn follow(&mut self, now: Time, request: &Request, reads: u32) {
        let continues = self.stream.continues(request);
        self.stream.in_sequence = request.lba == self.stream.end;
        self.stream.end = request.end();
        let (first, end) = self.parts.units(request);
        if !continues {
            self.stream.ahead = end;
        }
        if !continues || self.under_way != 1 {
            return;
        }
        debug_assert!(first < end, "a read without data");
        let backend = &self.parts.backend;
        let page = backend.units_per_page * backend.planes;
        let until = (end + page * reads.min(PAGES)).min(backend.shape.units);
        let mut last: Option<Slot> = self.backend.on_flash(Unit(end - 1));
        for unit in self.stream.ahead.max(end)..until {
            let Some(slot) = self.backend.on_flash(Unit(unit)) else { continue };
            // The rest of a page is in the register with its beginning.
            if !last.is_some_and(|last| self.backend.same_page(last, slot)) {
                self.backend.read_ahead(now, slot);
            }
            last = Some(slot);
        }
        self.stream.ahead = self.stream.ahead.max(until);
    }
}
