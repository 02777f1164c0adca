//! The write buffer: what waits for a page, and how much of the memory is in use.

use std::collections::VecDeque;

use drivelab_core::Time;

use super::ftl::Unit;

/// Units that are looked up at once before they get a slot.
const TOGETHER: u32 = 16;

/// Units taken over from the host that are not programmed yet.
#[derive(Debug, Clone)]
pub(super) struct Buffer {
    limit: u32,
    /// Units in memory, those in pages that are being programmed included.
    used: u32,
    /// Units that have no slot yet, in order, and when the command came that brought their data.
    waiting: VecDeque<(Unit, Time)>,
    /// The first of them that were handed out by [`Self::coming`].
    handed_out: u32,
    /// One bit a unit: whether it waits.
    waits: Vec<u64>,
}

impl Buffer {
    pub(super) fn new(limit: u32, units: u32) -> Self {
        Self {
            limit,
            used: 0,
            waiting: VecDeque::with_capacity(limit as usize),
            handed_out: 0,
            waits: vec![0; units.div_ceil(64) as usize],
        }
    }

    #[inline]
    const fn bit(unit: Unit) -> (usize, u64) {
        ((unit.0 / 64) as usize, 1 << (unit.0 % 64))
    }

    /// Whether `unit` waits for a slot.
    #[inline]
    pub(super) fn holds(&self, unit: Unit) -> bool {
        let (word, bit) = Self::bit(unit);
        self.waits[word] & bit != 0
    }

    /// Takes `unit` over; whether there was space. New data replaces what waits.
    #[inline]
    pub(super) fn take(&mut self, unit: Unit, accepted: Time) -> bool {
        let (word, bit) = Self::bit(unit);
        if self.waits[word] & bit != 0 {
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
        true
    }

    /// The unit that has waited longest.
    #[inline]
    pub(super) fn first(&self) -> Option<(Unit, Time)> {
        self.waiting.front().copied()
    }

    /// The units that get a slot next, each of them once; none until the last of them are through.
    #[inline]
    pub(super) fn coming(&mut self) -> impl Iterator<Item = Unit> {
        let count = if self.handed_out == 0 { TOGETHER as usize } else { 0 };
        let coming = self.waiting.iter().take(count).map(|(unit, _)| *unit);
        self.handed_out = self.handed_out.max(u32::try_from(coming.len()).expect("a few"));
        coming
    }

    /// The first unit has a slot now; its memory is free only once that is programmed.
    #[inline]
    pub(super) fn placed(&mut self) {
        let (unit, _) = self.waiting.pop_front().expect("a unit was first");
        let (word, bit) = Self::bit(unit);
        self.waits[word] &= !bit;
        self.handed_out = self.handed_out.saturating_sub(1);
    }

    /// Forgets `unit` where it waits; whether it did.
    pub(super) fn trim(&mut self, unit: Unit) -> bool {
        let (word, bit) = Self::bit(unit);
        let waits = self.waits[word] & bit != 0;
        if waits {
            self.waits[word] &= !bit;
            // A later write must find a place of its own: one unit never waits twice.
            self.waiting.retain(|(waiting, _)| *waiting != unit);
            self.used -= 1;
        }
        waits
    }

    /// `units` units are programmed.
    #[inline]
    pub(super) fn programmed(&mut self, units: u32) {
        self.used -= units;
    }

    /// Whether nothing is in memory that is not on the flash.
    pub(super) fn is_clean(&self) -> bool {
        self.used == 0
    }
}
