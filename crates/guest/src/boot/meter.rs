//! The time that a guest has used of its limit.

use std::time::{Duration, Instant};

use super::about::End;
use super::limit::Limit;

/// Minimum interval between reads of a guest's processor time, which scan all of `/proc`.
const PAUSE: Duration = Duration::from_millis(100);

/// Measures the time that a guest has used of its limit.
#[derive(Debug)]
pub(super) struct Meter {
    limit: Limit,
    /// Time at which counting began, and the guest's processor time until then.
    begun: (Instant, Duration),
    /// Earliest time at which the limit can be exceeded; `None` for never.
    check_at: Option<Instant>,
}

impl Meter {
    /// Counts from `now`, when the guest had used `used` of processor time.
    pub(super) fn new(limit: Limit, now: Instant, used: Duration) -> Self {
        let check_at = now.checked_add(limit.processor.min(limit.real));
        Self { limit, begun: (now, used), check_at }
    }

    /// Returns the end of a guest that has exceeded its limit; `used` measures its processor time.
    pub(super) fn over(&mut self, now: Instant, used: impl FnOnce() -> Duration) -> Option<End> {
        if self.check_at.is_none_or(|at| now < at) {
            return None;
        }
        let (since, before) = self.begun;
        debug_assert!(now >= since, "the clock is monotonic");
        let real = self.limit.real.saturating_sub(now.duration_since(since));
        if real.is_zero() {
            return Some(End::TimedOut);
        }
        // Measured last: it reads every process of the machine.
        let processor = self.limit.processor.saturating_sub(used().saturating_sub(before));
        if processor.is_zero() {
            return Some(End::UsedUp);
        }
        // A guest has one processor: it takes at least as long to use up what is left.
        self.check_at = now.checked_add(processor.min(real).max(PAUSE));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_guest_that_used_its_processor_time_is_told_from_one_that_got_none() {
        let (begun, before) = (Instant::now(), 7 * SECOND);
        let mut meter = Meter::new(Limit::processor(10 * SECOND), begun, before);
        let mut check = |at: u32, used: u32, expected| {
            let end = meter.over(begun + at * SECOND, || before + used * SECOND);
            assert_eq!(end, expected, "after {at} s, of which it ran {used}");
        };
        check(9, 10, None);
        check(10, 4, None);
        // It has 6 s left, so it cannot be over before 16 s, and is not looked at.
        check(15, 10, None);
        check(16, 9, None);
        check(17, 10, Some(End::UsedUp));
        check(300, 9, Some(End::TimedOut));
    }

    #[test]
    fn real_time_alone_does_not_ask_for_the_other() {
        let begun = Instant::now();
        let mut meter = Meter::new(Limit::real(SECOND), begun, Duration::ZERO);
        let unasked = || -> Duration { panic!("it is not limited") };
        assert_eq!(meter.over(begun, unasked), None);
        assert_eq!(meter.over(begun + SECOND, unasked), Some(End::TimedOut));
        let mut meter = Meter::new(Limit::NONE, begun, Duration::ZERO);
        assert_eq!(meter.over(begun + 1_000_000 * SECOND, unasked), None);
    }
}
