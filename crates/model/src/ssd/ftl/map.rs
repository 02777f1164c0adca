//! The mapping of units to slots, and the valid slots of each block.

use super::address::{Block, NONE, Shape, Slot, Unit};

/// The mapping both ways, with the number of valid slots of each block.
///
/// A slot is valid as long as it holds the newest version of its unit. The bits are separate from
/// the units: all bits of a drive fit into a processor's caches, its units do not. An overwrite
/// then costs one access to memory, for the slot of its unit, and none for the content of the old
/// slot.
#[derive(Debug, Clone)]
pub(super) struct Map {
    to_slot: Vec<u32>,
    /// The unit last written to each slot; meaningful for valid slots only.
    to_unit: Vec<u32>,
    /// One bit for each slot, set if it is valid.
    is_valid: Vec<u64>,
    /// Valid slots of each block.
    valid: Vec<u32>,
}

impl Map {
    pub(super) fn new(shape: &Shape) -> Self {
        let [slots, words, blocks] = [shape.slots(), shape.slots().div_ceil(64), shape.blocks()]
            .map(|count| usize::try_from(count).expect("the shape was checked"));
        Self {
            to_slot: vec![NONE; shape.units as usize],
            to_unit: vec![NONE; slots],
            is_valid: vec![0; words],
            valid: vec![0; blocks],
        }
    }

    #[inline]
    pub(super) fn slot_of(&self, unit: Unit) -> Option<Slot> {
        let slot = self.to_slot[unit.index()];
        (slot != NONE).then_some(Slot(slot))
    }

    /// Reads the words that an overwrite of `unit` changes; the value is meaningless.
    #[inline]
    pub(super) fn touch(&self, unit: Unit) -> u64 {
        let slot = self.to_slot[unit.index()];
        // Past the end for an unmapped unit.
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

    /// Returns the first valid slot from `from` up to `end`.
    #[inline]
    pub(super) fn next_valid(&self, from: Slot, end: Slot) -> Option<Slot> {
        if from >= end {
            return None;
        }
        let mut word = from.0 / 64;
        let mut bits = self.is_valid[word as usize] & (u64::MAX << (from.0 % 64));
        // A word at a time: 64 slots in one step, most of which are invalid in a victim.
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

    /// Maps the unmapped `unit` to `slot` of `block`.
    #[inline]
    pub(super) fn bind(&mut self, unit: Unit, slot: Slot, block: Block) {
        debug_assert!(self.slot_of(unit).is_none(), "{unit:?} has another slot");
        debug_assert!(!self.is_valid(slot), "{slot:?} holds another unit");
        self.to_slot[unit.index()] = slot.0;
        self.to_unit[slot.index()] = unit.0;
        self.is_valid[slot.index() / 64] |= 1 << (slot.0 % 64);
        self.valid[block.index()] += 1;
    }

    /// Maps `count` unmapped units from `unit` on to the slots of `block` from `slot` on.
    pub(super) fn bind_run(&mut self, unit: Unit, slot: Slot, block: Block, count: u32) {
        let (units, slots) = (unit.0..unit.0 + count, slot.0..slot.0 + count);
        debug_assert!(units.clone().all(|unit| self.slot_of(Unit(unit)).is_none()), "{unit:?}");
        debug_assert!(slots.clone().all(|slot| !self.is_valid(Slot(slot))), "{slot:?}");
        let (first, length) = (unit.index(), count as usize);
        for (to, slot) in self.to_slot[first..first + length].iter_mut().zip(slots.clone()) {
            *to = slot;
        }
        let first = slot.index();
        for (to, unit) in self.to_unit[first..first + length].iter_mut().zip(units) {
            *to = unit;
        }
        for slot in slots {
            self.is_valid[Slot(slot).index() / 64] |= 1 << (slot % 64);
        }
        self.valid[block.index()] += count;
    }

    /// Invalidates the slot of `unit` and returns it.
    #[inline]
    pub(super) fn release(&mut self, unit: Unit) -> Option<Slot> {
        let slot = self.slot_of(unit)?;
        debug_assert!(self.is_valid(slot), "{slot:?} of {unit:?} is not valid");
        self.to_slot[unit.index()] = NONE;
        self.is_valid[slot.index() / 64] &= !(1 << (slot.0 % 64));
        Some(slot)
    }

    /// Moves the valid unit in slot `from` of one block to slot `to` of another, and returns it.
    ///
    /// The unit's entry is written without being read, so nothing waits for the memory.
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

    /// Decrements the valid slots of `block` and returns the rest.
    #[inline]
    pub(super) fn lower(&mut self, block: Block) -> u32 {
        let valid = &mut self.valid[block.index()];
        debug_assert!(*valid > 0, "{block:?} has no valid slot");
        *valid -= 1;
        *valid
    }
}
