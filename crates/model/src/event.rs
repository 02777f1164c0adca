//! A queue of events in order of time.

use drivelab_core::{IoError, RequestId, ServedBy, Time};

use crate::tag::Tag;

/// An event inside a drive.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// An idle medium may have work now.
    Wake,
    /// The medium has finished its access.
    MediumFree,
    /// The host learns that the command with this tag is done.
    Done {
        /// The command's tag.
        tag: Tag,
        /// The component that answered it.
        served_by: ServedBy,
    },
    /// Answers a request that never became a command.
    Answered {
        /// The request.
        id: RequestId,
        /// Its outcome.
        result: Result<(), IoError>,
    },
}

/// Pending events of a drive.
pub type Events = EventQueue<Event>;

/// Pending events, ordered by (time, sequence): simultaneous events come in the order in which
/// they were scheduled.
///
/// A drive has few pending events, one per busy station and command, and a new one nearly always
/// belongs near the end. A sorted ring with insertion from the back therefore beats a heap, and
/// shifting later events during the search beats a `VecDeque`. The position in the ring is the
/// sequence number.
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    /// Its length is a power of two, or zero before the first event.
    ring: Vec<(Time, E)>,
    /// Index of the next event; below the length of the ring.
    first: usize,
    count: usize,
}

impl<E: Copy> EventQueue<E> {
    /// A queue that holds `limit` events before it has to grow.
    pub(crate) fn with_capacity(limit: usize) -> Self {
        Self { ring: Vec::with_capacity(limit.next_power_of_two()), first: 0, count: 0 }
    }

    /// Schedules `event` at `time`, after everything already scheduled then.
    #[inline]
    pub fn push(&mut self, time: Time, event: E) {
        if self.count == self.ring.len() {
            self.grow((time, event));
        }
        let mask = self.ring.len() - 1;
        debug_assert!(self.ring.len().is_power_of_two() && self.count <= mask);
        let mut slot = self.first + self.count;
        // Shift later events back until the slot of the new one is found.
        while slot > self.first {
            let before = self.ring[(slot - 1) & mask];
            if before.0 <= time {
                // Not `<`: an event at the same time keeps its rank before this one.
                break;
            }
            self.ring[slot & mask] = before;
            slot -= 1;
        }
        self.ring[slot & mask] = (time, event);
        self.count += 1;
    }

    /// Doubles the ring; `filler` occupies the empty slots.
    #[cold]
    fn grow(&mut self, filler: (Time, E)) {
        debug_assert_eq!(self.count, self.ring.len(), "only a full ring grows");
        self.ring.rotate_left(self.first);
        self.first = 0;
        // The first growth takes the whole reservation of `with_capacity`.
        let reserved = self.ring.capacity().checked_ilog2().map_or(1, |bits| 1 << bits);
        self.ring.resize(reserved.max(self.ring.len() * 2), filler);
    }

    #[inline]
    pub(crate) fn next_time(&self) -> Option<Time> {
        if self.count == 0 { None } else { Some(self.ring[self.first].0) }
    }

    /// The time of the next event; `Time::MAX` if none is pending.
    #[inline]
    pub(crate) fn next_or_never(&self) -> Time {
        self.next_time().unwrap_or(Time::MAX)
    }

    #[inline]
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(Time, E)> {
        if self.count == 0 {
            return None;
        }
        let next = self.ring[self.first];
        if next.0 > now {
            return None;
        }
        self.first = (self.first + 1) & (self.ring.len() - 1);
        self.count -= 1;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Rng;

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

    #[test]
    fn a_ring_that_turns_and_grows_keeps_the_order_of_a_stable_sort() {
        let mut rng = Rng::new(3);
        let (mut queue, mut sorted) = (EventQueue::with_capacity(2), Vec::new());
        let mut now = 0;
        for number in 0..2000 {
            let at = now + rng.below(20);
            queue.push(Time::from_ns(at), number);
            sorted.push((at, number));
            sorted.sort_by_key(|(at, _)| *at);
            // More come than go, then all go.
            while rng.below(3) == 0 && !sorted.is_empty() {
                let (at, number) = sorted.remove(0);
                now = at;
                assert_eq!(queue.next_time(), Some(Time::from_ns(at)));
                assert_eq!(queue.pop_due(Time::from_ns(at)), Some((Time::from_ns(at), number)));
            }
        }
        assert!(sorted.len() > 100, "{}", sorted.len());
        for (at, number) in sorted {
            assert_eq!(queue.pop_due(Time::MAX), Some((Time::from_ns(at), number)));
        }
        assert_eq!(queue.next_time(), None);
    }
}
