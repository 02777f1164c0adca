//! Preconditioning: the states of a drive after long writes, without simulating their time.

use drivelab_core::Rng;

use super::address::{Block, Die, Slot, Unit};
use super::{Ftl, Rules};

/// Random writes for each unit of a die until its blocks have all ages: after two, write
/// amplification is within 1 % of its stationary value (a test compares them).
const ROUNDS: u64 = 3;

impl Ftl {
    /// Writes the first `units` units once, in sequence; dies take turns page by page.
    pub fn fill(&mut self, units: u32) {
        let mut die = Die(0);
        let dies = self.shape.dies;
        let units = units.min(self.shape.units);
        let mut first = 0;
        // Nearly all of it page by page, as long as the next die has space for a page.
        if self.written.host == 0 {
            while units - first >= self.page_slots && self.write_page(die, Unit(first)) {
                first += self.page_slots;
                die = Die((die.0 + 1) % dies);
            }
        }
        for unit in (first..units).map(Unit) {
            let slot = loop {
                match self.try_write(die, unit) {
                    Some(slot) => break slot,
                    None => die = Die((die.0 + 1) % dies),
                }
            };
            if (slot.0 + 1).is_multiple_of(self.page_slots) {
                die = Die((die.0 + 1) % dies);
            }
        }
        self.complete_pages();
    }

    /// Writes a page of units without slots to `die`, like as many calls of [`Self::try_write`];
    /// false, and nothing is written, unless all of them succeed.
    fn write_page(&mut self, die: Die, first: Unit) -> bool {
        let count = self.page_slots;
        let last = u64::from(count - 1);
        let begun = self.begun_page(die).is_some();
        if begun || self.room(die) <= self.reserved(die) + 2 * last {
            return false;
        }
        if self.dies[die.index()].valid + count > self.most_valid() {
            return false;
        }
        let (open, slot) = self.open(die);
        self.map.bind_run(first, slot, open.block, count);
        self.dies[die.index()].valid += count;
        self.written.host += u64::from(count);
        // Its last slot ends the block as that of a single write would.
        self.advance(die, super::Frontier { used: open.used + count - 1, ..open });
        true
    }

    /// Brings the empty drive into the stationary state of random writes to the first `units`
    /// units; the others were never written, or trimmed long ago.
    ///
    /// A single die receives the writes and is copied to every die of the drive, with more writes
    /// between two copies, so that no two dies are at the same point of their collection. That is
    /// as many times faster as there are dies.
    ///
    /// # Panics
    /// The drive is not empty.
    pub fn settle(&mut self, units: u32) {
        assert_eq!(self.written.host, 0, "the drive is not empty");
        let units = units.min(self.shape.units);
        let per_die = units.div_ceil(self.shape.dies).max(1);
        let shape = super::Shape { dies: 1, units: per_die, ..self.shape };
        let rules = Rules {
            choice: self.choice,
            low_water: self.low_water,
            page_slots: self.page_slots,
            seed: self.rng.bits(),
        };
        let mut one = Self::new(shape, rules).expect("the drive's shape was checked");
        let mut rng = Rng::new(self.rng.bits());
        one.fill(per_die);
        one.scatter(u64::from(per_die) * ROUNDS, &mut rng);
        for die in (0..self.shape.dies).map(Die) {
            // An eighth to a quarter of the units: several collections, at random points.
            let more = u64::from(per_die / 8);
            one.scatter(more + rng.below(more + 1), &mut rng);
            one.complete_pages();
            self.adopt(die, &one, units);
        }
        for die in (0..self.shape.dies).map(Die) {
            self.exhaust(die, units, &mut rng);
        }
    }

    /// Writes random units of `die` until only collection makes space on it, as on a drive that
    /// has been written to without a pause.
    fn exhaust(&mut self, die: Die, units: u32, rng: &mut Rng) {
        let per_die = u64::from(units.div_ceil(self.shape.dies).max(1));
        let per_block = u64::from(self.shape.slots_per_block);
        let held = u64::from(self.dies[die.index()].valid) / u64::from(self.shape.blocks_per_die);
        // No two dies are at the same point: each has a part of what a victim yields.
        let left = self.reserved(die) + rng.below(per_block.saturating_sub(held).max(1));
        for _ in left..self.room(die).max(left) {
            let number = u32::try_from(rng.below(per_die)).expect("below the number of units");
            let unit = Unit(number * self.shape.dies + die.0);
            if unit.0 < units && self.try_write(die, unit).is_none() {
                return;
            }
        }
    }

    /// Writes `count` random units to a drive of one die.
    fn scatter(&mut self, count: u64, rng: &mut Rng) {
        let units = u64::from(self.shape.units);
        for _ in 0..count {
            let unit = u32::try_from(rng.below(units)).expect("below the number of units");
            self.collect(Die(0));
            self.write(Die(0), Unit(unit));
        }
        self.collect(Die(0));
    }

    fn complete_pages(&mut self) {
        for die in (0..self.shape.dies).map(Die) {
            while self.pad(die).is_some() {}
        }
    }

    /// Copies the only die of `one` to the empty `die`; the first `units` units are assigned to
    /// dies in turn.
    fn adopt(&mut self, die: Die, one: &Self, units: u32) {
        let (blocks, slots) = (self.shape.blocks_per_die, self.shape.slots_per_block);
        let first = die.0 * blocks;
        let source = &one.dies[0];
        let target = &mut self.dies[die.index()];
        debug_assert_eq!(target.valid, 0, "{die:?} is not empty");
        target.free = source.free.iter().map(|block| Block(first + block.0)).collect();
        target.frontier = source
            .frontier
            .map(|open| super::Frontier { block: Block(first + open.block.0), ..open });
        target.victims = source.victims.clone();
        for block in (0..blocks).map(Block) {
            let copy = Block(first + block.0);
            self.state[copy.index()] = one.state[block.index()];
            self.wear.set(copy, one.wear.of(block));
        }
        // By unit, not by slot: the large map is then written in order.
        for unit in (0..one.shape.units).map(Unit) {
            let Some(slot) = one.map.slot_of(unit) else { continue };
            let unit = Unit(unit.0 * self.shape.dies + die.0);
            if unit.0 < units {
                let slot = Slot(first * slots + slot.0);
                self.map.bind(unit, slot, self.shape.block_of(slot));
                self.dies[die.index()].valid += 1;
            }
        }
        // The last unit of some dies is beyond the end of the drive and was skipped.
        self.correct_victims(die, one);
        self.written.host += one.written.host;
        self.written.copied += one.written.copied;
        self.written.padded += one.written.padded;
    }

    /// Updates the ranks of closed blocks with fewer valid slots than in `one`.
    fn correct_victims(&mut self, die: Die, one: &Self) {
        let first = die.0 * self.shape.blocks_per_die;
        for local in 0..self.shape.blocks_per_die {
            let (here, there) = (self.map.valid(Block(first + local)), one.map.valid(Block(local)));
            if here < there && self.state[(first + local) as usize] == super::State::Closed {
                self.dies[die.index()].victims.lowered(local, here);
            }
        }
    }
}
