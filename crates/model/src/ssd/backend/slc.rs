//! Blocks written as SLC: one bit for each cell, fast, and folded to the other blocks while the
//! drive is idle.
//!
//! Each die has a number of them, written as a log: the oldest block is folded first. The number
//! is fixed, or part of it is free space, and shrinks as the drive fills. A unit
//! is valid until the host overwrites it or a fold has moved it. The slots of these blocks follow
//! those of all other blocks.

use drivelab_core::Ratio;

use crate::ssd::ftl::{Die, Slot, Unit};

const NONE: u32 = u32::MAX;

/// Blocks that are written as SLC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlcRules {
    /// Blocks of each die, at most.
    pub blocks: u32,
    /// Units of one of them as SLC.
    pub slots_per_block: u32,
    /// The part of them that is free space; none where all are set aside.
    pub dynamic: Option<DynamicSlc>,
}

/// SLC blocks in free space: as a drive fills, they must be folded and given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DynamicSlc {
    /// Blocks of each die that are set aside in any state.
    pub set_aside: u32,
    /// The share of the free space that is written as SLC.
    pub share: Ratio,
    /// Bits of a cell, of which SLC stores one.
    pub bits: u32,
}

impl SlcRules {
    /// Returns true if some blocks are SLC in any state of the drive.
    pub(crate) fn is_set_aside(&self) -> bool {
        self.dynamic.is_none_or(|dynamic| dynamic.set_aside > 0)
    }

    /// The blocks of a die with `free` units of free space.
    fn limit(&self, free: u32) -> u32 {
        let Some(dynamic) = self.dynamic else { return self.blocks };
        let units = u64::from(free) * dynamic.share.billionths() / Ratio::ONE.billionths();
        let blocks = units / u64::from(dynamic.bits * self.slots_per_block);
        let free = u32::try_from(blocks).expect("fewer than units");
        (dynamic.set_aside + free).min(self.blocks)
    }
}

/// A log that runs around the blocks of one die.
#[derive(Debug, Clone, Copy)]
struct Log {
    /// The oldest block in use.
    first: u32,
    /// Slots in use since the beginning of that block.
    used: u32,
    /// Slots of that block that were read for folding.
    read: u32,
}

/// The units in SLC blocks.
#[derive(Debug, Clone)]
pub(super) struct Slc {
    rules: SlcRules,
    /// The first of their slots.
    base: u32,
    to_slot: Vec<u32>,
    to_unit: Vec<u32>,
    /// Valid slots of each block.
    valid: Vec<u32>,
    logs: Vec<Log>,
}

impl Slc {
    pub(super) fn new(rules: SlcRules, base: u32, dies: u32, units: u32) -> Self {
        let blocks = (rules.blocks * dies) as usize;
        Self {
            rules,
            base,
            to_slot: vec![NONE; units as usize],
            to_unit: vec![NONE; blocks * rules.slots_per_block as usize],
            valid: vec![0; blocks],
            logs: vec![Log { first: 0, used: 0, read: 0 }; dies as usize],
        }
    }

    const fn per_die(&self) -> u32 {
        self.rules.blocks * self.rules.slots_per_block
    }

    /// The die of a slot; `None` for a slot of other blocks.
    #[inline]
    pub(super) fn die_of(&self, slot: Slot) -> Option<Die> {
        slot.0.checked_sub(self.base).map(|offset| Die(offset / self.per_die()))
    }

    /// The slot of `unit` in these blocks.
    #[inline]
    pub(super) fn slot_of(&self, unit: Unit) -> Option<Slot> {
        let slot = self.to_slot[unit.0 as usize];
        (slot != NONE).then_some(Slot(slot))
    }

    /// Returns true if `die`, which has `free` units of free space, has space for another unit.
    #[inline]
    pub(super) fn has_space(&self, die: Die, free: u32) -> bool {
        let used = self.logs[die.0 as usize].used;
        let is_begun = !used.is_multiple_of(self.rules.slots_per_block);
        is_begun || used / self.rules.slots_per_block < self.rules.limit(free)
    }

    /// Full blocks of `die` beyond those that its free space allows.
    pub(super) fn excess(&self, die: Die, free: u32) -> u32 {
        let full = self.logs[die.0 as usize].used / self.rules.slots_per_block;
        full.saturating_sub(self.rules.limit(free))
    }

    pub(super) const fn is_dynamic(&self) -> bool {
        self.rules.dynamic.is_some()
    }

    /// The last written slot of `die`, if its page of `page_slots` is incomplete.
    pub(super) fn begun_page(&self, die: Die, page_slots: u32) -> Option<Slot> {
        let used = self.logs[die.0 as usize].used;
        (!used.is_multiple_of(page_slots)).then(|| self.at(die, used - 1))
    }

    /// The slot at `offset` from the beginning of the log.
    fn at(&self, die: Die, offset: u32) -> Slot {
        debug_assert!(offset < self.per_die(), "a log does not overlap itself");
        let first = self.logs[die.0 as usize].first * self.rules.slots_per_block;
        Slot(self.base + die.0 * self.per_die() + (first + offset) % self.per_die())
    }

