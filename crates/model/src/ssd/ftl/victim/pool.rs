//! Closed blocks in no order, for random draws.

use drivelab_core::Rng;

use super::super::address::NONE;

/// A set of blocks with equal probabilities.
#[derive(Debug, Clone)]
pub(in super::super) struct Pool {
    blocks: Vec<u32>,
    /// Index of each block in `blocks`.
    index: Vec<u32>,
}

impl Pool {
    pub(super) fn new(blocks: u32) -> Self {
        let count = blocks as usize;
        Self { blocks: Vec::with_capacity(count), index: vec![NONE; count] }
    }

    #[inline]
    pub(super) fn insert(&mut self, block: u32) {
        debug_assert_eq!(self.index[block as usize], NONE, "the block is in the pool twice");
        self.index[block as usize] = u32::try_from(self.blocks.len()).expect("as many as blocks");
        self.blocks.push(block);
    }

    /// Removes the block with the lowest key of `draws` blocks, drawn with replacement; of equals
    /// the first.
    pub(super) fn take_best(
        &mut self,
        draws: u32,
        rng: &mut Rng,
        key: impl Fn(u32) -> u32,
    ) -> Option<u32> {
        if self.blocks.is_empty() {
            return None;
        }
        let mut best: Option<(u32, u32)> = None;
        // With replacement, as in Van Houdt's analysis of this policy.
        for _ in 0..draws.max(1) {
            let index = rng.below(self.blocks.len() as u64);
            let block = self.blocks[usize::try_from(index).expect("below a length")];
            let candidate = (key(block), block);
            if best.is_none_or(|(lowest, _)| candidate.0 < lowest) {
                best = Some(candidate);
            }
        }
        let (_, block) = best?;
        self.remove(block);
        Some(block)
    }

    fn remove(&mut self, block: u32) {
        let index = self.index[block as usize] as usize;
        self.index[block as usize] = NONE;
        self.blocks.swap_remove(index);
        // The last block has taken the index of the removed one.
        if let Some(moved) = self.blocks.get(index) {
            self.index[*moved as usize] = u32::try_from(index).expect("as many as blocks");
        }
    }

    pub(super) fn holds(&self, block: u32) -> bool {
        self.index[block as usize] != NONE
    }
}
