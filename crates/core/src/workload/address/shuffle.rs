//! Every block once, in random order, before any is repeated.

use crate::rng::Rng;

/// Rounds of the mixing below: with two, successive draws are visibly a few fixed distances apart;
/// with three the test of their distances finds nothing.
const ROUNDS: usize = 3;

/// Draws all numbers below a count once before any of them is repeated, each time in another order.
///
/// fio keeps a bit per block to record which are left. A permutation that can be computed needs no
/// memory, and no search when few are left: numbers with as many bits as the count are multiplied
/// by odd factors and folded. Both operations are invertible, so each result comes from one number
/// only. Results beyond the count are skipped, at most every other one.
#[derive(Debug, Clone)]
pub(in crate::workload) struct Shuffle {
    count: u64,
    mask: u64,
    fold: u32,
    keys: [(u64, u64); ROUNDS],
    next: u64,
}

impl Shuffle {
    /// Numbers below `count`, which is above zero.
    pub(super) fn new(count: u64) -> Self {
        assert!(count > 0, "there is no number to draw");
        let bits = u64::BITS - (count - 1).leading_zeros();
        let mask = 1_u64.checked_shl(bits).map_or(u64::MAX, |end| end - 1);
        // The first draw finds the end of a pass, and begins one.
        Self { count, mask, fold: bits.div_ceil(2).max(1), keys: [(0, 0); ROUNDS], next: mask }
    }

    /// The next number.
    #[inline]
    pub(super) fn draw(&mut self, rng: &mut Rng) -> u64 {
        loop {
            if self.next == self.mask {
                self.begin(rng);
            } else {
                self.next += 1;
            }
            let mixed = self.mix(self.next);
            debug_assert!(mixed <= self.mask);
            // At least every other number is below the count: the mask is less than twice as large.
            if mixed < self.count {
                return mixed;
            }
        }
    }

    #[cold]
    fn begin(&mut self, rng: &mut Rng) {
        // Odd factors are invertible modulo a power of two.
        self.keys = std::array::from_fn(|_| (rng.bits() | 1, rng.bits()));
        self.next = 0;
    }

    #[inline]
    fn mix(&self, number: u64) -> u64 {
        self.keys.iter().fold(number, |mixed, (factor, shift)| {
            let product = mixed.wrapping_mul(*factor).wrapping_add(*shift) & self.mask;
            product ^ (product >> self.fold)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once_in_each_pass() {
        for count in [1, 2, 3, 5, 64, 1000, 4097] {
            let (mut shuffle, mut rng) = (Shuffle::new(count), Rng::new(3));
            let mut pass = || -> Vec<u64> { (0..count).map(|_| shuffle.draw(&mut rng)).collect() };
            let (first, second) = (pass(), pass());
            for mut drawn in [first.clone(), second.clone()] {
                drawn.sort_unstable();
                assert!(drawn.iter().copied().eq(0..count), "{count}: {first:?}");
            }
            assert!(count < 64 || first != second, "{count}: both passes are alike");
        }
    }

    #[test]
    fn neighbours_in_the_sequence_lie_as_far_apart_as_chance_has_it() {
        for seed in 1..=5 {
            let count = 100_000_u32;
            let (mut shuffle, mut rng) = (Shuffle::new(count.into()), Rng::new(seed));
            let mut last = shuffle.draw(&mut rng);
            let mut sixths = [0_u32; 6];
            for _ in 1..count {
                let next = shuffle.draw(&mut rng);
                let apart = next.abs_diff(last);
                sixths[usize::try_from(apart * 6 / u64::from(count)).unwrap()] += 1;
                last = next;
            }
            // The distance of two draws below 1 is below x with probability 2x - x^2.
            for (sixth, seen) in (0..6).zip(sixths) {
                let expected = f64::from(count) * f64::from(11 - 2 * sixth) / 36.0;
                let error = f64::from(seen) / expected - 1.0;
                assert!(error.abs() < 0.1, "seed {seed}: {sixths:?}");
            }
        }
    }
}
