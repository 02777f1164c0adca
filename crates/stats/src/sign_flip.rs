//! The sign-flip permutation test.
//!
//! Without a difference, the arm of a block with the larger value is a coin toss. The test compares
//! the observed sum with the sums under all, or very many, other tosses; of tens of thousands of
//! blocks with the normal limit of these sums, whose error is bounded.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::distribution::normal;

/// Up to here all 2^n tosses are tried.
pub const EXACT_MAX: usize = 16;
/// Random tosses above: a p of 5 % is then known to 0.3 points (two standard errors).
pub const RANDOM_FLIPS: u32 = 20_000;
/// Blocks up to which all of these are tried; above, fewer in proportion, so that the work is the
/// same. At the largest number of blocks, a p of 5 % is known to one point (by flips).
const WITH_ALL_FLIPS_MAX: usize = 10_000;
/// The normal limit is taken above this number of blocks: there fewer flips would be tried.
const LIMIT_ABOVE: usize = WITH_ALL_FLIPS_MAX;
/// The constant of the Berry-Esseen inequality for sums of variables that need not be alike
/// (Shevtsova 2013, "On the absolute constants in the Berry-Esseen inequality and its structural
/// and nonuniform improvements": 0.5583).
const BERRY_ESSEEN: f64 = 0.5583;
/// The largest error of the limit that is accepted; above, flips are tried.
const LIMIT_ERROR_MAX: f64 = 0.01;
/// Flips whose sums are computed together.
const AT_ONCE: usize = 256;
/// Words of signs that are sorted by block together: a line of the processor's cache.
const WORDS_AT_ONCE: usize = 8;
/// Sums that differ by less than this fraction of the largest possible sum are equal: rounding.
pub(crate) const TIE: f64 = 1e-12;

/// Returns the two-sided p value of "the centre of `d` is zero".
pub fn p_value(d: &[f64], seed: u64) -> f64 {
    LastTosses::default().p_value(d, seed)
}

