//! Choices that the rules leave open: made by dice, or by a test that tries them all.

use drivelab_core::{Ratio, Rng};

/// Makes the choices that a power cut leaves open.
pub trait Choose {
    /// One of `options` possibilities, from 0; among a sector's values 0 is the durable one.
    fn choose(&mut self, options: usize) -> usize;
}

/// Random choices, by a seed.
///
/// A real cut loses all of the cache, or all except data in flight, or almost nothing: so the share
/// of sectors that keep a later value is drawn first, once per cut.
#[derive(Debug, Clone)]
pub struct Dice {
    rng: Rng,
    survivors: Ratio,
}

impl Dice {
    /// Dice for `seed`.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let shares = [0, 10, 50, 90];
        let drawn = usize::try_from(rng.below(shares.len() as u64)).expect("below four");
        Self { rng, survivors: Ratio::percent(shares[drawn]) }
    }
}

impl Choose for Dice {
    fn choose(&mut self, options: usize) -> usize {
        if options < 2 || !self.rng.chance(self.survivors) {
            return 0;
        }
        let later = self.rng.below(options as u64 - 1);
        1 + usize::try_from(later).expect("below a usize")
    }
}

/// Keeps the newest value of every sector: an orderly power-off.
#[derive(Debug, Clone, Copy)]
pub struct KeepAll;

impl Choose for KeepAll {
    fn choose(&mut self, options: usize) -> usize {
        options - 1
    }
}
