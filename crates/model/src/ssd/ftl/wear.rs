//! How often each block was erased.

use super::address::Block;

/// Erases of each block and of all together.
#[derive(Debug, Clone)]
pub(super) struct Wear {
    erases: Vec<u32>,
    total: u64,
}

/// How evenly blocks are worn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WearSummary {
    /// Erases of all blocks.
    pub total: u64,
    /// Erases of the block that was erased least.
    pub least: u32,
    /// Erases of the block that was erased most.
    pub most: u32,
}

impl Wear {
    pub(super) fn new(blocks: u64) -> Self {
        let blocks = usize::try_from(blocks).expect("the shape was checked");
        Self { erases: vec![0; blocks], total: 0 }
    }

    #[inline]
    pub(super) fn erased(&mut self, block: Block) {
        self.erases[block.index()] += 1;
        self.total += 1;
    }

    /// Sets the erases of a block that had none.
    pub(super) fn set(&mut self, block: Block, erases: u32) {
        self.erases[block.index()] = erases;
        self.total += u64::from(erases);
    }

    pub(super) fn of(&self, block: Block) -> u32 {
        self.erases[block.index()]
    }

    pub(super) fn summary(&self) -> WearSummary {
        let least = self.erases.iter().copied().min().unwrap_or(0);
        let most = self.erases.iter().copied().max().unwrap_or(0);
        WearSummary { total: self.total, least, most }
    }
}
