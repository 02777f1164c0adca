//! The write buffer: units that wait for a slot, and the memory in use.

use std::collections::VecDeque;

use drivelab_core::Time;

use super::ftl::Unit;

/// Units whose map entries are prefetched together.
// Our choice: enough to overlap cache misses.
const PREFETCHED: u32 = 16;

/// Units from the host that are not programmed yet.
#[derive(Debug, Clone)]
pub(super) struct Buffer {
    limit: u32,
    /// Units in memory, including those in pages that are being programmed.
    used: u32,
    /// Units without a slot, in order, with the arrival of their latest command.
    waiting: VecDeque<(Unit, Time)>,
    /// Number of units at the front that [`Self::prefetch`] has returned.
    prefetched: u32,
    /// One bit for each unit, set while it waits.
    waits: Vec<u64>,
}

impl Buffer {
    pub(super) fn new(limit: u32, units: u32) -> Self {
        Self {
            limit,
            used: 0,
            waiting: VecDeque::with_capacity(limit as usize),
            prefetched: 0,
            waits: vec![0; units.div_ceil(64) as usize],
        }
    }

    #[inline]
    const fn bit(unit: Unit) -> (usize, u64) {
        ((unit.0 / 64) as usize, 1 << (unit.0 % 64))
    }

    /// Returns true if `unit` waits for a slot.
    #[inline]
    pub(super) fn holds(&self, unit: Unit) -> bool {
        let (word, bit) = Self::bit(unit);
        self.waits[word] & bit != 0
    }

    /// Adds `unit`, or replaces its waiting data; returns false if the buffer is full.
    #[inline]
    pub(super) fn take(&mut self, unit: Unit, accepted: Time) -> bool {
        let (word, bit) = Self::bit(unit);
        if self.waits[word] & bit != 0 {
            // A search, but only for a unit that is written again while it waits.
            let waits = self.waiting.iter_mut().find(|(waiting, _)| *waiting == unit);
            waits.expect("the unit waits").1 = accepted;
            return true;
        }
        if self.used == self.limit {
            return false;
        }
        self.used += 1;
        self.waits[word] |= bit;
        self.waiting.push_back((unit, accepted));
        debug_assert!(self.used <= self.limit, "the buffer is above its limit");
        true
    }

    /// The oldest waiting unit.
    #[inline]
    pub(super) fn first(&self) -> Option<(Unit, Time)> {
        self.waiting.front().copied()
    }

    /// Returns the next units to get a slot, in batches: none until the last batch is through.
    #[inline]
    pub(super) fn prefetch(&mut self) -> impl Iterator<Item = Unit> {
        let count = if self.prefetched == 0 { PREFETCHED as usize } else { 0 };
        let units = self.waiting.iter().take(count).map(|(unit, _)| *unit);
        self.prefetched = self.prefetched.max(u32::try_from(units.len()).expect("a few"));
        units
    }

    /// Removes the first unit, which has a slot now; programming that frees its memory.
    #[inline]
    pub(super) fn assigned(&mut self) {
        let (unit, _) = self.waiting.pop_front().expect("a unit was first");
        let (word, bit) = Self::bit(unit);
        debug_assert!(self.waits[word] & bit != 0, "{unit:?} waits without its mark");
        self.waits[word] &= !bit;
        self.prefetched = self.prefetched.saturating_sub(1);
    }

    /// Drops `unit` if it waits; returns true if it did.
    pub(super) fn trim(&mut self, unit: Unit) -> bool {
        let (word, bit) = Self::bit(unit);
        let waits = self.waits[word] & bit != 0;
        if waits {
            self.waits[word] &= !bit;
            // Removed, not only unmarked: a later write would add the unit a second time.
            self.waiting.retain(|(waiting, _)| *waiting != unit);
            self.used -= 1;
        }
        waits
    }

    /// Frees the memory of `units` programmed units.
    #[inline]
    pub(super) fn programmed(&mut self, units: u32) {
        debug_assert!(units <= self.used, "more units are programmed than were buffered");
        self.used -= units;
    }

    /// Returns true if all data is on the flash.
    pub(super) fn is_clean(&self) -> bool {
        self.used == 0
    }
}