/// Returns the p value by the normal limit of the sums, never smaller than that of all flips;
/// `None` where the blocks are too few, or a few of them decide the sum: the limit is rough then.
pub(crate) fn p_value_in_the_limit(d: &[f64]) -> Option<f64> {
    if d.len() <= LIMIT_ABOVE {
        return None;
    }
    if d.iter().all(|v| *v == 0.0) {
        return Some(1.0);
    }
    let squares: f64 = d.iter().map(|v| v * v).sum();
    let cubes: f64 = d.iter().map(|v| v.abs() * v * v).sum();
    let spread = squares.sqrt();
    // Both tails.
    let error = 2.0 * BERRY_ESSEEN * cubes / (squares * spread);
    // Values that are too small to be squared have no finite error.
    if !error.is_finite() || error > LIMIT_ERROR_MAX {
        return None;
    }
    let z = d.iter().sum::<f64>().abs() / spread;
    let normal = 2.0 * normal::upper_tail(z) + error;
    // Hoeffding's inequality: exact, and the smaller one far out, where the error is most of it.
    let hoeffding = 2.0 * libm::exp(-0.5 * z * z);
    Some(normal.min(hoeffding).min(1.0))
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

/// The signs of several flips, a bit for each block.
#[derive(Debug)]
pub(crate) struct Signs {
    /// For each eight blocks one byte of each flip, one flip after the other.
    bytes: Vec<u8>,
    flips: usize,
}

impl Signs {
    fn new(blocks: usize, flips: usize) -> Self {
        Self { bytes: vec![0; blocks.div_ceil(8) * flips], flips }
    }

    /// Sets the signs of all flips: `words` has those of 64 blocks each, flip by flip.
    fn set(&mut self, words: &[u64]) {
        let in_flip = words.len() / self.flips;
        debug_assert_eq!(in_flip * self.flips, words.len(), "as many words for each flip");
        // A few words of every flip at a time: what is read and written then stays in the cache.
        for first in (0..in_flip).step_by(WORDS_AT_ONCE) {
            let last = (first + WORDS_AT_ONCE).min(in_flip);
            for (flip, words) in words.chunks_exact(in_flip).enumerate() {
                let bytes = words[first..last].iter().flat_map(|word| word.to_le_bytes());
                let groups = self.bytes[first * 8 * self.flips..].chunks_exact_mut(self.flips);
                for (group, byte) in groups.zip(bytes) {
                    group[flip] = byte;
                }
            }
        }
    }
}

/// The flips of a number of blocks: drawn once for all metrics that share these blocks.
#[derive(Debug)]
pub(crate) struct Tosses {
    blocks: usize,
    seed: u64,
    flips: Flips,
    /// Up to [`AT_ONCE`] flips each; 25 MB of the largest numbers of blocks.
    batches: Vec<Signs>,
}

impl Tosses {
    /// Draws the flips of `blocks` blocks.
    pub(crate) fn new(blocks: usize, seed: u64) -> Self {
        // Turning all signs mirrors the sum, so the sign of the last block can stay.
        let flips = match blocks {
            ..=EXACT_MAX => Flips::All(1 << blocks.saturating_sub(1)),
            _ => Flips::Sample(random_flips(blocks)),
        };
        let (Flips::All(count) | Flips::Sample(count)) = flips;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let words = blocks.div_ceil(64).max(1);
        let mut batches = Vec::new();
        for first in (0..count).step_by(AT_ONCE) {
            let batch = (first..count).take(AT_ONCE);
            let mut signs = Signs::new(blocks, batch.len());
            let drawn: Vec<u64> = match flips {
                Flips::All(_) => batch.map(u64::from).collect(),
                Flips::Sample(_) => batch.flat_map(|_| 0..words).map(|_| rng.next_u64()).collect(),
            };
            signs.set(&drawn);
            batches.push(signs);
        }
        Self { blocks, seed, flips, batches }
    }

    /// Returns the two-sided p value of "the centre of `d` is zero".
    pub(crate) fn p_value(&self, d: &[f64]) -> f64 {
        assert_eq!(d.len(), self.blocks, "the flips of these blocks");
        let table = SignTable::new(d);
        let largest: f64 = d.iter().map(|v| v.abs()).sum();
        // Ties count as at least as large, so that rounding never makes p smaller.
        let observed = d.iter().sum::<f64>().abs() - TIE * largest;
        let mut as_large = 0_u32;
        for signs in &self.batches {
            for sum in table.sums(signs) {
                as_large += u32::from(sum.abs() >= observed);
            }
        }
        self.flips.p_value(as_large)
    }

    /// Returns the signs of all flips, some flips at a time.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &Signs> {
        self.batches.iter()
    }

    pub(crate) fn flips(&self) -> Flips {
        self.flips
    }
}

/// The flips drawn last, which the next metric of the same blocks uses again.
#[derive(Debug, Default)]
pub(crate) struct LastTosses(Option<Tosses>);

impl LastTosses {
    /// Returns the two-sided p value of "the centre of `d` is zero".
    pub(crate) fn p_value(&mut self, d: &[f64], seed: u64) -> f64 {
        p_value_in_the_limit(d).unwrap_or_else(|| self.of(d.len(), seed).p_value(d))
    }

    /// Returns the flips of `blocks` blocks.
    pub(crate) fn of(&mut self, blocks: usize, seed: u64) -> &Tosses {
        if self.0.as_ref().is_none_or(|last| (last.blocks, last.seed) != (blocks, seed)) {
            self.0 = Some(Tosses::new(blocks, seed));
        }
        self.0.as_ref().expect("drawn above")
    }
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

    /// Returns the sum of each flip.
    pub(crate) fn sums(&self, signs: &Signs) -> Vec<f64> {
        debug_assert_eq!(self.groups.len() * signs.flips, signs.bytes.len(), "a byte a group");
        let mut sums = vec![0.0; signs.flips];
        // A group is in the processor's cache for all flips: of many blocks not all groups fit.
        for (group, bytes) in self.groups.iter().zip(signs.bytes.chunks_exact(signs.flips)) {
            for (sum, byte) in sums.iter_mut().zip(bytes) {
                *sum += group[usize::from(*byte)];
            }
        }
        sums
    }
}

