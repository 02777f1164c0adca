//! The batches in which requests are submitted to the device and completions are processed.

use drivelab_core::workload::Batches;

/// Requests sent before the loop looks for completions.
const FILL: u32 = 8;

/// The same where the kernel answers at once: requests are then completed while their buffers are
/// still in the processor's cache, and the next requests use the same buffers.
const FILL_AT_ONCE: u32 = 32;

/// Fills that stay together after one that was answered at once, before the next attempt: a
/// separate call for one request of 32 is 1 % of the cost of the page cache.
const TRUSTED: u32 = 31;

/// A call carries at most one in this many of the requests that the device has to work on, within
/// the two limits below.
const SHARE: usize = 4;

/// Number of requests that a call may carry even if that is a larger share.
const CALL_MIN: usize = 4;

/// Maximum number of requests that a call carries while the device has others to work on. With 64
/// requests outstanding a virtual disk served 0.94 of its rate when fills of 32 left in calls of up
/// to 32 requests, and all of it when fills of 8 left in calls of 4 to 8, for less processor time
/// (docs/internals/engine.md).
const CALL_MAX: usize = 8;

/// Decides how many requests share one system call.
///
/// Sharing costs the device nothing as long as it has other requests to work on. So no more are
/// held back than it has, and no more than four, or than a quarter of what it has up to eight. A
/// queue that ran dry is refilled with 1, 1, 2, 4, 4, ... requests; one that stays near 128 with
/// eight. If the first of them are answered at once, by the page cache, there is no queue that
/// could run dry, and the rest of the fill stays together.
#[derive(Debug)]
pub(super) struct Batching {
    batches: Batches,
    /// Requests that the target accepted and holds back.
    held_back: u32,
    /// This fill is answered at once.
    at_once: bool,
    /// Number of fills that are assumed to be answered at once, without a check.
    trusted: u32,
}

impl Batching {
    pub(super) fn new(batches: Batches) -> Self {
        Self { batches, held_back: 0, at_once: false, trusted: 0 }
    }

    /// Requests that are sent before the loop looks for completions.
    #[inline]
    pub(super) fn fill(&self) -> u32 {
        if self.batches.complete_min == 0 {
            return 1;
        }
        let own = if self.at_once || self.trusted > 0 { FILL_AT_ONCE } else { FILL };
        self.batches.submit.unwrap_or(own)
    }

    /// The target accepted a request.
    #[inline]
    pub(super) fn add(&mut self) {
        self.held_back += 1;
    }

    /// True if the requests held back, of `outstanding` ones, must be submitted before more are
    /// added.
    #[inline]
    pub(super) fn is_full(&self, outstanding: usize) -> bool {
        if let Some(size) = self.batches.submit {
            return self.held_back >= size;
        }
        let held_back = self.held_back as usize;
        // Held-back requests are part of the outstanding ones; the difference is what keeps the
        // device busy meanwhile.
        debug_assert!(held_back <= outstanding, "a request that is held back is outstanding");
        let at_device = outstanding - held_back;
        // An idle device gets even a single request at once: the limit is then 0.
        let most = (at_device / SHARE).clamp(CALL_MIN, CALL_MAX).min(at_device);
        held_back > 0 && !self.at_once && held_back >= most
    }

    /// True if the target holds requests back.
    #[inline]
    pub(super) fn holds_back(&self) -> bool {
        self.held_back > 0
    }

    /// All were submitted, and `ready` of `outstanding` requests are already answered.
    #[inline]
    pub(super) fn answered(&mut self, ready: usize, outstanding: usize) {
        self.held_back = 0;
        self.at_once = ready >= outstanding;
        self.trusted = if self.at_once { TRUSTED } else { 0 };
    }

    /// All were submitted by a wait, after which this many are `unanswered`.
    #[inline]
    pub(super) fn waited(&mut self, unanswered: usize) {
        self.held_back = 0;
        // One unanswered request shows that there is a queue, which could run dry.
        self.at_once = self.trusted > 0 && unanswered == 0;
        self.trusted = if self.at_once { self.trusted - 1 } else { 0 };
    }

    /// Completions that a wait is for while `outstanding` requests are unanswered.
    #[inline]
    pub(super) fn wanted(&self, outstanding: usize) -> usize {
        (self.batches.complete_min.max(1) as usize).min(outstanding.max(1))
    }

    /// The number of `ready` completions that are processed now.
    #[inline]
    pub(super) fn taken(&self, ready: usize) -> usize {
        self.batches.complete_max.map_or(ready, |max| ready.min(max as usize))
    }
}
