//! The write limit of swapcache: a token bucket of bytes, filled at ten polls a second.

use drivelab_core::{Span, Time};

/// `tsleep(..., hz / 10)`.
const POLL: Span = Span::from_ms(100);
/// `vm.swapcache.accrate`, in bytes per second.
const ACCRUED: i64 = 100_000;
/// `vm.swapcache.curburst` after boot.
const AT_BOOT: i64 = 4_000_000_000;
/// `vm.swapcache.maxburst`.
const MOST: i64 = 2_000_000_000;
/// `vm.swapcache.minburst`.
const LEAST: i64 = 10_000_000;

/// Bytes that swapcache may write.
#[derive(Debug)]
pub(super) struct Burst {
    bytes: i64,
    bursting: bool,
    /// Number of past polls.
    polls: u64,
}

impl Burst {
    pub(super) const fn new() -> Self {
        Self { bytes: AT_BOOT, bursting: true, polls: 0 }
    }

    /// The first poll after `now`.
    pub(super) fn next_poll(now: Time) -> Time {
        Time::ZERO + POLL * (now.ns() / POLL.ns() + 1)
    }

    /// Accounts for a poll at `now`, and for idle polls since the last one.
    pub(super) fn accrue(&mut self, now: Time) {
        let polls = now.ns() / POLL.ns();
        debug_assert!(polls >= self.polls, "polls ran backwards");
        let missed = i64::try_from(polls - self.polls).unwrap_or(i64::MAX);
        self.polls = polls;
        if self.bytes < MOST {
            // The boot value is above the maximum: accrual starts once it has been spent.
            self.bytes = self.bytes.saturating_add(missed.saturating_mul(ACCRUED / 10)).min(MOST);
        }
    }

    /// Returns true if this poll may write.
    pub(super) const fn may_write(&self) -> bool {
        self.bytes >= ACCRUED && (self.bursting || self.bytes > LEAST)
    }

    /// Returns true if no more may be written.
    pub(super) const fn is_overdrawn(&self) -> bool {
        self.bytes < 0
    }

    pub(super) fn spend(&mut self, bytes: u64) {
        self.bytes -= i64::try_from(bytes).expect("a cluster is small");
    }

    /// Ends a poll with writes.
    pub(super) const fn end_poll(&mut self) {
        // A poll that began in recovery ends it, regardless of the bytes left.
        self.bursting = !self.bursting || self.bytes > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_ends_when_it_is_spent_and_begins_again_at_the_least() {
        let mut burst = Burst::new();
        let at = |tenths: u64| Time::ZERO + POLL * tenths;
        burst.accrue(at(10));
        assert!(burst.may_write());
        burst.spend(4_000_000_000);
        burst.end_poll();
        // A second fills 100 kB: not enough while it recovers.
        burst.accrue(at(20));
        assert!(!burst.may_write());
        burst.accrue(at(1_010));
        assert!(!burst.may_write());
        burst.accrue(at(1_011));
        assert!(burst.may_write());
        burst.spend(9_000_000);
        burst.end_poll();
        assert!(burst.may_write());
    }
}