/// Returns the sum for every choice of signs; a set bit is a minus.
fn group(values: &[f64]) -> [f64; 256] {
    debug_assert!(values.len() <= 8);
    let mut sums = [0.0; 256];
    for (position, value) in values.iter().enumerate() {
        // The sums of the values before this one stand in the first 2^position entries.
        let (plus, minus) = sums.split_at_mut(1 << position);
        for (plus, minus) in plus.iter_mut().zip(minus) {
            *minus = *plus - value;
            *plus += value;
        }
    }
    // Bits beyond the last value mean nothing.
    let distinct = 1 << values.len();
    for bits in distinct..sums.len() {
        sums[bits] = sums[bits % distinct];
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

    /// Log ratios of many blocks around `centre`, in units of their standard deviation.
    fn many(blocks: u32, centre: f64) -> Vec<f64> {
        (0..blocks)
            .map(|i| normal::quantile((f64::from(i) + 0.5) / f64::from(blocks)) + centre)
            .collect()
    }

    #[test]
    fn the_limit_is_near_the_flips_and_not_below_their_bound() {
        let blocks = 100_000;
        for z in [0.0, 0.5, 1.0, 1.96, 2.5, 3.5] {
            let d = many(blocks, z / f64::from(blocks).sqrt());
            let limit = p_value_in_the_limit(&d).expect("many blocks that are alike");
            let flips = Tosses::new(d.len(), 7).p_value(&d);
            // A p of 2,000 flips is known to 2.2 points (two standard errors of a p of one half).
            assert!((limit - flips).abs() < 0.03, "z = {z}: {limit}, by flips {flips}");
            assert!(limit >= 2.0 * normal::upper_tail(z), "z = {z}: {limit}");
        }
    }

    #[test]
    fn the_limit_far_out_is_the_bound_that_holds_exactly() {
        let d = many(100_000, 10.0 / f64::from(100_000).sqrt());
        let p = p_value_in_the_limit(&d).expect("many blocks that are alike");
        assert!(p < 1e-20, "{p}");
    }

    #[test]
    fn few_blocks_and_blocks_of_which_few_decide_have_no_limit() {
        assert_eq!(p_value_in_the_limit(&many(10_000, 0.0)), None);
        assert_eq!(p_value_in_the_limit(&vec![0.0; 50_000]), Some(1.0));
        assert_eq!(p_value_in_the_limit(&vec![1e-200; 50_000]), None);
        let mut d = many(50_000, 0.0);
        d[3] = 1_000.0;
        assert_eq!(p_value_in_the_limit(&d), None);
        // The flips see that one value decides: the rest adds to it or takes from it.
        assert!(p_value(&d, 1) > 0.4);
    }

    #[test]
    fn sums_of_flips_are_those_of_the_signed_values() {
        let values: Vec<f64> = (0..77_u32).map(|i| f64::from(i * i % 31) - 11.5).collect();
        let table = SignTable::new(&values);
        let mut seen = 0;
        let tosses = Tosses::new(values.len(), 3);
        for signs in tosses.batches() {
            for (flip, sum) in table.sums(signs).into_iter().enumerate() {
                let sign =
                    |block: usize| signs.bytes[block / 8 * signs.flips + flip] >> (block % 8) & 1;
                let signed = values.iter().enumerate();
                let expected: f64 =
                    signed.map(|(block, v)| if sign(block) == 0 { *v } else { -v }).sum();
                assert!((sum - expected).abs() < 1e-9, "flip {flip}: {sum}, not {expected}");
                seen += 1;
            }
        }
        let flips = tosses.flips();
        assert!(matches!(flips, Flips::Sample(RANDOM_FLIPS)) && seen == RANDOM_FLIPS, "{flips:?}");
    }
}
