//! What is outstanding.

use drivelab_core::request::{Op, RequestId};
use drivelab_core::units::{Bytes, Time};

/// What must be remembered of a request until it completes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    /// When it was meant to be sent.
    pub(super) intended: Time,
    /// When it was handed over.
    pub(super) issued: Time,
    pub(super) op: Op,
    pub(super) bytes: Bytes,
}

/// A table with one slot for each request that may be outstanding.
///
/// The slot that fell free last is used first: its entry, and the buffer a target may keep for it,
/// are still in the processor's cache. A request's name is the number of its slot.
#[derive(Debug)]
pub(super) struct Slots {
    table: Vec<Option<Sent>>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn new(depth: u32) -> Self {
        Self { table: vec![None; depth as usize], free: (0..depth).rev().collect() }
    }

    /// How many requests are outstanding.
    #[inline]
    pub(super) fn in_use(&self) -> usize {
        self.table.len() - self.free.len()
    }

    /// The name that the next request gets, or `None` while every slot is taken.
    #[inline]
    pub(super) fn next_free(&self) -> Option<RequestId> {
        self.free.last().map(|slot| RequestId(u64::from(*slot)))
    }

    /// Takes the slot that [`Slots::next_free`] named.
    #[inline]
    pub(super) fn take(&mut self, sent: Sent) {
        let slot = self.free.pop().expect("the caller saw a free slot");
        self.table[slot as usize] = Some(sent);
    }

    /// Frees the slot of a completed request.
    #[inline]
    pub(super) fn release(&mut self, id: RequestId) -> Sent {
        let slot = u32::try_from(id.0).expect("a target completes only what it was given");
        let sent = self.table[slot as usize].take();
        self.free.push(slot);
        sent.expect("a target completes a request once")
    }
}
