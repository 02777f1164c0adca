//! When the head reads on, and what commands find of it.

use std::ops::Range;

use drivelab_core::{Lba, Time};

use super::Disk;
use super::mechanics::TransferEnd;
use super::read_ahead::ReadAhead;
use crate::stack::Mechanism as _;
use crate::watch::Step;

impl Disk {
    /// After a read the head stays with the stream until something else is to be done.
    pub(super) fn read_on(&mut self, ended: TransferEnd, read: Range<Lba>) {
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

    /// Takes over what read-ahead has brought in up to `now`.
    pub(super) fn buffer_read_ahead(&mut self, now: Time) {
        if let Some(ahead) = &mut self.ahead {
            self.arm = ahead.advance(&self.parts.mechanics, now, &mut self.reads);
        }
    }

    /// What read-ahead holds at `now`, up to where the head is; `None` where the head stands by.
    pub(super) fn head_of_read_ahead(&mut self, now: Time) -> Option<(Lba, Lba)> {
        self.buffer_read_ahead(now);
        self.ahead.and_then(|ahead| ahead.streaming())
    }

    /// The host has taken the stream up to `end`: read-ahead may go on beyond.
    pub(super) fn extend_read_ahead(&mut self, now: Time, end: Lba) {
        if let Some(ahead) = &mut self.ahead {
            ahead.extend(&self.parts.mechanics, self.arm, now, end, self.parts.read_ahead);
            self.note_ahead();
        }
    }
}
