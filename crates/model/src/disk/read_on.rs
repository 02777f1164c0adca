//! Start and use of read-ahead by the disk.

use std::ops::Range;

use drivelab_core::{Lba, Sectors, Time};

use super::Disk;
use super::mechanics::TransferEnd;
use super::read_ahead::ReadAhead;
use crate::stack::Mechanism as _;
use crate::watch::Step;

impl Disk {
    /// Lets the head follow the stream after a read until another access begins.
    pub(super) fn start_read_ahead(&mut self, ended: TransferEnd, read: Range<Lba>) {
        let size = self.read_ahead_from(read.end);
        if self.parts.read_segments > 0 && size > Sectors::ZERO {
            self.ahead = ReadAhead::after(&self.parts.mechanics, ended, read, size);
            self.note_ahead();
        }
    }

    /// The sectors behind `end` that follow one another on the medium, as many as are read ahead.
    fn read_ahead_from(&self, end: Lba) -> Sectors {
        let size = self.parts.read_ahead;
        let Some(shingled) = &self.shingled else { return size };
        // What is in the media cache is elsewhere.
        let elsewhere = shingled.log.first_from(end.get());
        elsewhere.map_or(size, |first| size.min(Sectors::new(first - end.get())))
    }

    fn note_ahead(&mut self) {
        if let Some((from, to)) = self.ahead.map(|ahead| ahead.range()) {
            self.note(|| Step::ReadsAhead { from, to });
        }
    }

    /// Buffers the sectors that read-ahead has passed by `now`.
    pub(super) fn buffer_read_ahead(&mut self, now: Time) {
        if let Some(ahead) = &mut self.ahead {
            self.arm = ahead.advance(&self.parts.mechanics, now, &mut self.reads);
        }
    }

    /// The range that read-ahead has buffered at `now`; `None` if the head stands by.
    pub(super) fn head_of_read_ahead(&mut self, now: Time) -> Option<(Lba, Lba)> {
        self.buffer_read_ahead(now);
        self.ahead.and_then(|ahead| ahead.streaming())
    }

    /// Extends read-ahead, of which the host has consumed the stream up to `end`.
    pub(super) fn extend_read_ahead(&mut self, now: Time, end: Lba) {
        let size = self.read_ahead_from(end);
        if let Some(ahead) = &mut self.ahead {
            ahead.extend(&self.parts.mechanics, self.arm, now, end, size);
            self.note_ahead();
        }
    }
}
