//! A queue of a controller, with the host's side of it.

use std::collections::VecDeque;

use drivelab_core::{Request, Time};

use crate::about::Attachment;
use crate::controller::Wire;
use crate::elevator::HostQueue;

/// A submission queue with the host's requests before it and the tags of its commands.
///
/// The completion queue of the pair needs no state: it has an entry for each tag, and the host
/// takes each answer as it comes. A drive without queue pairs has one of these and submits to the
/// drive itself.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) host: HostQueue,
    pub(super) wire: Wire,
    /// Commands that the controller has not taken yet.
    pub(super) submitted: VecDeque<Request>,
}

impl Pair {
    pub(super) fn new(attached: &Attachment, flush_alone: bool) -> Self {
        let wire = Wire::new(attached.dispatch, attached.tags, flush_alone);
        let host = HostQueue::new(attached.scheduler, attached.nr_requests);
        Self { host, submitted: VecDeque::with_capacity(wire.tags()), wire }
    }

    /// Moves to the submission queue what the rules of the wire let through; whether it holds
    /// commands then.
    #[inline]
    pub(super) fn submit(&mut self, now: Time) -> bool {
        while let Some(request) = self.next(now) {
            self.submitted.push_back(request);
        }
        !self.submitted.is_empty()
    }

    /// The next request that the rules of the wire let through; it has a tag from now on.
    #[inline]
    pub(super) fn next(&mut self, now: Time) -> Option<Request> {
        // Every request that the host holds has a tag: the rules need not be asked.
        if self.host.held() == self.wire.in_use() {
            debug_assert_eq!(self.host.waiting().head, None, "a request waits unseen");
            return None;
        }
        let class = self.wire.next(self.host.waiting())?;
        if !self.wire.may_join(self.host.peek(class)) {
            return None;
        }
        let request = self.host.pop(now, class);
        self.wire.take(request.op);
        Some(request)
    }

    /// A command of this queue is done: its tag and the place that it held are free.
    #[inline]
    pub(super) fn completed(&mut self, request: &Request) {
        self.wire.release(request.op);
        self.host.completed();
    }
}
