//! Erase counts of blocks.

use super::address::Block;

/// Erases of each block and their total.
#[derive(Debug, Clone)]
pub(super) struct Wear {
    erases: Vec<u32>,
    total: u64,
}

/// Range and total of erases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WearSummary {
    /// Erases of all blocks.
    pub total: u64,
    /// Minimum erases of a block.
    pub least: u32,
    /// Maximum erases of a block.
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

    /// Sets the erases of an unused block.
    pub(super) fn set(&mut self, block: Block, erases: u32) {
        debug_assert_eq!(self.erases[block.index()], 0, "{block:?} is in use");
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
