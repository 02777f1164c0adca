//! Seeded randomness, the same on every machine.

mod hypercube;

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub use hypercube::hypercube;

use crate::units::{Ratio, Span};

/// A seeded generator of everything that is random in the laboratory.
///
/// Xoshiro256++ (Blackman and Vigna 2021), seeded through `SplitMix64` by the library.
#[derive(Debug, Clone)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The generator for `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// An independent generator for part `index` of a run, study or plan with this seed.
    ///
    /// Parts keep their randomness when others are added or left out. This pairs runs: a block's
    /// arms draw the same addresses regardless of the rest of the study.
    pub fn for_part(seed: u64, index: u64) -> Self {
        // An odd multiplier (2^64 over the golden ratio) spreads neighbouring indices; the
        // SplitMix64 of the library then mixes the sum.
        Self::new(seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..limit`, each equally likely.
    ///
    /// # Panics
    /// `limit` is 0: there is nothing to choose from.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "cannot choose below zero");
        // Lemire 2019, "Fast random integer generation in an interval", algorithm 5.
        let mut product = u128::from(self.bits()) * u128::from(limit);
        if low_half(product) < limit {
            let threshold = limit.wrapping_neg() % limit;
            while low_half(product) < threshold {
                product = u128::from(self.bits()) * u128::from(limit);
            }
        }
        debug_assert!(high_half(product) < limit);
        high_half(product)
    }

    /// A number in `low..=high`, each equally likely.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "the lower end lies above the upper");
        match high - low {
            // One more than this width does not fit into 64 bits.
            u64::MAX => self.bits(),
            width => low + self.below(width + 1),
        }
    }

    /// Returns true with probability `ratio`.
    #[inline]
    pub fn chance(&mut self, ratio: Ratio) -> bool {
        self.below(Ratio::ONE.billionths()) < ratio.billionths()
    }

    /// A uniform float in [0, 1) with 53 random bits.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a float exactly")]
    pub fn unit(&mut self) -> f64 {
        // 53 bits fill the mantissa, so every multiple of 2^-53 is equally likely.
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An exponential span with this mean, rounded to the nearest nanosecond.
    ///
    /// Rounding rather than truncating keeps the mean right at a million arrivals a second.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "at most 36.7 times the mean and never negative; casts saturate"
    )]
    pub fn exponential(&mut self, mean: Span) -> Span {
        // 1 - unit lies in (0, 1], so the logarithm is finite.
        let draw = -libm::log(1.0 - self.unit()) * mean.ns() as f64;
        Span::from_ns((draw + 0.5) as u64)
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = usize::try_from(self.below(last as u64 + 1)).expect("below a usize");
            items.swap(last, chosen);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only the low half is wanted")]
const fn low_half(product: u128) -> u64 {
    product as u64
}

const fn high_half(product: u128) -> u64 {
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_on_every_machine() {
        let mut rng = Rng::new(1);
        let drawn: Vec<u64> = (0..3).map(|_| rng.below(1000)).collect();
        let again: Vec<u64> = {
            let mut rng = Rng::new(1);
            (0..3).map(|_| rng.below(1000)).collect()
        };
        assert_eq!(drawn, again);
        assert_ne!(Rng::new(1).bits(), Rng::new(2).bits());
        assert_ne!(Rng::for_part(1, 0).bits(), Rng::for_part(1, 1).bits());
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::new(7);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[usize::try_from(rng.below(10)).unwrap()] += 1;
        }
        // 10,000 expected, standard deviation 95: six of them.
        assert!(counts.iter().all(|count| (9_430..10_570).contains(count)), "{counts:?}");
    }

    #[test]
    fn exponential_spans_keep_their_mean_even_at_a_microsecond() {
        let mut rng = Rng::new(3);
        for mean in [1_000_u64, 1_000_000] {
            let total: u64 = (0..100_000).map(|_| rng.exponential(Span::from_ns(mean)).ns()).sum();
            let (low, high) = (mean * 98_000, mean * 102_000);
            assert!((low..high).contains(&total), "mean {mean}: {total}");
        }
    }
}
