//! Where each unit lies, and how much of each block is still valid.

use super::address::{Block, NONE, Shape, Slot, Unit};

/// The mapping both ways, with the number of valid slots of each block.
///
/// A slot is valid as long as it holds the newest version of its unit.
#[derive(Debug, Clone)]
pub(super) struct Map {
    to_slot: Vec<u32>,
    to_unit: Vec<u32>,
    valid: Vec<u32>,
}

impl Map {
    pub(super) fn new(shape: &Shape) -> Self {
        let len = |count: u64| usize::try_from(count).expect("the shape was checked");
        Self {
            to_slot: vec![NONE; shape.units as usize],
            to_unit: vec![NONE; len(shape.slots())],
            valid: vec![0; len(shape.blocks())],
        }
    }

    #[inline]
    pub(super) fn slot_of(&self, unit: Unit) -> Option<Slot> {
        let slot = self.to_slot[unit.index()];
        (slot != NONE).then_some(Slot(slot))
    }

    #[inline]
    pub(super) fn unit_in(&self, slot: Slot) -> Option<Unit> {
        let unit = self.to_unit[slot.index()];
        (unit != NONE).then_some(Unit(unit))
    }

    #[inline]
    pub(super) fn valid(&self, block: Block) -> u32 {
        self.valid[block.index()]
    }

    /// Records that `unit`, which lies nowhere, is now in `slot` of `block`.
    #[inline]
    pub(super) fn bind(&mut self, unit: Unit, slot: Slot, block: Block) {
        debug_assert!(self.slot_of(unit).is_none(), "{unit:?} lies somewhere else");
        debug_assert!(self.unit_in(slot).is_none(), "{slot:?} holds another unit");
        self.to_slot[unit.index()] = slot.0;
        self.to_unit[slot.index()] = unit.0;
        self.valid[block.index()] += 1;
    }

    /// Makes the slot of `unit` invalid and returns it.
    #[inline]
    pub(super) fn release(&mut self, unit: Unit) -> Option<Slot> {
        let slot = self.slot_of(unit)?;
        self.to_slot[unit.index()] = NONE;
        self.to_unit[slot.index()] = NONE;
        Some(slot)
    }

    /// Counts one valid slot of `block` less and returns how many are left.
    #[inline]
    pub(super) fn lower(&mut self, block: Block) -> u32 {
        let valid = &mut self.valid[block.index()];
        *valid -= 1;
        *valid
    }
}
