//! Closed blocks without an order, to draw from.

use drivelab_core::Rng;

use super::super::address::NONE;

/// A set of blocks from which each is drawn equally often.
#[derive(Debug, Clone)]
pub(in super::super) struct Pool {
    blocks: Vec<u32>,
    /// Where each block stands in `blocks`.
    place: Vec<u32>,
}

impl Pool {
    pub(super) fn new(blocks: u32) -> Self {
        let count = blocks as usize;
        Self { blocks: Vec::with_capacity(count), place: vec![NONE; count] }
    }

    #[inline]
    pub(super) fn insert(&mut self, block: u32) {
        debug_assert_eq!(self.place[block as usize], NONE, "the block is in the pool twice");
        self.place[block as usize] = u32::try_from(self.blocks.len()).expect("as many as blocks");
        self.blocks.push(block);
    }

    /// Takes the block with the lowest key of `draws` blocks, drawn with replacement; the first
    /// drawn where keys are equal.
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
        for _ in 0..draws.max(1) {
            let place = rng.below(self.blocks.len() as u64);
            let block = self.blocks[usize::try_from(place).expect("below a length")];
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
        let place = self.place[block as usize] as usize;
        self.place[block as usize] = NONE;
        self.blocks.swap_remove(place);
        if let Some(moved) = self.blocks.get(place) {
            self.place[*moved as usize] = u32::try_from(place).expect("as many as blocks");
        }
    }

    pub(super) fn holds(&self, block: u32) -> bool {
        self.place[block as usize] != NONE
    }
}
