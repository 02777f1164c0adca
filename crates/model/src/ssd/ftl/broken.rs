//! Violations of the translation layer's rules.

use super::address::{Block, Die, Slot, Unit};

/// A violated rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A unit's slot holds another unit, or none.
    #[error("the slot of {unit:?} does not hold it")]
    SlotForgot {
        /// The unit.
        unit: Unit,
    },
    /// A slot holds a unit that is mapped to another slot.
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
        /// Its counter.
        counted: u32,
        /// The actual number.
        found: u32,
    },
    /// A valid slot was not written since its block was erased.
    #[error("{slot:?} is valid, but was not written")]
    NotWritten {
        /// The slot.
        slot: Slot,
    },
    /// A block is not in the list of its state.
    #[error("{block:?} is not where its state says")]
    Misplaced {
        /// The block.
        block: Block,
    },
    /// The erases of the blocks do not add up to the total.
    #[error("the erases of all blocks are {sum}, not {total}")]
    WearSum {
        /// The sum.
        sum: u64,
        /// The total.
        total: u64,
    },
    /// Written units do not equal erased units plus units on the flash.
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
        /// Its counter.
        counted: u32,
        /// The actual number.
        found: u32,
    },
    /// A die has less space than its collection needs.
    #[error("{die:?} has less space than its collection needs")]
    NoReserve {
        /// The die.
        die: Die,
    },
}
