//! The outstanding requests.

use drivelab_core::request::{Op, RequestId};
use drivelab_core::units::{Bytes, Time};

/// The data kept about a request until it completes.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    pub(super) intended: Time,
    pub(super) issued: Time,
    pub(super) op: Op,
    pub(super) bytes: Bytes,
    pub(super) waiting: bool,
}

/// A table with one slot for each request that may be outstanding.
///
/// The slot freed last is used first: its entry, and the buffer that a target may keep for it, are
/// still in the processor's cache. A request's name is the index of its slot.
#[derive(Debug)]
pub(super) struct Slots {
    table: Vec<InFlight>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn new(depth: u32) -> Self {
        let (intended, issued, bytes) = (Time::ZERO, Time::ZERO, Bytes::ZERO);
        let nothing = InFlight { intended, issued, op: Op::Flush, bytes, waiting: false };
        let table = vec![nothing; depth as usize];
        // Reversed, so that slot 0 is on top of the stack and a new run uses the slots in order.
        Self { table, free: (0..depth).rev().collect() }
    }

    #[inline]
    pub(super) fn in_use(&self) -> usize {
        self.table.len() - self.free.len()
    }

    pub(super) fn outstanding(&self) -> impl Iterator<Item = &InFlight> {
        self.table.iter().filter(|sent| sent.waiting)
    }

    /// The name of the next request, or `None` if every slot is taken.
    #[inline]
    pub(super) fn next_free(&self) -> Option<RequestId> {
        self.free.last().map(|slot| RequestId(u64::from(*slot)))
    }

    /// Takes the slot that [`Slots::next_free`] returned.
    #[inline]
    pub(super) fn take(&mut self, sent: InFlight) {
        let slot = self.free.pop().expect("the caller saw a free slot");
        debug_assert!(!self.table[slot as usize].waiting, "a free slot holds no request");
        debug_assert!(sent.waiting, "a slot is taken for an outstanding request");
        debug_assert!(sent.intended <= sent.issued, "a request is not sent before it is due");
        self.table[slot as usize] = sent;
    }

    /// Frees the slot of a completed request, and lends its contents: a copy would be read back
    /// before its parts have reached the cache, and the processor waits for that.
    #[inline]
    pub(super) fn release(&mut self, id: RequestId) -> &InFlight {
        debug_assert!(self.free.len() < self.table.len(), "each slot is free once");
        let number = u32::try_from(id.0).expect("a target completes only what it was given");
        let sent = &mut self.table[number as usize];
        assert!(sent.waiting, "a target completes a request once");
        sent.waiting = false;
        self.free.push(number);
        sent
    }
}
