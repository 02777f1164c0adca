//! The map of units on the fast drive, clean and dirty.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::lists::Lists;

/// Units of a bucket, 512 KiB (`make-bcache`).
pub(super) const BUCKET: u32 = 128;
const NONE: u64 = u64::MAX;
const USED: usize = 0;

/// The map of a cache that writes to one bucket after another.
#[derive(Debug)]
pub(super) struct Cache {
    buckets: u32,
    slots: BTreeMap<u64, u32>,
    /// The unit in each slot of the used buckets, as long as the slot holds its newest data.
    unit_in: Vec<u64>,
    dirty: BTreeSet<u64>,
    /// Dirty units in each bucket.
    dirty_in: Vec<u32>,
    /// Buckets with dirty units.
    dirty_buckets: u32,
    /// Full buckets, the least recently used one first.
    used: Lists<1>,
    /// The bucket being filled, and its next offset.
    open: Option<(u32, u32)>,
}

impl Cache {
    pub(super) fn new(buckets: u32) -> Self {
        Self {
            buckets,
            slots: BTreeMap::new(),
            unit_in: Vec::new(),
            dirty: BTreeSet::new(),
            dirty_in: Vec::new(),
            dirty_buckets: 0,
            used: Lists::new(),
            open: None,
        }
    }

    pub(super) fn units(&self) -> u64 {
        u64::from(self.buckets) * u64::from(BUCKET)
    }

    pub(super) fn dirty(&self) -> u64 {
        self.dirty.len() as u64
    }

    /// Buckets that cannot take new data, in percent (`in_use`).
    pub(super) fn percent_in_use(&self) -> u64 {
        u64::from(self.dirty_buckets) * 100 / u64::from(self.buckets.max(1))
    }

    pub(super) fn slot_of(&self, unit: u64) -> Option<u32> {
        self.slots.get(&unit).copied()
    }

    pub(super) fn is_dirty(&self, unit: u64) -> bool {
        self.dirty.contains(&unit)
    }

    /// Marks the bucket of a slot as recently used.
    pub(super) fn touch(&mut self, slot: u32) {
        let bucket = slot / BUCKET;
        // The open bucket is in no list, and cannot be reused yet.
        if self.used.holder(bucket).is_some() {
            self.used.remove(bucket);
            self.used.push(USED, bucket);
        }
    }

    /// Assigns a new slot to `unit`; `None` if every bucket has dirty units.
    pub(super) fn assign(&mut self, unit: u64, dirty: bool) -> Option<u32> {
        let (bucket, offset) = self.open.or_else(|| Some((self.empty_bucket()?, 0)))?;
        // Never overwritten in its old slot: the cache is a log, like bcache's buckets.
        self.drop_unit(unit);
        debug_assert!(offset < BUCKET, "the open bucket has a free slot");
        let slot = bucket * BUCKET + offset;
        debug_assert_eq!(self.unit_in[slot as usize], NONE, "slot {slot} holds newest data");
        self.unit_in[slot as usize] = unit;
        self.slots.insert(unit, slot);
        if dirty {
            self.dirty.insert(unit);
            self.dirty_in[bucket as usize] += 1;
            self.dirty_buckets += u32::from(self.dirty_in[bucket as usize] == 1);
        }
        self.open = Some((bucket, offset + 1)).filter(|_| offset + 1 < BUCKET);
        if self.open.is_none() {
            self.used.push(USED, bucket);
        }
        Some(slot)
    }

    /// Returns an empty bucket: an unused one, or the least recently used clean one.
    fn empty_bucket(&mut self) -> Option<u32> {
        let fresh = u32::try_from(self.dirty_in.len()).expect("at most the buckets");
        if fresh < self.buckets {
            // The arrays grow with use: a large cache costs memory only for what a run fills.
            self.dirty_in.push(0);
            self.unit_in.resize(self.unit_in.len() + BUCKET as usize, NONE);
            return Some(fresh);
        }
        // Dirty data exists only here, so its bucket cannot be reused.
        let mut candidate = self.used.first(USED);
        while let Some(bucket) = candidate
            && self.dirty_in[bucket as usize] > 0
        {
            candidate = self.used.after(bucket);
        }
        let bucket = candidate?;
        self.used.remove(bucket);
        for slot in bucket * BUCKET..(bucket + 1) * BUCKET {
            let unit = std::mem::replace(&mut self.unit_in[slot as usize], NONE);
            if unit != NONE {
                self.slots.remove(&unit);
            }
        }
        Some(bucket)
    }

