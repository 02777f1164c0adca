//! A queue of a controller, with its host side.

use std::collections::VecDeque;

use drivelab_core::{Request, Time};

use crate::about::Attachment;
use crate::controller::Wire;
use crate::elevator::HostQueue;

/// A submission queue with the host's requests in front of it and the tags of its commands.
///
/// The completion queue of the pair needs no state: it has an entry for each tag, and the host
/// takes each answer at once. A drive without queue pairs has one of these and bypasses
/// `submitted`.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) host: HostQueue,
    pub(super) wire: Wire,
    /// Commands that the controller has not fetched yet.
    pub(super) submitted: VecDeque<Request>,
}

impl Pair {
    pub(super) fn new(attached: &Attachment, flush_alone: bool) -> Self {
        let wire = Wire::new(attached.dispatch, attached.tags, flush_alone);
        let host = HostQueue::new(attached.scheduler, attached.nr_requests);
        Self { host, submitted: VecDeque::with_capacity(wire.tags()), wire }
    }

    /// Moves requests to the submission queue as the rules of the wire permit; returns true if it
    /// then holds commands.
    #[inline]
    pub(super) fn submit(&mut self, now: Time) -> bool {
        while let Some(request) = self.next(now) {
            self.submitted.push_back(request);
        }
        debug_assert!(self.submitted.len() <= self.wire.tags(), "a queue above its depth");
        !self.submitted.is_empty()
    }

    /// Takes the next request that the rules of the wire permit, and gives it a tag.
    #[inline]
    pub(super) fn next(&mut self, now: Time) -> Option<Request> {
        // Every request that the host holds has a tag already. This check is hot: it saves two
        // lookups on every completion of a light load.
        if self.host.held() == self.wire.in_use() {
            debug_assert_eq!(
                self.host.waiting().head,
                None,
                "a request without a tag is overlooked"
            );
            return None;
        }
        let class = self.wire.next(self.host.waiting())?;
        // NCQ and other commands never overlap on ATA: wait until the wire is empty.
        if !self.wire.may_join(self.host.peek(class)) {
            return None;
        }
        let request = self.host.pop(now, class);
        self.wire.take(request.op);
        Some(request)
    }

    /// Frees the tag and the scheduler tag of a completed command.
    #[inline]
    pub(super) fn completed(&mut self, request: &Request) {
        self.wire.release(request.op);
        self.host.completed();
    }
}
