//! The times at which requests are sent.

use serde::{Deserialize, Serialize};

use crate::rng::Rng;
use crate::units::{Bytes, Span, Time};

/// The pace of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Closed loop: `iodepth` requests stay outstanding; each completion, after `think_time`, sends
    /// the next.
    Closed {
        /// Requests outstanding.
        iodepth: u32,
        /// Time from a completion to the request that follows it.
        think_time: Span,
    },
    /// Open loop: a request every `1 / per_s` seconds, regardless of completions.
    Fixed {
        /// Requests per second.
        per_s: u64,
        /// Requests that may be outstanding; later ones are sent late and count as late.
        iodepth: u32,
    },
    /// Open loop with exponential gaps.
    Poisson {
        /// Mean requests per second.
        per_s: u64,
        /// Requests that may be outstanding; later ones are sent late and count as late.
        iodepth: u32,
    },
    /// Open loop with less than one request per second: one block as often as the rate of bytes
    /// allows.
    Slow {
        /// Bytes per second, fewer than a block has.
        rate: Bytes,
        /// Bytes of a block, in the mean.
        block: Bytes,
        /// Requests that may be outstanding; later ones are sent late and count as late.
        iodepth: u32,
    },
}

impl Pace {
    /// The most requests that may be outstanding.
    pub const fn iodepth(self) -> u32 {
        match self {
            Self::Closed { iodepth, .. }
            | Self::Fixed { iodepth, .. }
            | Self::Poisson { iodepth, .. }
            | Self::Slow { iodepth, .. } => iodepth,
        }
    }
}

/// The due times of an open loop, from its beginning on.
///
/// Times are derived from the count, not summed from a rounded gap, so a fixed rate is exact over
/// any length of run: 3 per second gives 0, 333333333, 666666666, 1000000000 ns.
#[derive(Debug, Clone)]
pub enum Arrivals {
    /// Evenly spaced.
    Fixed {
        /// Requests per second.
        per_s: u64,
        /// Arrivals so far.
        count: u64,
    },
    /// Evenly spaced, less than one per second.
    Slow {
        /// Bytes per second.
        rate: u64,
        /// Bytes of a block.
        block: u64,
        /// Arrivals so far.
        count: u64,
    },
    /// A Poisson process.
    Poisson {
        /// Requests per second.
        per_s: u64,
        /// The last arrival in units of 1/2^16 ns, so that rounding does not add up.
        at: u128,
        /// Its generator.
        rng: Rng,
    },
}

const NS_PER_S: u128 = 1_000_000_000;
/// Fraction bits of a Poisson arrival's clock: a millionth of the gap even at 10^9 per second.
const FRACTION: u32 = 16;

impl Arrivals {
    /// The arrivals of `pace`, or `None` for a closed loop.
    pub fn new(pace: Pace, seed: u64) -> Option<Self> {
        match pace {
            Pace::Closed { .. } => None,
            Pace::Fixed { per_s, .. } => Some(Self::Fixed { per_s, count: 0 }),
            Pace::Slow { rate, block, .. } => {
                Some(Self::Slow { rate: rate.get(), block: block.get(), count: 0 })
            }
            Pace::Poisson { per_s, .. } => {
                Some(Self::Poisson { per_s, at: 0, rng: Rng::new(seed) })
            }
        }
    }

