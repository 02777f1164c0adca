//! The host's monotonic clock, counted from the beginning of a run.

use std::time::{Duration, Instant};

use drivelab_core::units::{Span, Time};

/// Sleeps end this much early and the rest is spun away: a sleeping processor takes up to tens of
/// microseconds to come back (C-state exit latencies of 1 to 133 us stand in the tables of
/// Linux's `drivers/idle/intel_idle.c`), which is many arrivals of a fast open loop.
pub(crate) const SPIN: Span = Span::from_us(50);

/// A monotonic clock that read zero when it was made.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// The time since it was made.
    #[inline]
    pub fn now(self) -> Time {
        let passed = self.origin.elapsed();
        Time::from_ns(passed.as_secs() * 1_000_000_000 + u64::from(passed.subsec_nanos()))
    }

    /// Waits until it reads `until`: sleeps most of the way and spins the rest.
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
