//! Choice of the next block to collect.

mod pool;
mod ranks;

use drivelab_core::Rng;

use pool::Pool;
use ranks::Ranks;

/// Choice of a block for collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The block with the fewest valid slots; of equals the first to reach that number.
    Greedy,
    /// The best of this many random blocks, drawn with replacement.
    BestOf(u32),
    /// The block that was closed first.
    Fifo,
    /// A random block.
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

    /// Adds a newly closed block.
    #[inline]
    pub(super) fn insert(&mut self, block: u32, valid: u32) {
        match self {
            Self::ByValid(ranks) => ranks.insert(block, valid),
            Self::ByAge(ranks) => ranks.insert(block, 0),
            Self::Drawn(pool, _) => pool.insert(block),
        }
    }

    /// Updates a block with fewer valid slots than before; ignored unless it is closed.
    #[inline]
    pub(super) fn lowered(&mut self, block: u32, valid: u32) {
        if let Self::ByValid(ranks) = self {
            ranks.lower(block, valid);
        }
    }

    /// Removes the next victim; `valid` returns the valid slots of a block.
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
