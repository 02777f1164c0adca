//! Which block is collected next.

mod buckets;
mod pool;

use drivelab_core::Rng;

use buckets::Buckets;
use pool::Pool;

/// How a block is chosen for collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The block with the fewest valid slots; the one that reached them first of several.
    Greedy,
    /// The best of this many drawn at random, with replacement.
    BestOf(u32),
    /// The block that was closed first.
    Fifo,
    /// Any block, whatever it holds.
    Random,
}

/// The closed blocks of one die, numbered from 0.
#[derive(Debug, Clone)]
pub(super) enum Victims {
    ByValid(Buckets),
    ByAge(Buckets),
    Drawn(Pool, u32),
}

impl Victims {
    pub(super) fn new(choice: Choice, blocks: u32, slots_per_block: u32) -> Self {
        match choice {
            Choice::Greedy => Self::ByValid(Buckets::new(blocks, slots_per_block)),
            Choice::Fifo => Self::ByAge(Buckets::new(blocks, 0)),
            Choice::BestOf(draws) => Self::Drawn(Pool::new(blocks), draws),
            Choice::Random => Self::Drawn(Pool::new(blocks), 1),
        }
    }

    /// Adds a block that was just closed.
    #[inline]
    pub(super) fn insert(&mut self, block: u32, valid: u32) {
        match self {
            Self::ByValid(buckets) => buckets.insert(block, valid),
            Self::ByAge(buckets) => buckets.insert(block, 0),
            Self::Drawn(pool, _) => pool.insert(block),
        }
    }

    /// A closed block has fewer valid slots than before.
    #[inline]
    pub(super) fn lowered(&mut self, block: u32, valid: u32) {
        if let Self::ByValid(buckets) = self {
            buckets.remove(block);
            buckets.insert(block, valid);
        }
    }

    /// Takes the next victim; `valid` tells the valid slots of a block.
    pub(super) fn take(&mut self, rng: &mut Rng, valid: impl Fn(u32) -> u32) -> Option<u32> {
        match self {
            Self::ByValid(buckets) | Self::ByAge(buckets) => buckets.take_lowest(),
            Self::Drawn(pool, draws) => pool.take_best(*draws, rng, valid),
        }
    }

    pub(super) fn holds(&self, block: u32) -> bool {
        match self {
            Self::ByValid(buckets) | Self::ByAge(buckets) => buckets.holds(block),
            Self::Drawn(pool, _) => pool.holds(block),
        }
    }
}
