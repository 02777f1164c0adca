//! The times at which requests are due.

pub(super) mod depth;
pub(super) mod flow;

use std::collections::VecDeque;

use drivelab_core::units::{Span, Time};
use drivelab_core::workload::{Arrivals, Pace};

/// Poisson arrivals are counted one by one up to this number, which takes about 5 ms. Beyond it
/// their number is taken to be the mean, from which it differs by a fifth of a percent. Four times
/// as many as the mean never occur.
const COUNTED: u64 = 1 << 18;

pub(super) trait Pacer {
    const OPEN: bool;

    /// The due time of the next request, which is a `flush` or not; `None` until another one
    /// completes.
    fn due(&self, flush: bool) -> Option<Time>;

    /// The due request has been submitted.
    fn sent(&mut self, flush: bool);

    /// A request completed at `at` and freed its slot.
    fn freed(&mut self, at: Time);

    /// Number of arrivals of an open loop that are still due before `end`.
    fn owed(&self, end: Time) -> u64;

    /// Skips `count` arrivals, including the next one.
    fn skip(&mut self, count: u64);
}

/// A closed loop: a request is due when a slot is free, plus think time.
#[derive(Debug)]
pub(super) struct Closed {
    /// One entry for each free slot, ascending because completions arrive in order of time and the
    /// think time is constant. Never longer than the depth, so it never grows.
    due: VecDeque<Time>,
    think_time: Span,
}

impl Closed {
    pub(super) fn new(pace: Pace, start: Time) -> Self {
        let think_time = match pace {
            Pace::Closed { think_time, .. } => think_time,
            Pace::Fixed { .. } | Pace::Poisson { .. } | Pace::Slow { .. } => Span::ZERO,
        };
        Self { due: (0..pace.iodepth()).map(|_| start).collect(), think_time }
    }
}

impl Pacer for Closed {
    const OPEN: bool = false;

    #[inline]
    fn due(&self, _: bool) -> Option<Time> {
        self.due.front().copied()
    }

    #[inline]
    fn sent(&mut self, _: bool) {
        let due = self.due.pop_front();
        debug_assert!(due.is_some(), "only a request that was due is sent");
    }

    #[inline]
    fn freed(&mut self, at: Time) {
        debug_assert!(self.due.len() < self.due.capacity(), "one entry for each free slot");
        self.due.push_back(at + self.think_time);
    }

    fn owed(&self, _: Time) -> u64 {
        0
    }

    fn skip(&mut self, _: u64) {}
}

/// An open loop: requests are due when the arrival process says so, regardless of completions.
///
/// A flush is not an arrival: it belongs to the write before it, and a user who waits for that
/// write to be durable waits from the time at which the write was due.
#[derive(Debug)]
pub(super) struct Open {
    arrivals: Arrivals,
    start: Time,
    last: Time,
    next: Time,
}

impl Open {
    pub(super) fn new(mut arrivals: Arrivals, start: Time) -> Self {
        let next = after(start, arrivals.next_at());
        Self { arrivals, start, last: start, next }
    }
}

impl Pacer for Open {
    const OPEN: bool = true;

    #[inline]
    fn due(&self, flush: bool) -> Option<Time> {
        Some(if flush { self.last } else { self.next })
    }

    #[inline]
    fn sent(&mut self, flush: bool) {
        if !flush {
            self.last = self.next;
            self.next = after(self.start, self.arrivals.next_at());
            debug_assert!(self.next >= self.last, "arrivals are drawn in order of time");
        }
    }

    #[inline]
    fn freed(&mut self, _: Time) {}

    fn owed(&self, end: Time) -> u64 {
        if self.next >= end {
            return 0;
        }
        // The next arrival has been drawn already.
        let end = Time::ZERO + end.since(self.start);
        let left = self.arrivals.left_before(end);
        // Fixed arrivals are equidistant, so their number is a division, however large.
        let drawn = matches!(self.arrivals, Arrivals::Poisson { .. }) && left <= COUNTED;
        if !drawn {
            return 1 + left;
        }
        // A copy draws ahead, so that the arrivals themselves stay as they are.
        let mut arrivals = self.arrivals.clone();
        1 + (0..4 * COUNTED).take_while(|_| arrivals.next_at() < end).count() as u64
    }

    fn skip(&mut self, count: u64) {
        let Some(more) = count.checked_sub(1) else { return };
        self.arrivals.skip(more);
        self.sent(false);
    }
}

fn after(start: Time, arrival: Time) -> Time {
    start + arrival.since(Time::ZERO)
}
