//! The order in which things happen.

use std::collections::VecDeque;

use drivelab_core::{IoError, RequestId, ServedBy, Time};

use crate::stack::Tag;

/// What happens inside a drive.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// Something may have become ready for an idle medium.
    Wake,
    /// The medium has done what it was committed to.
    MediumFree,
    /// The host learns that the command with this tag is done.
    Done {
        /// The command's tag.
        tag: Tag,
        /// What answered it.
        served_by: ServedBy,
    },
    /// A request that never became a command is answered.
    Answered {
        /// The request.
        id: RequestId,
        /// Its outcome.
        result: Result<(), IoError>,
    },
}

/// What is to happen inside a drive.
pub type Events = EventQueue<Event>;

/// What is to happen, ordered by (time, sequence): of two events at one time the one that was
/// scheduled first comes first.
///
/// A drive has few events at once, one per busy station and command, and a new one nearly always
/// belongs at the end: a sorted ring that is filled from the back beats a heap here. The sequence
/// number is the place in the ring.
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    events: VecDeque<(Time, E)>,
}

impl<E> EventQueue<E> {
    /// A queue that holds `limit` events before it has to grow.
    pub(crate) fn with_capacity(limit: usize) -> Self {
        Self { events: VecDeque::with_capacity(limit) }
    }

    /// Schedules `event` at `time`, after everything already scheduled then.
    #[inline]
    pub fn push(&mut self, time: Time, event: E) {
        let mut place = self.events.len();
        while place > 0 && self.events[place - 1].0 > time {
            place -= 1;
        }
        if place == self.events.len() {
            self.events.push_back((time, event));
        } else {
            self.events.insert(place, (time, event));
        }
        debug_assert!(self.events.iter().is_sorted_by_key(|(time, _)| *time), "out of order");
    }

    #[inline]
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.events.front().map(|(time, _)| *time)
    }

    #[inline]
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(Time, E)> {
        let (time, _) = self.events.front()?;
        if *time > now {
            return None;
        }
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_first_in_first_out() {
        let mut queue = EventQueue::with_capacity(4);
        for (at, name) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd'), (4, 'e')] {
            queue.push(Time::from_ns(at), name);
        }
        let mut order = String::new();
        while let Some((_, name)) = queue.pop_due(Time::from_ns(4)) {
            order.push(name);
        }
        assert_eq!(order, "bde");
        assert_eq!(queue.next_time(), Some(Time::from_ns(5)));
        while let Some((_, name)) = queue.pop_due(Time::MAX) {
            order.push(name);
        }
        assert_eq!(order, "bdeac");
    }
}
