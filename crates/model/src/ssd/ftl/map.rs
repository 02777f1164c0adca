//! Where each unit lies, and how much of each block is still valid.

use super::address::{Block, NONE, Shape, Slot, Unit};

/// The mapping both ways, with the number of valid slots of each block.
///
/// A slot is valid as long as it holds the newest version of its unit. One bit says so, apart from
/// the unit: all bits of a drive fit the caches of a processor, its units do not. So an overwrite
/// costs one access to memory, to the place of its unit, not a second to what the old slot holds.
#[derive(Debug, Clone)]
pub(super) struct Map {
    to_slot: Vec<u32>,
    /// What was written to each slot last; only valid slots are asked.
    to_unit: Vec<u32>,
    /// One bit a slot: whether it is valid.
    is_valid: Vec<u64>,
    /// Valid slots of each block.
    valid: Vec<u32>,
}

impl Map {
    pub(super) fn new(shape: &Shape) -> Self {
        let len = |count: u64| usize::try_from(count).expect("the shape was checked");
        Self {
            to_slot: vec![NONE; shape.units as usize],
            to_unit: vec![NONE; len(shape.slots())],
            is_valid: vec![0; len(shape.slots().div_ceil(64))],
            valid: vec![0; len(shape.blocks())],
        }
    }

    #[inline]
    pub(super) fn slot_of(&self, unit: Unit) -> Option<Slot> {
        let slot = self.to_slot[unit.index()];
        (slot != NONE).then_some(Slot(slot))
    }

    /// Reads what an overwrite of `unit` changes; the value means nothing.
    #[inline]
    pub(super) fn place_in_memory(&self, unit: Unit) -> u64 {
        let slot = self.to_slot[unit.index()];
        // Past the end where the unit lies nowhere.
        self.is_valid.get(slot as usize / 64).copied().unwrap_or_default()
    }

    #[inline]
    pub(super) fn unit_in(&self, slot: Slot) -> Option<Unit> {
        self.is_valid(slot).then(|| Unit(self.to_unit[slot.index()]))
    }

    #[inline]
    fn is_valid(&self, slot: Slot) -> bool {
        self.is_valid[slot.index() / 64] >> (slot.0 % 64) & 1 != 0
    }

    /// The first valid slot from `from` to before `end`.
    #[inline]
    pub(super) fn next_valid(&self, from: Slot, end: Slot) -> Option<Slot> {
        if from >= end {
            return None;
        }
        let mut word = from.0 / 64;
        let mut bits = self.is_valid[word as usize] & (u64::MAX << (from.0 % 64));
        while bits == 0 {
            word += 1;
            if word * 64 >= end.0 {
                return None;
            }
            bits = self.is_valid[word as usize];
        }
        let slot = word * 64 + bits.trailing_zeros();
        (slot < end.0).then_some(Slot(slot))
    }

    #[inline]
    pub(super) fn valid(&self, block: Block) -> u32 {
        self.valid[block.index()]
    }

    /// Records that `unit`, which lies nowhere, is now in `slot` of `block`.
    #[inline]
    pub(super) fn bind(&mut self, unit: Unit, slot: Slot, block: Block) {
        debug_assert!(self.slot_of(unit).is_none(), "{unit:?} lies somewhere else");
        debug_assert!(!self.is_valid(slot), "{slot:?} holds another unit");
        self.to_slot[unit.index()] = slot.0;
        self.to_unit[slot.index()] = unit.0;
        self.is_valid[slot.index() / 64] |= 1 << (slot.0 % 64);
        self.valid[block.index()] += 1;
    }

    /// Makes the slot of `unit` invalid and returns it.
    #[inline]
    pub(super) fn release(&mut self, unit: Unit) -> Option<Slot> {
        let slot = self.slot_of(unit)?;
        self.to_slot[unit.index()] = NONE;
        self.is_valid[slot.index() / 64] &= !(1 << (slot.0 % 64));
        Some(slot)
    }

    /// Moves what is valid in slot `from` of block `out_of` to slot `to` of block `into` and
    /// returns its unit.
    ///
    /// The place of the unit is written without being read: nothing waits for the memory.
    #[inline]
    pub(super) fn move_unit(&mut self, from: (Slot, Block), to: (Slot, Block)) -> Unit {
        let ((from, out_of), (to, into)) = (from, to);
        let unit = Unit(self.to_unit[from.index()]);
        debug_assert_eq!(self.slot_of(unit), Some(from), "{from:?} is valid");
        debug_assert!(!self.is_valid(to), "{to:?} holds another unit");
        self.is_valid[from.index() / 64] &= !(1 << (from.0 % 64));
        self.valid[out_of.index()] -= 1;
        self.to_slot[unit.index()] = to.0;
        self.to_unit[to.index()] = unit.0;
        self.is_valid[to.index() / 64] |= 1 << (to.0 % 64);
        self.valid[into.index()] += 1;
        unit
    }

    /// Counts one valid slot of `block` less and returns how many are left.
    #[inline]
    pub(super) fn lower(&mut self, block: Block) -> u32 {
        let valid = &mut self.valid[block.index()];
        *valid -= 1;
        *valid
    }
}
