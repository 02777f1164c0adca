//! Start and use of read-ahead by the disk.

use std::ops::Range;

use drivelab_core::{Lba, Time};

use super::Disk;
use super::mechanics::TransferEnd;
use super::read_ahead::ReadAhead;
use crate::stack::Mechanism as _;
use crate::watch::Step;

impl Disk {
    /// Lets the head follow the stream after a read until another access begins.
    pub(super) fn start_read_ahead(&mut self, ended: TransferEnd, read: Range<Lba>) {
        if self.parts.read_segments > 0 {
            let size = self.parts.read_ahead;
            self.ahead = ReadAhead::after(&self.parts.mechanics, ended, read, size);
            self.note_ahead();
        }
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
        if let Some(ahead) = &mut self.ahead {
            ahead.extend(&self.parts.mechanics, self.arm, now, end, self.parts.read_ahead);
            self.note_ahead();
        }
    }
}
