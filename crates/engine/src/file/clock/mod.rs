//! The host's monotonic clock, counted from the beginning of a run.
//!
//! Two time stamps per request are the largest cost of a request that does no I/O. They are
//! therefore read from the processor's counter if the system itself uses it as its clock, and from
//! the system's clock otherwise.

mod counter;

use std::time::{Duration, Instant};

use drivelab_core::units::{Span, Time};

use counter::Counter;

use crate::sys::tsc::ticks;

/// Sleeps end this much early and the rest is spun: a sleeping processor takes up to tens of
/// microseconds to wake up (C-state exit latencies of 1 to 133 us are listed in Linux's
/// `drivers/idle/intel_idle.c`), which is many arrivals of a fast open loop.
pub(crate) const SPIN: Span = Span::from_us(50);

/// A monotonic clock that read zero when it was created.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    source: Source,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// The processor's counter, and its reading at the beginning.
    Counter(Counter, u64),
    /// The system's clock at the beginning.
    System(Instant),
}

impl Clock {
    /// A clock that reads zero now. The first one of a process takes 20 ms to calibrate.
    pub fn start() -> Self {
        let source = match Counter::of_this_machine() {
            Some(counter) => Source::Counter(counter, ticks()),
            None => Source::System(Instant::now()),
        };
        Self { source }
    }

    /// The time since its creation.
    #[inline]
    pub fn now(self) -> Time {
        match self.source {
            Source::Counter(counter, origin) => {
                // Two processors' counters may differ by a few ticks, never by a request's time.
                Time::from_ns(counter.ns(ticks().saturating_sub(origin)))
            }
            Source::System(origin) => {
                let passed = origin.elapsed();
                Time::from_ns(passed.as_secs() * 1_000_000_000 + u64::from(passed.subsec_nanos()))
            }
        }
    }

    /// Waits until the clock reads `until`: sleeps most of the way and spins the rest.
    pub(crate) fn sleep_until(self, until: Time) {
        loop {
            let left = until.since(self.now());
            if left.is_zero() {
                return;
            }
            if left > SPIN {
                std::thread::sleep(Duration::from_nanos(left.saturating_sub(SPIN).ns()));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks() -> Vec<Clock> {
        // On machines without a counter the first is also the system's clock.
        vec![Clock::start(), Clock { source: Source::System(Instant::now()) }]
    }

    #[test]
    fn every_source_counts_nanoseconds_and_never_goes_back() {
        for clock in clocks() {
            let (began, first) = (Instant::now(), clock.now());
            let mut last = first;
            while began.elapsed() < Duration::from_millis(20) {
                let now = clock.now();
                assert!(now >= last, "{clock:?}: {last:?} then {now:?}");
                last = now;
            }
            let (passed, counted) = (began.elapsed(), clock.now().since(first));
            // The clock was read before and after the other one, so it can only have counted more;
            // a pause of this thread between the readings is in both, except in the last step.
            let counted = Duration::from_nanos(counted.ns());
            assert!(counted > Duration::from_millis(19), "{clock:?}: {counted:?} of {passed:?}");
        }
    }

    #[test]
    fn sleeping_ends_when_it_should_and_never_before() {
        for clock in clocks() {
            let until = clock.now() + Span::from_us(300);
            clock.sleep_until(until);
            assert!(clock.now() >= until, "{clock:?}");
            clock.sleep_until(Time::ZERO);
        }
    }
}
