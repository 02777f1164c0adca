//! The steps of a store, from which [`super::Replay`] rebuilds it as it was at any instant.

use std::io;

use drivelab_core::disk::Data;
use drivelab_core::{Bytes, Destaged, Lba, Sectors, Time};

use super::in_flight_trim::TrimId;

/// A step; writes are named by their positions in the order of submissions.
#[derive(Debug, Clone)]
pub enum Step {
    /// A write is submitted.
    Write {
        /// Its first sector.
        lba: Lba,
        /// Its data.
        data: Data,
    },
    /// A write is acknowledged.
    Completed {
        /// The write.
        write: u64,
        /// True if it is on the medium.
        durable: bool,
    },
    /// A write failed.
    Forgotten(u64),
    /// Cached data has reached the medium.
    Destaged(Destaged),
    /// A flush is submitted.
    Flush,
    /// A flush is acknowledged.
    Flushed,
    /// A flush was acknowledged without being carried out, at once.
    Lied,
    /// A trim is submitted.
    Trim {
        /// Its first sector.
        lba: Lba,
        /// Its length.
        sectors: Sectors,
    },
    /// A trim is acknowledged.
    Trimmed(TrimId),
    /// A trim was abandoned.
    TrimForgotten(TrimId),
}

/// All steps of a store, in order of time.
#[derive(Debug)]
pub struct Recording {
    pub(super) now: Time,
    pub(super) steps: Vec<(Time, Step)>,
    room: u64,
}

impl Recording {
    pub(super) fn new(limit: Bytes) -> Self {
        Self { now: Time::ZERO, steps: Vec::new(), room: limit.get() }
    }

    pub(super) fn add(&mut self, step: Step) -> io::Result<()> {
        let data = match &step {
            Step::Write { data: Data::Bytes(bytes), .. } => bytes.len(),
            _ => 0,
        };
        // The step itself counts as well, or many small ones would exceed the limit.
        let taken = (data + size_of::<(Time, Step)>()) as u64;
        self.room = self.room.checked_sub(taken).ok_or(io::ErrorKind::StorageFull)?;
        debug_assert!(
            self.steps.last().is_none_or(|(at, _)| *at <= self.now),
            "steps are recorded in the order of time"
        );
        self.steps.push((self.now, step));
        Ok(())
    }

    /// The steps, with their times.
    pub fn steps(&self) -> &[(Time, Step)] {
        &self.steps
    }
}
