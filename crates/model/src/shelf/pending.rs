//! What is under way: requests and their commands, by number.

use std::ops::{Index, IndexMut};

use drivelab_core::{Completion, IoError, RequestId, ServedBy, Time};

/// Things that are known by a small number until they are done; numbers are used again.
#[derive(Debug)]
pub(crate) struct Table<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Takes a thing in and gives it a number.
    #[inline]
    pub(crate) fn insert(&mut self, entry: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.entries[place as usize] = Some(entry);
            return place;
        }
        self.entries.push(Some(entry));
        u32::try_from(self.entries.len() - 1).expect("far fewer are under way")
    }

    /// Gives a thing back; its number is free.
    #[inline]
    pub(crate) fn remove(&mut self, place: u32) -> T {
        self.free.push(place);
        self.entries[place as usize].take().expect("it is under way")
    }
}

impl<T> Index<u32> for Table<T> {
    type Output = T;
    #[inline]
    fn index(&self, place: u32) -> &T {
        self.entries[place as usize].as_ref().expect("it is under way")
    }
}

impl<T> IndexMut<u32> for Table<T> {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut T {
        self.entries[place as usize].as_mut().expect("it is under way")
    }
}

/// A request of which parts are still to be done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    id: RequestId,
    pub(crate) left: u32,
    result: Result<(), IoError>,
    served_by: Option<ServedBy>,
}

impl Pending {
    pub(crate) fn new(id: RequestId, left: u32) -> Self {
        Self { id, left, result: Ok(()), served_by: None }
    }

    /// One part is done.
    ///
    /// The whole is what its least safe part is: volatile where any part is, else off the medium
    /// where any part is.
    pub(crate) fn add(&mut self, result: Result<(), IoError>, served_by: ServedBy) {
        self.left -= 1;
        self.result = self.result.and(result);
        let rank = |by: ServedBy| match by {
            ServedBy::DriveWriteCache => 3,
            ServedBy::Medium => 2,
            ServedBy::DriveReadCache => 1,
            ServedBy::Unknown => 0,
        };
        if self.served_by.is_none_or(|known| rank(served_by) > rank(known)) {
            self.served_by = Some(served_by);
        }
    }

    pub(crate) fn completion(&self, at: Time) -> Completion {
        let served_by = self.served_by.unwrap_or(ServedBy::Unknown);
        Completion { id: self.id, at, result: self.result, served_by }
    }
}
