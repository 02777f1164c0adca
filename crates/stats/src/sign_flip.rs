//! The sign-flip permutation test.
//!
//! Without a difference, the arm of a block with the larger value is a coin toss. The test compares
//! the observed sum with the sums under all, or very many, other tosses.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Up to here all 2^n tosses are tried.
pub const EXACT_MAX: usize = 16;
/// Random tosses above: a p of 5 % is then known to 0.3 points (two standard errors).
pub const RANDOM_FLIPS: u32 = 20_000;
/// Blocks up to which all of these are tried; above, fewer in proportion, so that the work is the
/// same. At the largest number of blocks, a p of 5 % is known to one point.
const WITH_ALL_FLIPS_MAX: usize = 10_000;
/// Sums that differ by less than this fraction of the largest possible sum are equal: rounding.
pub(crate) const TIE: f64 = 1e-12;

/// Returns the two-sided p value of "the centre of `d` is zero".
pub fn p_value(d: &[f64], seed: u64) -> f64 {
    let table = SignTable::new(d);
    let largest: f64 = d.iter().map(|v| v.abs()).sum();
    // Ties count as at least as large, so that rounding never makes p smaller.
    let observed = d.iter().sum::<f64>().abs() - TIE * largest;
    let mut as_large = 0_u32;
    let flips = for_each_flip(d.len(), seed, |mask| {
        as_large += u32::from(table.sum(mask).abs() >= observed);
    });
    flips.p_value(as_large)
}

/// The number of flips tried, and their choice.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flips {
    /// All of them (half: the other half mirrors them).
    All(u32),
    /// A random sample.
    Sample(u32),
}

impl Flips {
    pub(crate) fn p_value(self, as_large: u32) -> f64 {
        match self {
            Self::All(count) => f64::from(as_large) / f64::from(count),
            // The observed sample counts as one of the tosses: p is never zero and never too small.
            Self::Sample(count) => f64::from(as_large + 1) / f64::from(count + 1),
        }
    }
}

/// Calls `visit` with the signs of each flip, eight blocks to a byte.
pub(crate) fn for_each_flip(blocks: usize, seed: u64, mut visit: impl FnMut(&[u8])) -> Flips {
    if blocks <= EXACT_MAX {
        // Turning all signs mirrors the sum, so the sign of the last block can stay.
        let count = 1_u32 << blocks.saturating_sub(1);
        for mask in 0..count {
            visit(&mask.to_le_bytes()[..blocks.div_ceil(8)]);
        }
        return Flips::All(count);
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut mask = vec![0_u8; blocks.div_ceil(8)];
    let flips = random_flips(blocks);
    for _ in 0..flips {
        for chunk in mask.chunks_mut(8) {
            chunk.copy_from_slice(&rng.next_u64().to_le_bytes()[..chunk.len()]);
        }
        visit(&mask);
    }
    Flips::Sample(flips)
}

/// The number of random tosses tried.
fn random_flips(blocks: usize) -> u32 {
    let work = RANDOM_FLIPS as usize * WITH_ALL_FLIPS_MAX;
    // Constant work: blocks times flips.
    let affordable = u32::try_from(work / blocks.max(1)).unwrap_or(u32::MAX);
    affordable.clamp(RANDOM_FLIPS / 10, RANDOM_FLIPS)
}

/// Sums of signed values, eight at a time: a flip costs n / 8 look-ups.
#[derive(Debug)]
pub(crate) struct SignTable {
    groups: Vec<[f64; 256]>,
}

impl SignTable {
    pub(crate) fn new(d: &[f64]) -> Self {
        Self { groups: d.chunks(8).map(group).collect() }
    }

    pub(crate) fn sum(&self, mask: &[u8]) -> f64 {
        debug_assert_eq!(self.groups.len(), mask.len(), "a byte for each eight blocks");
        self.groups.iter().zip(mask).map(|(group, byte)| group[usize::from(*byte)]).sum()
    }
}

/// Returns the sum for every choice of signs; a set bit is a minus.
fn group(values: &[f64]) -> [f64; 256] {
    debug_assert!(values.len() <= 8);
    let mut sums = [0.0; 256];
    for (bits, sum) in sums.iter_mut().enumerate() {
        for (position, value) in values.iter().enumerate() {
            *sum += if bits >> position & 1 == 0 { *value } else { -value };
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_blocks_have_fewer_flips() {
        let check = |blocks, expected| assert_eq!(random_flips(blocks), expected, "{blocks}");
        check(17, 20_000);
        check(10_000, 20_000);
        check(20_000, 10_000);
        check(100_000, 2_000);
    }
}
