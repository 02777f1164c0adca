//! What is known of the memory that clients hold, all together.

/// What a connection may hold without a loan: 64 requests of 4 KiB.
pub(super) const OWN_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) sum: usize,
    /// Data of requests under way whose clients have gone.
    pub(super) orphans: usize,
    pub(super) unfunded: bool,
    /// Something may have been given back since it was last shared out.
    pub(super) returned: bool,
}

impl Memory {
    pub(super) fn new(sum: u64) -> Self {
        Self { sum: usize::try_from(sum).unwrap_or(usize::MAX), ..Self::default() }
    }

    /// Whether those that have gone left so much to do that no others are let in.
    pub(super) fn is_haunted(&self) -> bool {
        self.orphans > self.sum
    }

    pub(super) fn forget(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.orphans, "what is forgotten was left behind");
        self.orphans -= bytes;
        self.returned = true;
    }
}
