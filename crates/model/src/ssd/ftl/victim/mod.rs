//! Which block is collected next.

mod pool;
mod ranks;

use drivelab_core::Rng;

use pool::Pool;
use ranks::Ranks;

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
    ByValid(Ranks),
    ByAge(Ranks),
    Drawn(Pool, u32),
}

impl Victims {
    pub(super) fn new(choice: Choice, blocks: u32, slots_per_block: u32) -> Self {
        match choice {
            Choice::Greedy => Self::ByValid(Ranks::new(blocks, slots_per_block)),
            Choice::Fifo => Self::ByAge(Ranks::new(blocks, 0)),
            Choice::BestOf(draws) => Self::Drawn(Pool::new(blocks), draws),
            Choice::Random => Self::Drawn(Pool::new(blocks), 1),
        }
    }

    /// Adds a block that was just closed.
    #[inline]
    pub(super) fn insert(&mut self, block: u32, valid: u32) {
        match self {
            Self::ByValid(ranks) => ranks.insert(block, valid),
            Self::ByAge(ranks) => ranks.insert(block, 0),
            Self::Drawn(pool, _) => pool.insert(block),
        }
    }

    /// A block has fewer valid slots than before; of interest only if it is closed.
    #[inline]
    pub(super) fn lowered(&mut self, block: u32, valid: u32) {
        if let Self::ByValid(ranks) = self {
            ranks.lower(block, valid);
        }
    }

    /// Takes the next victim; `valid` tells the valid slots of a block.
    pub(super) fn take(&mut self, rng: &mut Rng, valid: impl Fn(u32) -> u32) -> Option<u32> {
        match self {
            Self::ByValid(ranks) | Self::ByAge(ranks) => ranks.take_lowest(),
            Self::Drawn(pool, draws) => pool.take_best(*draws, rng, valid),
        }
    }

    pub(super) fn holds(&self, block: u32) -> bool {
        match self {
            Self::ByValid(ranks) | Self::ByAge(ranks) => ranks.holds(block),
            Self::Drawn(pool, _) => pool.holds(block),
        }
    }
}
