//! The requests of the host, and answers without a drive.

use std::collections::VecDeque;

use drivelab_core::{
    Completion, IoError, Lba, Op, Request, RequestId, Sectors, ServedBy, Span, Time,
};
use slab::Slab;

use crate::shelf::Pending;

/// A request of the host with outstanding parts, and the tier's state of it.
#[derive(Debug)]
pub(super) struct Held<T> {
    pub(super) request: Request,
    pub(super) submitted: Time,
    pub(super) pending: Pending,
    pub(super) note: T,
}

/// The requests of the host.
#[derive(Debug)]
pub(super) struct Host<T> {
    capacity: Sectors,
    pub(super) requests: Slab<Held<T>>,
    answered: VecDeque<Completion>,
}

impl<T> Host<T> {
    pub(super) const fn new(capacity: Sectors) -> Self {
        Self { capacity, requests: Slab::new(), answered: VecDeque::new() }
    }

    pub(super) const fn capacity(&self) -> Sectors {
        self.capacity
    }

    /// Answers a request that needs no drive; returns true if it did.
    pub(super) fn answer_trivial(&mut self, now: Time, request: &Request) -> bool {
        let last = Lba::ZERO + self.capacity;
        let beyond = request.lba > last || last - request.lba < request.sectors;
        let empty = request.sectors == Sectors::ZERO && request.op != Op::Flush;
        if beyond || empty {
            let result = if beyond { Err(IoError::OutOfRange) } else { Ok(()) };
            let (id, served_by) = (request.id, ServedBy::Unknown);
            // In front: answers from memory, which are due later, keep the list in order of time.
            self.answered.push_front(Completion { id, at: now, result, served_by });
        }
        beyond || empty
    }

    /// Answers a read from memory after `span`, which must be the same for all reads.
    pub(super) fn answer_from_memory(&mut self, now: Time, id: RequestId, span: Span) {
        let (at, result) = (now + span, Ok(()));
        debug_assert!(
            self.answered.back().is_none_or(|last| last.at <= at),
            "answers out of order"
        );
        self.answered.push_back(Completion { id, at, result, served_by: ServedBy::DriveReadCache });
    }

    pub(super) fn next_answer(&self) -> Option<Time> {
        self.answered.front().map(|answer| answer.at)
    }

    pub(super) fn pop_answers(&mut self, now: Time, completed: &mut Vec<Completion>) {
        while self.next_answer().is_some_and(|at| at <= now) {
            completed.extend(self.answered.pop_front());
        }
    }

    /// Registers a request until all its parts are complete.
    pub(super) fn open(&mut self, now: Time, request: Request, note: T) -> usize {
        let pending = Pending::new(request.id, 0);
        self.requests.insert(Held { request, submitted: now, pending, note })
    }

    /// Completes one part of a request; returns true if it was the last.
    pub(super) fn part_done(&mut self, request: usize, part: &Completion) -> bool {
        let pending = &mut self.requests[request].pending;
        pending.add(part.result, part.served_by);
        pending.left == 0
    }

    pub(super) fn close(&mut self, request: usize) -> Held<T> {
        self.requests.remove(request)
    }
}
