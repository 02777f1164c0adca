//! The host's side of the queue: waiting submitters, and the elevator.

mod bioq;
mod deadline;
mod fifo;
mod fscan;

use std::collections::VecDeque;

use drivelab_core::config::Choice;
use drivelab_core::dispatch::{Class, Waiting};
use drivelab_core::{Op, Request, Time, choice_as_text};

use bioq::Bioq;
use deadline::Deadline;
use fifo::Fifo;
use fscan::Fscan;

/// The order in which the host hands requests to the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// In order of arrival.
    None,
    /// By address in one direction, with expiry times, as Linux' mq-deadline.
    Deadline,
    /// In order of arrival, but reads pass waiting writes, as `DragonFly`'s `bioqdisksort`.
    Bioq,
    /// By address in two queues: requests that arrive during a sweep wait for the next.
    Fscan,
    /// Linux' bfq, which only a real kernel has: no model of it is here.
    Bfq,
    /// Linux' kyber, which only a real kernel has.
    Kyber,
}

impl Scheduler {
    /// Returns whether a modelled host can have it.
    pub(crate) fn is_modelled(self) -> bool {
        !matches!(self, Self::Bfq | Self::Kyber)
    }
}

impl Choice for Scheduler {
    const WHAT: &'static str = "scheduler";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("deadline", Self::Deadline),
        ("bioq", Self::Bioq),
        ("fscan", Self::Fscan),
        ("bfq", Self::Bfq),
        ("kyber", Self::Kyber),
    ];
}
choice_as_text!(Scheduler);

#[derive(Debug)]
enum Elevator {
    Fifo(Fifo),
    Deadline(Deadline),
    Bioq(Bioq),
    Fscan(Fscan),
}

/// Requests on their way to the controller.
///
/// The elevator sees at most `nr_requests`, those on the wire included, as in blk-mq, where a
/// request keeps its scheduler tag until it completes; later submitters wait in front of it in
/// order. A flush does not pass through the elevator: it goes to the head, as in blk-mq.
#[derive(Debug)]
pub(crate) struct HostQueue {
    front: VecDeque<Request>,
    elevator: Elevator,
    unordered: VecDeque<Request>,
    nr_requests: usize,
    /// Requests in the elevator or on the wire.
    held: usize,
    max_held: usize,
}

/// Maximum requests in front of the elevator: far more than any load keeps outstanding.
const MAX_WAITING: usize = 1 << 16;

impl HostQueue {
    pub(crate) fn new(scheduler: Scheduler, nr_requests: usize) -> Self {
        let elevator = match scheduler {
            Scheduler::None => Elevator::Fifo(Fifo::default()),
            Scheduler::Deadline => Elevator::Deadline(Deadline::default()),
            Scheduler::Bioq => Elevator::Bioq(Bioq::default()),
            Scheduler::Fscan => Elevator::Fscan(Fscan::default()),
            Scheduler::Bfq | Scheduler::Kyber => unreachable!("no drive is built with these"),
        };
        Self {
            front: VecDeque::new(),
            elevator,
            unordered: VecDeque::new(),
            nr_requests,
            held: 0,
            max_held: 0,
        }
    }

    /// Accepts `request`, or gives it back if too many wait.
    #[inline]
    pub(crate) fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        if self.held < self.nr_requests && self.front.is_empty() {
            // Not while others wait in front: a request must not overtake an earlier submitter.
            self.admit(now, request);
        } else if self.front.len() < MAX_WAITING {
            self.front.push_back(request);
        } else {
            return Err(request);
        }
        Ok(())
    }

    #[inline]
    fn admit(&mut self, now: Time, request: Request) {
        self.held += 1;
        debug_assert!(self.held <= self.nr_requests, "more than nr_requests are held");
        self.max_held = self.max_held.max(self.held);
        // A flush has no address to sort by.
        if request.op.transfers() {
            match &mut self.elevator {
                Elevator::Fifo(elevator) => elevator.push(request),
                Elevator::Deadline(elevator) => elevator.push(now, request),
                Elevator::Bioq(elevator) => elevator.push(request),
                Elevator::Fscan(elevator) => elevator.push(request),
            }
        } else {
            self.unordered.push_back(request);
        }
    }

    /// Frees the scheduler tag of a completed request.
    #[inline]
    pub(crate) fn completed(&mut self) {
        debug_assert!(self.held > 0, "more requests complete than were held");
        self.held -= 1;
    }

    /// Admits waiting submitters to free scheduler tags; returns true if it admitted any.
    ///
    /// They wake up only after the freed tag has gone to a request that was in the elevator
    /// already: with `nr_requests = 2` on a port with one command there is never a choice.
    #[inline]
    pub(crate) fn admit_waiting(&mut self, now: Time) -> bool {
        debug_assert!(self.held <= self.nr_requests, "more than nr_requests are held");
        let before = self.front.len();
        while self.held < self.nr_requests {
            let Some(request) = self.front.pop_front() else { break };
            self.admit(now, request);
        }
        self.front.len() < before
    }

    #[inline]
    pub(crate) fn waiting(&self) -> Waiting {
        if !self.unordered.is_empty() {
            // The dispatcher knows reads and writes only; a flush waits like a write.
            return Waiting { reads: 0, writes: 1, head: Some(Class::Write) };
        }
        match &self.elevator {
            Elevator::Fifo(elevator) => elevator.waiting(),
            Elevator::Deadline(elevator) => elevator.waiting(),
            Elevator::Bioq(elevator) => elevator.waiting(),
            Elevator::Fscan(elevator) => elevator.waiting(),
        }
    }

    /// The kind of the request that [`HostQueue::pop`] would return.
    #[inline]
    pub(crate) fn peek(&self, class: Class) -> Op {
        match (self.unordered.front(), class) {
            (Some(request), _) => request.op,
            (None, Class::Read) => Op::Read,
            (None, Class::Write) => Op::Write,
        }
    }

    /// Removes the next request of `class`, which [`HostQueue::waiting`] has announced.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time, class: Class) -> Request {
        if let Some(request) = self.unordered.pop_front() {
            return request;
        }
        let next = match &mut self.elevator {
            Elevator::Fifo(elevator) => elevator.pop(class),
            Elevator::Deadline(elevator) => elevator.pop(now, class),
            Elevator::Bioq(elevator) => elevator.pop(class),
            Elevator::Fscan(elevator) => elevator.pop(class),
        };
        next.expect("`waiting` announced a request of the class")
    }

    /// Requests in the elevator or on the wire.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    pub(crate) fn max_held(&self) -> usize {
        self.max_held
    }
}
