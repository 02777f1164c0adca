//! The rate of write-back to the slow drive: bcache's controller (`__update_writeback_rate` and
//! `bch_next_delay` in `drivers/md/bcache`).

use drivelab_core::{Span, Time};

/// `writeback_rate_update_seconds`.
pub(super) const UPDATE: Span = Span::from_secs(5);
const UPDATE_S: i64 = 5;
/// `writeback_percent`: the share of the cache that may stay dirty.
const PERCENT: u64 = 10;
/// `writeback_rate_p_term_inverse` and `writeback_rate_i_term_inverse`.
const PROPORTION: i64 = 40;
const INTEGRAL: i64 = 10_000;
/// `writeback_rate_minimum`, in sectors per second, and the maximum.
const SLOWEST: i64 = 8;
const FASTEST: i64 = 1_000_000_000;
/// Time without requests, six updates, after which the rate is the maximum
/// (`idle_counter_exceeded`).
const IDLE: Span = Span::from_secs(30);
/// Maximum delay between pieces.
const LONGEST_DELAY: Span = Span::from_ms(2_500);
/// Maximum lag that later pieces make up for.
const LONGEST_LAG: Span = Span::from_secs(2);

/// The rate of cleaning.
#[derive(Debug)]
pub(super) struct Rate {
    sectors_per_s: i64,
    integral: i64,
    /// Time of the next piece.
    pub(super) next: Time,
    updated: Time,
}

impl Rate {
    pub(super) const fn new() -> Self {
        Self { sectors_per_s: 1024, integral: 0, next: Time::ZERO, updated: Time::ZERO }
    }

    /// The first update after `now`.
    pub(super) fn next_update(now: Time) -> Time {
        Time::ZERO + UPDATE * (now.ns() / UPDATE.ns() + 1)
    }

    /// Sets the rate from the dirty part of the cache, both in sectors.
    pub(super) fn update(&mut self, now: Time, dirty: u64, cache: u64, last_request: Time) {
        self.updated = now;
        // An idle host does not notice the writes, so the rate is unlimited.
        if now.since(last_request) >= IDLE {
            (self.sectors_per_s, self.integral) = (FASTEST, 0);
            return;
        }
        debug_assert!(dirty <= cache, "{dirty} sectors of {cache} are dirty");
        let target = i64::try_from(cache * PERCENT / 100).unwrap_or(i64::MAX);
        let error = i64::try_from(dirty).unwrap_or(i64::MAX) - target;
        let keeps_up = now < self.next + Span::from_ms(1);
        if (error < 0 && self.integral > 0) || (error > 0 && keeps_up) {
            // Anti-windup: the integral only grows while the drive keeps up with the rate.
            self.integral = self.integral.saturating_add(error * UPDATE_S);
        }
        let rate = error / PROPORTION + self.integral / INTEGRAL;
        self.sectors_per_s = rate.clamp(SLOWEST, FASTEST);
    }

    /// Accounts for a piece of `sectors` sent at `now`.
    pub(super) fn sent(&mut self, now: Time, sectors: u64) {
        let rate = u64::try_from(self.sectors_per_s).expect("the rate is positive");
        let due = self.next + Span::from_ns(sectors * 1_000_000_000 / rate);
        let earliest = Time::from_ns(now.ns().saturating_sub(LONGEST_LAG.ns()));
        self.next = due.clamp(earliest, now + LONGEST_DELAY);
    }

    #[cfg(test)]
    pub(super) const fn sectors_per_s(&self) -> i64 {
        self.sectors_per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_what_is_dirty_beyond_a_tenth() {
        let mut rate = Rate::new();
        let mut check = |s: u64, dirty: u64, expected: i64| {
            let now = Time::ZERO + Span::from_secs(s);
            rate.next = now;
            rate.update(now, dirty, 1_000_000, now);
            assert_eq!(rate.sectors_per_s(), expected, "at {s} s");
        };
        check(5, 50_000, 8);
        // A fortieth of what is too much, and the integral of 400,000 * 5 s.
        check(10, 500_000, 10_000 + 200);
        check(15, 500_000, 10_000 + 400);
        // Below the target the integral falls again.
        check(20, 60_000, 8);
        check(25, 100_000, 380);
    }

    #[test]
    fn an_idle_drive_is_cleaned_as_fast_as_it_can() {
        let mut rate = Rate::new();
        rate.update(Time::ZERO + Span::from_secs(40), 8, 1_000, Time::ZERO + Span::from_secs(10));
        assert_eq!(rate.sectors_per_s(), FASTEST);
    }
}
