//! A drive that takes no time: it measures the cost of serving.

use std::collections::VecDeque;

use drivelab_core::{Completion, Device, Request, Sectors, ServedBy, Time};

/// Completes every request the moment it is submitted, and loses nothing.
#[derive(Debug)]
pub struct Null {
    capacity: Sectors,
    done: VecDeque<Completion>,
}

impl Null {
    /// A drive of `capacity` sectors.
    pub fn new(capacity: Sectors) -> Self {
        Self { capacity, done: VecDeque::with_capacity(64) }
    }
}

impl Device for Null {
    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        let (id, at, result, served_by) = (request.id, now, Ok(()), ServedBy::Medium);
        self.done.push_back(Completion { id, at, result, served_by });
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.done.front().map(|first| first.at)
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        debug_assert!(self.done.iter().is_sorted_by_key(|done| done.at), "time moves forward");
        let due = self.done.partition_point(|done| done.at <= now);
        completed.extend(self.done.drain(..due));
    }
}
