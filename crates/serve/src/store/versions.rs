//! The values of a sector that are later than the durable one.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use drivelab_core::disk::Data;
use drivelab_core::{Lba, Time};

/// Bytes of a sector.
pub(super) const SECTOR: usize = 512;

/// One write, from its submission until all of its sectors are durable or overwritten.
#[derive(Debug)]
pub struct Write {
    /// Its position in the order of submissions.
    pub(super) sequence: u64,
    pub(super) submitted: Time,
    lba: Lba,
    data: Data,
    completed: Cell<bool>,
}

impl Write {
    pub(super) fn new(sequence: u64, submitted: Time, lba: Lba, data: Data) -> Self {
        debug_assert!(
            !matches!(&data, Data::Bytes(bytes) if !bytes.len().is_multiple_of(SECTOR)),
            "a write consists of whole sectors"
        );
        Self { sequence, submitted, lba, data, completed: Cell::new(false) }
    }

    pub(super) fn sectors(&self) -> Range<u64> {
        let count = match &self.data {
            Data::Bytes(bytes) => (bytes.len() / SECTOR) as u64,
            Data::Zeros(sectors) => sectors.get(),
        };
        self.lba.get()..self.lba.get() + count
    }

    pub(super) fn set_completed(&self) {
        self.completed.set(true);
    }

    pub(super) fn is_completed(&self) -> bool {
        self.completed.get()
    }

    /// The bytes of its sectors from `start` up to `end`; `None` if they are zeros.
    pub(super) fn bytes(&self, start: u64, end: u64) -> Option<&[u8]> {
        let Data::Bytes(bytes) = &self.data else { return None };
        debug_assert!(self.lba.get() <= start && start <= end, "a range of its sectors");
        let [start, end] = [start, end].map(|sector| {
            usize::try_from(sector - self.lba.get()).expect("within the write") * SECTOR
        });
        Some(&bytes[start..end])
    }

    pub(super) fn copy_sector(&self, sector: u64, into: &mut [u8]) {
        match self.bytes(sector, sector + 1) {
            Some(bytes) => into.copy_from_slice(bytes),
            None => into.fill(0),
        }
    }
}

/// Values in the order of submission. There is almost always one, which needs no allocation.
#[derive(Debug, Clone, Default)]
pub(super) struct Versions {
    newest: Option<Rc<Write>>,
    /// Earlier ones, ascending.
    older: Vec<Rc<Write>>,
}

impl Versions {
    pub(super) fn len(&self) -> usize {
        self.older.len() + usize::from(self.newest.is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.newest.is_none()
    }

    /// Oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Rc<Write>> {
        self.older.iter().chain(&self.newest)
    }

    pub(super) fn push(&mut self, write: Rc<Write>) {
        let sequence = write.sequence;
        if let Some(before) = self.newest.replace(write) {
            debug_assert!(before.sequence < sequence, "values come in the order of submission");
            self.older.push(before);
        }
    }

    pub(super) fn has(&self, sequence: u64) -> bool {
        self.iter().any(|write| write.sequence == sequence)
    }

    pub(super) fn newest_completed(&self) -> Option<&Rc<Write>> {
        self.iter().rev().find(|write| write.is_completed())
    }

    pub(super) fn oldest_completed(&self) -> Option<Rc<Write>> {
        self.iter().find(|write| write.is_completed()).cloned()
    }

    /// Returns the newest value that the drive can have had in its cache at `taken`.
    pub(super) fn newest_taken(&self, taken: Time) -> Option<u64> {
        self.iter().rev().find(|write| write.submitted <= taken).map(|write| write.sequence)
    }

    /// Takes the newest value up to this number and forgets earlier ones.
    pub(super) fn take_up_to(&mut self, sequence: u64) -> Option<Rc<Write>> {
        let found = self.iter().rev().find(|write| write.sequence <= sequence).cloned();
        self.drop_up_to(sequence);
        found
    }

    pub(super) fn remove(&mut self, sequence: u64) {
        if self.newest.as_ref().is_some_and(|newest| newest.sequence == sequence) {
            self.newest = self.older.pop();
        } else {
            self.older.retain(|write| write.sequence != sequence);
        }
    }

    pub(super) fn drop_up_to(&mut self, sequence: u64) {
        // Ascending, so that the newest is dropped only if all are.
        self.older.retain(|write| write.sequence > sequence);
        if self.newest.as_ref().is_some_and(|newest| newest.sequence <= sequence) {
            self.newest = None;
        }
    }
}