    /// Appends `unit`, or padding, to the log of `die`.
    pub(super) fn append(&mut self, die: Die, unit: Option<Unit>) -> Slot {
        debug_assert!(
            self.logs[die.0 as usize].used < self.per_die(),
            "the log of {die:?} is full"
        );
        let slot = self.at(die, self.logs[die.0 as usize].used);
        self.logs[die.0 as usize].used += 1;
        if let Some(unit) = unit {
            // An older copy in these blocks is no longer valid.
            self.forget(unit);
            self.to_slot[unit.0 as usize] = slot.0;
            let (own, block) = (self.own(slot), self.block_of(slot));
            self.to_unit[own] = unit.0;
            self.valid[block] += 1;
        }
        slot
    }

    const fn own(&self, slot: Slot) -> usize {
        (slot.0 - self.base) as usize
    }

    const fn block_of(&self, slot: Slot) -> usize {
        self.own(slot) / self.rules.slots_per_block as usize
    }

    /// Invalidates the slot of `unit`; returns true if it had one.
    #[inline]
    pub(super) fn forget(&mut self, unit: Unit) -> bool {
        let Some(slot) = self.slot_of(unit) else { return false };
        self.to_slot[unit.0 as usize] = NONE;
        let (own, block) = (self.own(slot), self.block_of(slot));
        debug_assert_eq!(self.to_unit[own], unit.0, "the mapping is the same both ways");
        debug_assert!(self.valid[block] > 0, "a mapped slot is valid");
        self.to_unit[own] = NONE;
        self.valid[block] -= 1;
        true
    }

    /// Appends the valid units of the next page to fold on `die`, with `page_slots` slots a page.
    ///
    /// Returns false if there are none: the oldest block is not full, or was read to its end.
    pub(super) fn read_page(
        &mut self,
        die: Die,
        page_slots: u32,
        units: &mut Vec<(Unit, Slot)>,
    ) -> bool {
        let Log { used, mut read, .. } = self.logs[die.0 as usize];
        // A partial oldest block may still receive data of the host.
        if used < self.rules.slots_per_block {
            return false;
        }
        // Pages without a valid unit are passed over: they cost no read.
        while units.is_empty() && read < self.rules.slots_per_block {
            let page = (read..read + page_slots).map(|offset| self.at(die, offset));
            let held = page.filter_map(|slot| {
                let unit = self.to_unit[self.own(slot)];
                (unit != NONE).then_some((Unit(unit), slot))
            });
            units.extend(held);
            read += page_slots;
        }
        self.logs[die.0 as usize].read = read;
        !units.is_empty()
    }

    /// Returns true if the oldest block of `die` was read to its end and has no valid unit left.
    pub(super) fn is_folded(&self, die: Die) -> bool {
        let log = &self.logs[die.0 as usize];
        log.read >= self.rules.slots_per_block && self.valid[self.block_of(self.at(die, 0))] == 0
    }

    /// Removes the erased oldest block of `die` from its log.
    pub(super) fn erased(&mut self, die: Die) {
        debug_assert!(self.is_folded(die), "an erase loses no valid unit");
        let blocks = self.rules.blocks;
        let log = &mut self.logs[die.0 as usize];
        debug_assert!(log.used >= self.rules.slots_per_block, "only full blocks are erased");
        log.first = (log.first + 1) % blocks;
        log.used -= self.rules.slots_per_block;
        log.read = 0;
    }

    /// Checks the mapping both ways and the counts of blocks; returns the number of units.
    #[cfg(test)]
    pub(super) fn check(&self) -> usize {
        let mut valid = vec![0; self.valid.len()];
        for (slot, unit) in (self.base..).zip(&self.to_unit).filter(|(_, unit)| **unit != NONE) {
            assert_eq!(self.to_slot[*unit as usize], slot, "unit {unit} lies elsewhere");
            valid[self.block_of(Slot(slot))] += 1;
        }
        assert_eq!(valid, self.valid);
        let held = self.to_slot.iter().filter(|slot| **slot != NONE).count();
        assert_eq!(held, valid.iter().sum::<u32>() as usize);
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_was_read_keeps_what_has_no_other_place() {
        let (die, rules) = (Die(0), SlcRules { blocks: 2, slots_per_block: 4, dynamic: None });
        let mut slc = Slc::new(rules, 100, 1, 10);
        for unit in 0..4 {
            slc.append(die, Some(Unit(unit)));
        }
        let mut read = Vec::new();
        assert!(slc.read_page(die, 4, &mut read));
        assert_eq!(read.len(), 4);
        for unit in 0..4 {
            assert!(!slc.is_folded(die), "unit {unit} lies nowhere else");
            assert!(slc.forget(Unit(unit)));
        }
        assert!(slc.is_folded(die));
        slc.erased(die);
        assert_eq!(slc.check(), 0);
    }

    #[test]
    fn blocks_in_free_space_shrink_with_it() {
        let dynamic = Some(DynamicSlc { set_aside: 1, share: Ratio::percent(50), bits: 3 });
        let rules = SlcRules { blocks: 9, slots_per_block: 4, dynamic };
        assert_eq!([0, 23, 24, 48, 1000].map(|free| rules.limit(free)), [1, 1, 2, 3, 9]);
        let (die, mut slc) = (Die(0), Slc::new(rules, 100, 1, 100));
        for unit in 0..12 {
            assert!(slc.has_space(die, 48));
            slc.append(die, Some(Unit(unit)));
        }
        assert!(!slc.has_space(die, 48));
        assert_eq!([slc.excess(die, 48), slc.excess(die, 0)], [0, 2]);
    }
}
