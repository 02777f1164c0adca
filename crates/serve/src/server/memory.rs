//! The account of the memory of all clients together.

/// What a connection may use without a loan: 64 requests of 4 KiB.
pub(super) const OWN_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) sum: usize,
    /// Data of requests in progress whose clients have disconnected.
    pub(super) orphans: usize,
    pub(super) unfunded: bool,
    /// Memory may have been returned since it was last distributed.
    pub(super) returned: bool,
}

impl Memory {
    pub(super) fn new(sum: u64) -> Self {
        Self { sum: usize::try_from(sum).unwrap_or(usize::MAX), ..Self::default() }
    }

    /// Whether disconnected clients left so much to do that no others are accepted.
    pub(super) fn is_haunted(&self) -> bool {
        self.orphans > self.sum
    }

    pub(super) fn forget(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.orphans, "what is forgotten was left behind");
        self.orphans -= bytes;
        self.returned = true;
    }
}