    /// The moment of the next arrival.
    #[inline]
    pub fn next_at(&mut self) -> Time {
        // Integers of 128 bits: count times 10^9 exceeds 64 bits within a day at 10^6 per second.
        let ns = match self {
            Self::Fixed { per_s, count } => {
                let ns = u128::from(*count) * NS_PER_S / u128::from(*per_s);
                *count += 1;
                ns
            }
            Self::Slow { rate, block, count } => {
                let bytes = u128::from(*count) * u128::from(*block);
                *count += 1;
                bytes * NS_PER_S / u128::from(*rate)
            }
            Self::Poisson { per_s, at, rng } => {
                let mean = (NS_PER_S << FRACTION) / u128::from(*per_s);
                // At one request per second, the least, the mean is 2^46 units: it fits.
                let mean = u64::try_from(mean).unwrap_or(u64::MAX);
                *at += u128::from(rng.exponential(Span::from_ns(mean)).ns());
                *at >> FRACTION
            }
        };
        Time::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Number of arrivals before `end` that [`Self::next_at`] has not yet returned: exact at a
    /// fixed rate, the mean for a Poisson process.
    pub fn left_before(&self, end: Time) -> u64 {
        let left = match self {
            Self::Fixed { per_s, count } => {
                let before = (u128::from(end.ns()) * u128::from(*per_s)).div_ceil(NS_PER_S);
                before.saturating_sub(u128::from(*count))
            }
            Self::Slow { rate, block, count } => {
                let bytes = u128::from(end.ns()) * u128::from(*rate);
                let before = bytes.div_ceil(NS_PER_S * u128::from(*block));
                before.saturating_sub(u128::from(*count))
            }
            Self::Poisson { per_s, at, .. } => {
                let left = (u128::from(end.ns()) << FRACTION).saturating_sub(*at) >> FRACTION;
                left * u128::from(*per_s) / NS_PER_S
            }
        };
        u64::try_from(left).unwrap_or(u64::MAX)
    }

    /// Skips `count` arrivals; for a Poisson process at its mean rate.
    pub fn skip(&mut self, skipped: u64) {
        match self {
            Self::Fixed { count, .. } | Self::Slow { count, .. } => {
                *count = count.saturating_add(skipped);
            }
            Self::Poisson { per_s, at, .. } => {
                *at += u128::from(skipped) * (NS_PER_S << FRACTION) / u128::from(*per_s);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_of(mut arrivals: Arrivals, count: usize) -> u64 {
        (0..count).map(|_| arrivals.next_at().ns()).last().unwrap()
    }

    #[test]
    fn fixed_rates_never_drift() {
        let check = |per_s, count, expected| {
            let pace = Pace::Fixed { per_s, iodepth: 1 };
            assert_eq!(last_of(Arrivals::new(pace, 0).unwrap(), count), expected);
        };
        check(3, 4, 1_000_000_000);
        check(700_000, 700_001, 1_000_000_000);
    }

    #[test]
    fn arrivals_that_are_left_are_counted_and_passed_over() {
        let pace = Pace::Fixed { per_s: 3, iodepth: 1 };
        let mut arrivals = Arrivals::new(pace, 0).unwrap();
        let left = |arrivals: &Arrivals, ns| arrivals.left_before(Time::from_ns(ns));
        // At 0, 333333333, 666666666 and 1000000000 ns: what is due at the end is not before it.
        assert_eq!((left(&arrivals, 1_000_000_000), left(&arrivals, 1_000_000_001)), (3, 4));
        arrivals.next_at();
        arrivals.skip(2);
        assert_eq!(left(&arrivals, 1_000_000_000), 0);
        assert_eq!(arrivals.next_at().ns(), 1_000_000_000);
        let pace = Pace::Poisson { per_s: 1_000_000_000, iodepth: 1 };
        let mut arrivals = Arrivals::new(pace, 1).unwrap();
        assert_eq!(left(&arrivals, 30_000_000_000), 30_000_000_000);
        arrivals.skip(10_000_000_000);
        assert_eq!(left(&arrivals, 30_000_000_000), 20_000_000_000);
    }

    #[test]
    fn a_block_may_take_longer_than_a_second() {
        let pace = Pace::Slow { rate: Bytes::kib(1), block: Bytes::kib(4), iodepth: 1 };
        let mut arrivals = Arrivals::new(pace, 0).unwrap();
        let left = arrivals.left_before(Time::from_ns(4_000_000_001));
        assert_eq!(left, 2, "at 0 and after four seconds");
        arrivals.skip(1);
        assert_eq!(arrivals.next_at().ns(), 4_000_000_000);
        assert_eq!(arrivals.next_at().ns(), 8_000_000_000);
        assert_eq!(arrivals.left_before(Time::from_ns(12_000_000_000)), 0);
    }

    #[test]
    fn poisson_rates_are_within_their_sampling_error_up_to_a_million_a_second() {
        for per_s in [1_000, 300_000, 700_000, 1_000_000] {
            let pace = Pace::Poisson { per_s, iodepth: 1 };
            let mut arrivals = Arrivals::new(pace, 9).unwrap();
            let count = 200_000_u32;
            let mut last = 0;
            for _ in 0..count {
                last = arrivals.next_at().ns();
            }
            let expected = f64::from(count) * 1e9 / f64::from(u32::try_from(per_s).unwrap());
            #[expect(clippy::cast_precision_loss, reason = "a test's tolerance")]
            let error = (last as f64 / expected - 1.0).abs();
            // The relative standard error of the mean of n exponentials is 1 / sqrt(n).
            assert!(error < 4.0 / f64::from(count).sqrt(), "{per_s}/s: off by {error}");
        }
    }

    #[test]
    fn poisson_arrivals_scatter_as_a_poisson_process_does() {
        // In windows of equal length the variance of the counts of a Poisson process equals their
        // mean; the index of dispersion of n counts is chi-squared over n - 1, with a standard
        // deviation of sqrt(2 / n), here 0.045.
        let (windows, expected) = (1_000_u64, 20_u64);
        for (seed, per_s) in [(1, 1_000), (2, 100_000), (3, 1_000_000)] {
            let pace = Pace::Poisson { per_s, iodepth: 1 };
            let mut arrivals = Arrivals::new(pace, seed).unwrap();
            let length = expected * 1_000_000_000 / per_s;
            let mut counts = vec![0_i64; usize::try_from(windows).unwrap()];
            let mut gaps = Vec::new();
            let mut last = 0;
            loop {
                let at = arrivals.next_at().ns();
                gaps.push(at - last);
                last = at;
                let Some(count) = counts.get_mut(usize::try_from(at / length).unwrap()) else {
                    break;
                };
                *count += 1;
            }
            let n: i64 = counts.iter().sum();
            let all = i64::try_from(windows).unwrap();
            // Four standard deviations of the count of all arrivals, which is their square root.
            assert!((n - 20 * all).abs() < 4 * 142, "seed {seed}, {per_s}/s: {n}");
            // The sum of squares about the mean, times the number of windows.
            let spread: i64 = counts.iter().map(|count| (count * all - n).pow(2) / all).sum();
            let dispersion = spread * 1_000 / n / (all - 1);
            assert!((820..1_180).contains(&dispersion), "seed {seed}, {per_s}/s: {dispersion}");
            // Of exponential gaps the share above the mean is 1 / e = 36.8 %, give or take 0.34 %.
            let mean = 1_000_000_000 / per_s;
            let longer = gaps.iter().filter(|gap| **gap > mean).count() * 1_000 / gaps.len();
            assert!((354..382).contains(&longer), "seed {seed}, {per_s}/s: {longer}");
        }
    }
}
