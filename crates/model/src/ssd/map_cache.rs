//! The cached parts of the map, on drives without memory for all of it.

use super::ftl::Unit;
use super::parts::MapCache;

/// The cached parts of the map, replaced by the clock algorithm: a second chance for used parts.
#[derive(Debug, Clone)]
pub(super) struct CachedMap {
    units: u32,
    /// The cached parts, each with the flag that it was used since the hand passed it.
    held: Vec<(u32, bool)>,
    limit: usize,
    hand: usize,
    /// Index of each part in `held`; `ABSENT` if it is not cached.
    index: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

/// A part of the map that must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) number: u32,
    /// The unit after the last one that it maps.
    pub(super) end: u32,
}

impl CachedMap {
    pub(super) fn new(rules: MapCache, units: u32) -> Self {
        let parts = units.div_ceil(rules.units);
        let limit = rules.pages.clamp(1, parts);
        Self {
            units: rules.units,
            held: Vec::with_capacity(limit as usize),
            limit: limit as usize,
            hand: 0,
            index: vec![ABSENT; parts as usize],
        }
    }

    /// Returns the part that must be read to find `unit`; it counts as cached from now on.
    pub(super) fn missing(&mut self, unit: Unit) -> Option<Part> {
        if self.used(unit) {
            return None;
        }
        let part = unit.0 / self.units;
        // New parts start without the flag: they must be used once more to survive a turn.
        let index = self.free_index();
        self.index[part as usize] = u32::try_from(index).expect("fewer than parts");
        if index == self.held.len() {
            self.held.push((part, false));
        } else {
            self.held[index] = (part, false);
        }
        debug_assert!(self.held.len() <= self.limit, "more parts than memory");
        Some(Part { number: part, end: part.saturating_add(1).saturating_mul(self.units) })
    }

    /// Marks the part that maps `unit` as used; returns true if it is cached.
    pub(super) fn used(&mut self, unit: Unit) -> bool {
        let index = self.index[(unit.0 / self.units) as usize];
        let held = index != ABSENT;
        if held {
            self.held[index as usize].1 = true;
        }
        held
    }

    fn free_index(&mut self) -> usize {
        if self.held.len() < self.limit {
            return self.held.len();
        }
        loop {
            // Ends within two turns: the first one clears every flag.
            let index = self.hand;
            self.hand = (self.hand + 1) % self.limit;
            let (part, used) = &mut self.held[index];
            if !std::mem::take(used) {
                self.index[*part as usize] = ABSENT;
                return index;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_lately_stays() {
        let mut map = CachedMap::new(MapCache { units: 10, pages: 2 }, 100);
        let found = [5, 9, 10, 0, 20, 1, 10, 29]
            .map(|unit| map.missing(Unit(unit)).map(|part| part.number));
        assert_eq!(found, [Some(0), None, Some(1), None, Some(2), None, Some(1), Some(2)]);
    }
}
