//! Requests that were issued to the drive, until the drive completes them.

use std::collections::{BTreeSet, VecDeque};

use drivelab_core::{Op, Request, Span};

use super::fields::Parsed;

/// Requests that wait for their completion, at most: more than the queues of any drive hold. Behind
/// them, the completion of the oldest is missing in the trace.
const OPEN_MAX: usize = 1 << 14;

/// Issued requests in order. The trace prints completions later, so that a request is held until
/// its service time is known, and those behind it, too.
#[derive(Debug, Default)]
pub(super) struct Issued {
    waiting: VecDeque<Waiting>,
    /// The number of the first request in `waiting`.
    first: u64,
    /// Incomplete requests: operation, next sector to be completed, number.
    open: BTreeSet<(u8, u64, u64)>,
    /// Completions of requests whose issue the trace does not contain.
    pub(super) unmatched: u64,
    /// Requests whose completion the trace does not contain.
    pub(super) unanswered: u64,
    /// Requests that the recorded drive failed: their times are no service times.
    pub(super) failed: u64,
}

#[derive(Debug)]
struct Waiting {
    parsed: Parsed,
    /// Sectors without a completion.
    rest: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Completed,
    /// Returned by the drive unserved; it is issued again.
    Requeued,
}

impl Issued {
    /// A request goes to the drive.
    pub(super) fn issue(&mut self, parsed: Parsed) {
        let request = parsed.entry.request;
        let (number, rest) = (self.first + self.waiting.len() as u64, request.sectors.get());
        self.waiting.push_back(Waiting { parsed, rest, state: State::Open });
        let (op, lba) = key(&request);
        self.open.insert((op, lba, number));
        // One lost completion must not hold all later requests back for ever.
        if self.waiting.len() > OPEN_MAX {
            self.release_oldest();
        }
    }

    /// Releases the oldest request without a service time.
    fn release_oldest(&mut self) {
        let Some(waiting) = self.waiting.front_mut() else { return };
        if waiting.state == State::Open {
            waiting.state = State::Completed;
            let (op, next) = next_key(waiting);
            self.open.remove(&(op, next, self.first));
            self.unanswered += 1;
        }
    }

    /// The drive has completed `done`, or the next part of a request, at `at_ns`.
    pub(super) fn complete(&mut self, done: &Request, at_ns: u64, has_failed: bool) {
        let Some(number) = self.take(key(done)) else {
            self.unmatched += 1;
            return;
        };
        let waiting = self.at(number);
        let sectors = done.sectors.get();
        if sectors < waiting.rest && !has_failed {
            debug_assert!(sectors > 0 || waiting.rest > 0);
            waiting.rest -= sectors;
            let (op, next) = next_key(waiting);
            self.open.insert((op, next, number));
            return;
        }
        waiting.state = State::Completed;
        if has_failed {
            self.failed += 1;
        } else if let Some(issued_ns) = waiting.parsed.arrival_ns {
            // Clocks of processors differ by little: a completion is not before its issue.
            let took = Span::from_ns(at_ns.saturating_sub(issued_ns));
            waiting.parsed.entry.measured = Some(took);
        }
    }

    /// The drive has returned a request unserved.
    pub(super) fn requeue(&mut self, returned: &Request) {
        if let Some(number) = self.take(key(returned)) {
            self.at(number).state = State::Requeued;
        }
    }

    /// The next request in order, once its completion is known.
    pub(super) fn next(&mut self) -> Option<Parsed> {
        while self.waiting.front()?.state != State::Open {
            let Waiting { parsed, state, .. } = self.waiting.pop_front()?;
            self.first += 1;
            // A requeued request is issued again later, under another number.
            if state == State::Completed {
                return Some(parsed);
            }
        }
        None
    }

    /// The trace has ended: no further completion comes.
    pub(super) fn end(&mut self) {
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.state == State::Open) {
            waiting.state = State::Completed;
            self.unanswered += 1;
        }
        self.open.clear();
    }

    /// Removes the oldest incomplete request with this key.
    fn take(&mut self, (op, lba): (u8, u64)) -> Option<u64> {
        let oldest = *self.open.range((op, lba, 0)..=(op, lba, u64::MAX)).next()?;
        self.open.remove(&oldest);
        Some(oldest.2)
    }

    fn at(&mut self, number: u64) -> &mut Waiting {
        debug_assert!(number >= self.first, "an incomplete request was not yet returned");
        let index = usize::try_from(number - self.first).expect("it waits in memory");
        &mut self.waiting[index]
    }
}

/// The part that a completion of the request's beginning has in common with its issue.
fn key(request: &Request) -> (u8, u64) {
    let op = match request.op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Trim => 2,
        Op::Flush => 3,
    };
    (op, request.lba.get())
}

fn next_key(waiting: &Waiting) -> (u8, u64) {
    let request = &waiting.parsed.entry.request;
    let (op, lba) = key(request);
    debug_assert!(waiting.rest <= request.sectors.get());
    (op, lba + request.sectors.get() - waiting.rest)
}
