//! The host's monotonic clock, counted from the beginning of a run.
//!
//! Time stamps are the largest cost of a request that does no I/O. They are therefore read from the
//! processor's counter if the system itself uses it as its clock, and from the system's clock
//! otherwise. In a guest of `drivelab-guest` they are read from a page of its kernel.

mod counter;
mod page;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use drivelab_core::units::{Span, Time};

use counter::Counter;
use page::Page;

use crate::sys::tsc::ticks;

/// Sleeps end this much early and the rest is spun: a sleeping processor takes up to tens of
/// microseconds to wake up (C-state exit latencies of 1 to 133 us are listed in Linux's
/// `drivers/idle/intel_idle.c`), which is many arrivals of a fast open loop.
const SPIN: Span = Span::from_us(50);

/// A monotonic clock that read zero when it was created.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    source: Source,
    /// The end of a wait that is spun.
    spin: Span,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// The processor's counter, and its reading at the beginning.
    Counter(Counter, u64),
    /// The page of a guest's kernel, and what it said at the beginning.
    Page(Page, u64),
    /// The system's clock at the beginning.
    System(Instant),
}

impl Clock {
    /// A clock that reads zero now. The first one of a process takes 20 ms to calibrate.
    pub fn start() -> Self {
        let (page, spin) =
            if is_virtual() { (Page::of_this_machine(), Span::ZERO) } else { (None, SPIN) };
        let source = match page {
            Some(page) => Source::Page(page, page.now()),
            None => match Counter::of_this_machine() {
                Some(counter) => Source::Counter(counter, ticks()),
                None => Source::System(Instant::now()),
            },
        };
        Self { source, spin }
    }

    /// Returns the time before the end of a wait at which sleeping ends: the rest is to be spun.
    #[inline]
    pub(crate) fn spin(self) -> Span {
        self.spin
    }

    /// The time since its creation.
    #[inline]
    pub fn now(self) -> Time {
        match self.source {
            Source::Counter(counter, origin) => {
                // Two processors' counters may differ by a few ticks, never by a request's time.
                Time::from_ns(counter.ns(ticks().saturating_sub(origin)))
            }
            Source::Page(page, origin) => Time::from_ns(page.now() - origin),
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
            if left > self.spin {
                std::thread::sleep(Duration::from_nanos(left.saturating_sub(self.spin).ns()));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// Returns true if time here is virtual: a timer then ends to the nanosecond, and to spin costs
/// real time only, at 256 ns of virtual time for each reading of the clock (Linux 6.12,
/// `arch/um/kernel/time.c`: `TIMER_MULTIPLIER`).
fn is_virtual() -> bool {
    static IS_VIRTUAL: OnceLock<bool> = OnceLock::new();
    *IS_VIRTUAL.get_or_init(|| {
        std::fs::read_to_string("/proc/cmdline").is_ok_and(|line| travels_in_time(&line))
    })
}

/// Returns true if the command line of a kernel asks for the time travel of User Mode Linux.
fn travels_in_time(command_line: &str) -> bool {
    let mut words = command_line.split_ascii_whitespace();
    words.any(|word| word == "time-travel" || word.starts_with("time-travel="))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks() -> Vec<Clock> {
        // On machines without a counter the first is also the system's clock.
        let system = Source::System(Instant::now());
        let exact = Clock { source: system, spin: Span::ZERO };
        vec![Clock::start(), Clock { source: system, spin: SPIN }, exact]
    }

    #[test]
    fn a_kernel_in_virtual_time_is_known_by_its_command_line() {
        assert!(travels_in_time("mem=512M time-travel=ext:clock root=98:0\n"));
        assert!(travels_in_time("time-travel"));
        assert!(!travels_in_time("BOOT_IMAGE=/vmlinuz root=/dev/sda1 time-travel-start=5"));
        assert!(!travels_in_time(""));
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
