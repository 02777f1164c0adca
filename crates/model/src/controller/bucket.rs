//! Token buckets: what limits a rate beyond a reserve.

use drivelab_core::{Span, Time};

/// A reserve that fills at a rate. What is taken beyond it must be waited for, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Tokens a second.
    rate: u64,
    /// The full reserve, in parts of a token.
    most: i128,
    /// The reserve at `at`; below zero, what was promised to waiting requests.
    level: i128,
    at: Time,
}

/// Parts of a token: at a rate of one a second, a nanosecond fills one part.
const PARTS: i128 = 1_000_000_000;

impl Bucket {
    /// A bucket with `reserve` tokens, full.
    ///
    /// # Panics
    /// The rate is zero.
    pub(crate) fn full(rate: u64, reserve: u64) -> Self {
        assert!(rate > 0, "a bucket that does not fill is empty for ever");
        let most = i128::from(reserve) * PARTS;
        Self { rate, most, level: most, at: Time::ZERO }
    }

    /// Takes `tokens`; returns how long after `now` they are there.
    pub(crate) fn take(&mut self, now: Time, tokens: u64) -> Span {
        debug_assert!(now >= self.at, "time ran backwards");
        let filled = i128::from(now.since(self.at).ns()) * i128::from(self.rate);
        self.level = (self.level + filled).min(self.most);
        self.at = now;
        // Below zero: the next request waits behind what this one was promised.
        self.level -= i128::from(tokens) * PARTS;
        let missing = u128::try_from(-self.level).unwrap_or(0);
        let wait = missing.div_ceil(u128::from(self.rate));
        Span::from_ns(u64::try_from(wait).unwrap_or(u64::MAX / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_is_free_and_the_rest_comes_at_the_rate() {
        let mut bucket = Bucket::full(100, 3);
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let waits: Vec<Span> = (0..5).map(|_| bucket.take(at(0), 1)).collect();
        assert_eq!(waits, [0, 0, 0, 10, 20].map(Span::from_ms));
        // Half a second fills it again, and no further.
        assert_eq!(bucket.take(at(500), 4), Span::from_ms(10));
        assert_eq!(bucket.take(at(510), 1), Span::from_ms(10));
    }

    #[test]
    fn rates_are_exact_over_many_takes() {
        let mut bucket = Bucket::full(300, 0);
        let mut last = Span::ZERO;
        for _ in 0..3_000_000 {
            last = bucket.take(Time::ZERO, 1);
        }
        assert_eq!(last, Span::from_secs(10_000));
    }
}
