//! Rules that do not hold.

use super::address::{Block, Die, Slot, Unit};

/// A rule that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A unit's slot holds another unit, or none.
    #[error("the slot of {unit:?} does not hold it")]
    SlotForgot {
        /// The unit.
        unit: Unit,
    },
    /// A slot holds a unit that lies elsewhere.
    #[error("{slot:?} is valid, but its unit lies elsewhere")]
    UnitForgot {
        /// The slot.
        slot: Slot,
    },
    /// A block's count of valid slots is wrong.
    #[error("{block:?} counts {counted} valid slots and has {found}")]
    ValidCount {
        /// The block.
        block: Block,
        /// What it counts.
        counted: u32,
        /// What it has.
        found: u32,
    },
    /// A slot is valid that was not written since its block was erased.
    #[error("{slot:?} is valid, but was not written")]
    NotWritten {
        /// The slot.
        slot: Slot,
    },
    /// A block is not where its state says.
    #[error("{block:?} is not where its state says")]
    Misplaced {
        /// The block.
        block: Block,
    },
    /// The erases of the blocks do not add up to the total.
    #[error("the erases of all blocks are {sum}, not {total}")]
    WearSum {
        /// Added up.
        sum: u64,
        /// Counted.
        total: u64,
    },
    /// Units written are not units erased and units still on the flash.
    #[error("{written} units were written, but {erased} erased and {present} are on the flash")]
    Balance {
        /// Units written by host and collection.
        written: u64,
        /// Units erased.
        erased: u64,
        /// Slots in use.
        present: u64,
    },
    /// A die's count of valid slots is wrong.
    #[error("{die:?} counts {counted} valid slots and has {found}")]
    ValidOnDie {
        /// The die.
        die: Die,
        /// What it counts.
        counted: u32,
        /// What it has.
        found: u32,
    },
    /// A die has less space than its collection needs.
    #[error("{die:?} has less space than its collection needs")]
    NoReserve {
        /// The die.
        die: Die,
    },
}
