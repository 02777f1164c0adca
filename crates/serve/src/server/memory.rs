//! The account of the memory of all clients together.

/// Bytes that a connection may use without a loan: 64 requests of 4 KiB.
pub(super) const RESERVED_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The memory that can be lent to all clients together.
    pub(super) sum: usize,
    /// Data of requests in progress whose clients have disconnected.
    pub(super) orphans: usize,
    /// True if a client waits for memory.
    pub(super) unfunded: bool,
    /// True if memory may have been returned since it was last distributed.
    pub(super) returned: bool,
}

impl Memory {
    pub(super) fn new(sum: u64) -> Self {
        Self { sum: usize::try_from(sum).unwrap_or(usize::MAX), ..Self::default() }
    }

    /// Returns whether disconnected clients left so much to do that no others are accepted.
    pub(super) fn has_too_many_orphans(&self) -> bool {
        self.orphans > self.sum
    }

    pub(super) fn forget(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.orphans, "what is forgotten was left behind");
        self.orphans -= bytes;
        self.returned = true;
    }
}
