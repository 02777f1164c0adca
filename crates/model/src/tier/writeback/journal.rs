//! The journal of a writeback tier, whose keys survive a power cut.
//!
//! A write is answered once its data is on the fast drive, but the map that finds the data is
//! durable only with the next write of the journal: after a delay, or immediately for a flush.

use drivelab_core::{Destaged, Lba, Request, Sectors, Span, Time};

/// `journal_delay_ms`.
const DELAY: Span = Span::from_ms(100);
/// Size of the journal, a ring at the beginning of the fast drive.
pub(super) const SECTORS: u64 = 16 * 1024;
const ENTRY: u64 = 8;

/// Data that a write of the journal makes durable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) lba: Lba,
    pub(super) sectors: Sectors,
    pub(super) submitted: Time,
}

impl Key {
    pub(super) const fn durable(&self, at: Time) -> Destaged {
        Destaged { lba: self.lba, sectors: self.sectors, taken: self.submitted, at }
    }
}

/// The journal.
#[derive(Debug, Default)]
pub(super) struct Journal {
    keys: Vec<Key>,
    waiters: Vec<usize>,
    /// Keys and waiters of the write under way.
    going: Option<(Vec<Key>, Vec<usize>)>,
    due: Option<Time>,
    at: u64,
}

impl Journal {
    /// Adds the key of data on the fast drive.
    pub(super) fn add(&mut self, now: Time, key: Key) {
        self.keys.push(key);
        // The delay counts from the oldest key: a stream of writes must not postpone it.
        self.due.get_or_insert(now + DELAY);
    }

    /// Makes `request` wait until all keys are in the journal.
    pub(super) fn wait(&mut self, now: Time, request: usize) {
        self.waiters.push(request);
        self.due = Some(now);
    }

    /// Returns the time of the next write of the journal.
    pub(super) fn due(&self) -> Option<Time> {
        self.due.filter(|_| self.going.is_none())
    }

    /// Begins a write: a flush of the fast drive's cache, then the entry.
    pub(super) fn begin(&mut self) {
        // Later keys and waiters belong to the next write.
        let taken = (std::mem::take(&mut self.keys), std::mem::take(&mut self.waiters));
        debug_assert!(self.going.is_none(), "two writes of the journal");
        self.going = Some(taken);
        self.due = None;
    }

    /// Returns the entry to write after the flush.
    pub(super) fn entry(&mut self) -> Request {
        let lba = Lba::new(self.at);
        debug_assert!(self.at + ENTRY <= SECTORS, "the ring holds whole entries");
        self.at = (self.at + ENTRY) % SECTORS;
        Request { fua: true, ..Request::write(0, lba, Sectors::new(ENTRY)) }
    }

    /// Ends a write; returns the requests that waited for it. Its durable data is appended to
    /// `records`, if recording is on.
    pub(super) fn written(&mut self, now: Time, records: &mut Option<Vec<Destaged>>) -> Vec<usize> {
        let (keys, waiters) = self.going.take().expect("a write was under way");
        if let Some(records) = records {
            records.extend(keys.iter().map(|key| key.durable(now)));
        }
        waiters
    }
}
