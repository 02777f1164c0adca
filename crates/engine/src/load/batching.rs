//! When requests leave for the device, and how many completions are answered together.

use drivelab_core::workload::Batches;

/// Requests sent before completions are looked for. What the kernel answers at once is then taken
/// while its buffers are still in the processor's cache, and the next requests use the same ones.
const FILL: u32 = 32;

/// Fills that stay together after one that was answered on the spot, before the next is tried: a
/// call of its own for one request of 32 is 1 % of what the page cache costs.
const TRUSTED: u32 = 31;

/// Requests that a device has to wait for at most while it has others to work on. A virtual disk
/// with 64 requests outstanding served 0.95 of its rate to refills of up to 32, and all of it to
/// refills of 8, at the same processor time a request (docs/internals/engine.md).
const HELD_BACK_MAX: usize = 8;

/// Decides how many requests share one way into the kernel.
///
/// A share costs the device nothing as long as it has other requests to work on. So no more are
/// held back than it has, and never more than eight: a queue that ran dry is refilled by 1, 1, 2,
/// 4, 8, 8, ... requests. Where the first of them are answered on the spot, by the page cache,
/// there is no queue that could run dry, and the rest of the fill stays together.
#[derive(Debug)]
pub(super) struct Batching {
    batches: Batches,
    /// Requests that the target took and holds back.
    held_back: u32,
    /// This fill is answered on the spot.
    at_once: bool,
    /// Fills that are expected to be, without a look.
    trusted: u32,
}

impl Batching {
    pub(super) fn new(batches: Batches) -> Self {
        Self { batches, held_back: 0, at_once: false, trusted: 0 }
    }

    /// Requests that are sent before completions are looked for.
    #[inline]
    pub(super) fn fill(&self) -> u32 {
        if self.batches.complete_min == 0 { 1 } else { self.batches.submit.unwrap_or(FILL) }
    }

    /// The target took a request.
    #[inline]
    pub(super) fn add(&mut self) {
        self.held_back += 1;
    }

    /// Whether what is held back of `outstanding` requests must leave before there is more of it.
    #[inline]
    pub(super) fn is_full(&self, outstanding: usize) -> bool {
        if let Some(size) = self.batches.submit {
            return self.held_back >= size;
        }
        let held_back = self.held_back as usize;
        let most = (outstanding - held_back).min(HELD_BACK_MAX);
        held_back > 0 && !self.at_once && held_back >= most
    }

    /// Whether the target holds requests back.
    #[inline]
    pub(super) fn holds_back(&self) -> bool {
        self.held_back > 0
    }

    /// All left, and `ready` of `outstanding` requests are answered already.
    #[inline]
    pub(super) fn answered(&mut self, ready: usize, outstanding: usize) {
        self.held_back = 0;
        self.at_once = ready >= outstanding;
        self.trusted = if self.at_once { TRUSTED } else { 0 };
    }

    /// All left with a wait, after which so many are `unanswered`.
    #[inline]
    pub(super) fn waited(&mut self, unanswered: usize) {
        self.held_back = 0;
        self.at_once = self.trusted > 0 && unanswered == 0;
        self.trusted = if self.at_once { self.trusted - 1 } else { 0 };
    }

    /// Completions that a wait is for while `outstanding` requests are not answered.
    #[inline]
    pub(super) fn wanted(&self, outstanding: usize) -> usize {
        (self.batches.complete_min.max(1) as usize).min(outstanding.max(1))
    }

    /// How many of `ready` completions are taken now.
    #[inline]
    pub(super) fn taken(&self, ready: usize) -> usize {
        self.batches.complete_max.map_or(ready, |max| ready.min(max as usize))
    }
}
