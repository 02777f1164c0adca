//! The flushes of one drive, as the host keeps them.

use drivelab_core::{RequestId, Span, Time};

/// The time after which a flush no longer waits for data (`FLUSH_PENDING_TIMEOUT`).
const PATIENCE: Span = Span::from_secs(5);

/// A request that a flush ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter {
    pub(super) id: RequestId,
    /// True for a flush of the program, which a thread waits for.
    pub(super) thread: bool,
}

/// The next flush of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// It is with the host.
    Held,
    /// The device is too full to take it.
    Refused,
    /// It is at the device already, behind the one in progress.
    Ahead,
}

/// The flushes of one drive: the host has a separate state for each.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    /// Durable writes whose data is in progress.
    pub(super) writing: Vec<RequestId>,
    /// Requests that wait for the next flush, and since when.
    pub(super) pending: Vec<Waiter>,
    pub(super) pending_since: Time,
    /// Requests that the flush in progress completes.
    pub(super) flushed: Vec<Waiter>,
    pub(super) next: Next,
    /// True if the flush in progress was sent ahead of its time.
    pub(super) was_ahead: bool,
    /// Changes with each flush that is sent, so that two have different names.
    pub(super) turn: bool,
}

impl Queue {
    pub(super) const EMPTY: Self = Self {
        writing: Vec::new(),
        pending: Vec::new(),
        pending_since: Time::ZERO,
        flushed: Vec::new(),
        next: Next::Held,
        was_ahead: false,
        turn: false,
    };

    pub(super) fn wait_for_flush(&mut self, now: Time, waiter: Waiter) {
        if self.pending.is_empty() {
            self.pending_since = now;
        }
        self.pending.push(waiter);
    }

    /// True if a request waits for a flush, none is in progress, and no data delays it.
    pub(super) fn is_due(&self, now: Time) -> bool {
        let delayed = !self.writing.is_empty() && now < self.pending_since + PATIENCE;
        !(self.pending.is_empty() || !self.flushed.is_empty() || delayed)
    }

    /// True if the next flush goes in front of the requests that wait for the one in progress.
    ///
    /// Linux puts a flush at the head of the dispatch list (`blk_mq_insert_request`), in a race
    /// with the queue that the end of a flush restarts. Seen in the requests of a kernel: the flush
    /// behind one that wrote data wins, and the next one loses.
    pub(super) fn goes_ahead(&self) -> bool {
        let waits = !self.flushed.is_empty() && !self.pending.is_empty();
        waits && self.next != Next::Ahead && !self.was_ahead && self.writing.is_empty()
    }

    /// The time at which a flush no longer waits for data.
    pub(super) fn patience_ends(&self) -> Option<Time> {
        let waits = !self.pending.is_empty() && self.flushed.is_empty();
        // Where the device was too full its own next event comes first: a time that has passed
        // would be returned for ever.
        let delayed = waits && !self.writing.is_empty() && self.next != Next::Refused;
        delayed.then(|| self.pending_since + PATIENCE)
    }

    /// Requests of the host that a flush will end.
    pub(super) fn len(&self) -> usize {
        self.writing.len() + self.pending.len() + self.flushed.len()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.writing.is_empty() && self.pending.is_empty() && self.flushed.is_empty()
    }
}
