//! The journal of a writeback tier: what is in it survives a power cut.
//!
//! A write is answered once its data is on the fast drive, but the map that finds it there is
//! durable only with the next write of the journal: soon by itself, at once for a flush.

use drivelab_core::{Destaged, Lba, Request, Sectors, Span, Time};

/// `journal_delay_ms`.
const DELAY: Span = Span::from_ms(100);
/// The journal goes round in its buckets at the beginning of the fast drive.
pub(super) const SECTORS: u64 = 16 * 1024;
const ENTRY: u64 = 8;

/// What a write of the journal makes durable.
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
    /// Those of the write under way.
    going: Option<(Vec<Key>, Vec<usize>)>,
    due: Option<Time>,
    at: u64,
}

impl Journal {
    /// Data is on the fast drive whose key is not in the journal.
    pub(super) fn add(&mut self, now: Time, key: Key) {
        self.keys.push(key);
        self.due.get_or_insert(now + DELAY);
    }

    /// `request` waits until all keys are in the journal.
    pub(super) fn wait(&mut self, now: Time, request: usize) {
        self.waiters.push(request);
        self.due = Some(now);
    }

    /// When a write of the journal must begin.
    pub(super) fn due(&self) -> Option<Time> {
        self.due.filter(|_| self.going.is_none())
    }

    /// Begins a write: the fast drive's cache is flushed, and then the entry is written.
    pub(super) fn begin(&mut self) {
        let taken = (std::mem::take(&mut self.keys), std::mem::take(&mut self.waiters));
        self.going = Some(taken);
        self.due = None;
    }

    /// The entry to write after the flush.
    pub(super) fn entry(&mut self) -> Request {
        let lba = Lba::new(self.at);
        self.at = (self.at + ENTRY) % SECTORS;
        Request { fua: true, ..Request::write(0, lba, Sectors::new(ENTRY)) }
    }

    /// The entry is written: the requests that waited for it. What it made durable goes to
    /// `records`, where somebody asks.
    pub(super) fn written(&mut self, now: Time, records: &mut Option<Vec<Destaged>>) -> Vec<usize> {
        let (keys, waiters) = self.going.take().expect("a write was under way");
        if let Some(records) = records {
            records.extend(keys.iter().map(|key| key.durable(now)));
        }
        waiters
    }
}
