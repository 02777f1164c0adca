//! Two queues, of reads and of everything else, that record the order of arrival.

use std::collections::VecDeque;

use drivelab_core::dispatch::{Class, Waiting};

/// Commands that wait for a tag.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    reads: VecDeque<(u64, T)>,
    writes: VecDeque<(u64, T)>,
    sequence: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { reads: VecDeque::new(), writes: VecDeque::new(), sequence: 0 }
    }
}

impl<T> Queue<T> {
    pub(crate) fn push(&mut self, class: Class, entry: T) {
        self.sequence += 1;
        let entry = (self.sequence, entry);
        match class {
            Class::Read => self.reads.push_back(entry),
            Class::Write => self.writes.push_back(entry),
        }
    }

    /// The number of waiting reads and others, and the class of the first of all.
    pub(crate) fn waiting(&self) -> Waiting {
        let read = self.reads.front().map(|(sequence, _)| *sequence);
        let write = self.writes.front().map(|(sequence, _)| *sequence);
        let head = match (read, write) {
            (Some(read), Some(write)) if write < read => Some(Class::Write),
            (Some(_), _) => Some(Class::Read),
            (None, write) => write.map(|_| Class::Write),
        };
        Waiting { reads: self.reads.len(), writes: self.writes.len(), head }
    }

    pub(crate) fn pop(&mut self, class: Class) -> T {
        let queue = match class {
            Class::Read => &mut self.reads,
            Class::Write => &mut self.writes,
        };
        queue.pop_front().expect("the policy names a class that waits").1
    }
}
