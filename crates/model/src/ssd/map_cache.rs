//! The parts of the map that are in memory, on drives that have no memory for all of it.

use super::ftl::Unit;
use super::parts::MapCache;

/// Which parts of the map are in memory: the one that was not used for a turn makes way.
#[derive(Debug, Clone)]
pub(super) struct CachedMap {
    units: u32,
    /// The parts in memory, and whether each was used since the hand passed it.
    held: Vec<(u32, bool)>,
    limit: usize,
    hand: usize,
    /// Where each part is in `held`; `ABSENT` where it is not.
    place: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

/// A part of the map that must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) number: u32,
    /// The unit behind the last that it places.
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
            place: vec![ABSENT; parts as usize],
        }
    }

    /// The part that must be read before `unit` can be found; it counts as read from then on.
    pub(super) fn missing(&mut self, unit: Unit) -> Option<Part> {
        if self.used(unit) {
            return None;
        }
        let part = unit.0 / self.units;
        let place = self.free_place();
        self.place[part as usize] = u32::try_from(place).expect("fewer than parts");
        if place == self.held.len() {
            self.held.push((part, false));
        } else {
            self.held[place] = (part, false);
        }
        Some(Part { number: part, end: part.saturating_add(1).saturating_mul(self.units) })
    }

    /// Marks the part that places `unit` as used, where it is in memory; whether it is.
    pub(super) fn used(&mut self, unit: Unit) -> bool {
        let place = self.place[(unit.0 / self.units) as usize];
        let held = place != ABSENT;
        if held {
            self.held[place as usize].1 = true;
        }
        held
    }

    fn free_place(&mut self) -> usize {
        if self.held.len() < self.limit {
            return self.held.len();
        }
        loop {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.limit;
            let (part, used) = &mut self.held[place];
            if !std::mem::take(used) {
                self.place[*part as usize] = ABSENT;
                return place;
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