    /// Removes `unit`, even if it is dirty.
    pub(super) fn drop_unit(&mut self, unit: u64) {
        let Some(slot) = self.slots.get(&unit).copied() else { return };
        self.clean(unit);
        self.slots.remove(&unit);
        self.unit_in[slot as usize] = NONE;
    }

    /// Marks `unit` as clean: the slow drive has its data.
    pub(super) fn clean(&mut self, unit: u64) {
        if self.dirty.remove(&unit) {
            let bucket = (self.slots[&unit] / BUCKET) as usize;
            debug_assert!(self.dirty_in[bucket] > 0, "a dirty unit in a clean bucket");
            self.dirty_in[bucket] -= 1;
            self.dirty_buckets -= u32::from(self.dirty_in[bucket] == 0);
        }
    }

    /// Returns the first dirty units at or above `from` that are contiguous on both drives, at most
    /// `most`.
    pub(super) fn dirty_run(&self, from: u64, most: u64) -> Option<Range<u64>> {
        let mut dirty = self.dirty.range(from..);
        let first = *dirty.next()?;
        let slot = u64::from(self.slots[&first]);
        let mut end = first + 1;
        for unit in dirty.copied().take_while(|unit| *unit - first < most) {
            if unit != end || u64::from(self.slots[&unit]) != slot + (unit - first) {
                break;
            }
            end += 1;
        }
        debug_assert!(end - first <= most.max(1), "a run is not longer than requested");
        Some(first..end)
    }

    /// Asserts the invariants.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let held = self.unit_in.iter().filter(|unit| **unit != NONE).count();
        assert_eq!(held, self.slots.len(), "the map is the same both ways");
        for (unit, slot) in &self.slots {
            assert_eq!(self.unit_in[*slot as usize], *unit, "the map is the same both ways");
        }
        let mut counted = vec![0; self.dirty_in.len()];
        for unit in &self.dirty {
            counted[(self.slots[unit] / BUCKET) as usize] += 1;
        }
        assert_eq!(counted, self.dirty_in, "dirty units");
        let buckets = counted.iter().filter(|count| **count > 0).count();
        assert_eq!(buckets, self.dirty_buckets as usize, "dirty buckets");
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Rng;

    use super::*;

    #[test]
    fn no_dirty_unit_is_lost_and_the_map_holds_both_ways() {
        let mut cache = Cache::new(4);
        let mut rng = Rng::new(1);
        let mut dirty = BTreeSet::new();
        for step in 0..20_000 {
            let unit = rng.below(900);
            match rng.below(8) {
                0..4 if cache.percent_in_use() < 70 => {
                    cache.assign(unit, true).unwrap();
                    dirty.insert(unit);
                }
                0..6 if !cache.is_dirty(unit) => {
                    cache.assign(unit, false);
                }
                6 => {
                    for unit in cache.dirty_run(unit, 16).into_iter().flatten() {
                        cache.clean(unit);
                        dirty.remove(&unit);
                    }
                }
                _ => cache.slot_of(unit).into_iter().for_each(|slot| cache.touch(slot)),
            }
            cache.check();
            assert_eq!(cache.dirty, dirty, "step {step}");
        }
    }

    #[test]
    fn the_bucket_used_longest_ago_makes_way_unless_it_is_dirty() {
        let mut cache = Cache::new(3);
        let units = u64::from(BUCKET);
        for unit in 0..3 * units {
            cache.assign(unit, unit == 5).unwrap();
        }
        cache.touch(cache.slot_of(units).unwrap());
        cache.assign(9_999, false).unwrap();
        assert!(cache.slot_of(0).is_some() && cache.slot_of(units).is_some());
        assert_eq!(cache.slot_of(2 * units), None);
    }
}
