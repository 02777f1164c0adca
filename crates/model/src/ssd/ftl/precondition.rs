//! States that a drive reaches by being written to, without waiting for it.

use drivelab_core::Rng;

use super::address::{Block, Die, Slot, Unit};
use super::{Ftl, Rules};

/// Times that a die's units are written at random until the blocks of all ages are there: after
/// twice, write amplification is within 1 % of what it stays at (a test holds it against that).
const ROUNDS: u64 = 3;

impl Ftl {
    /// Writes the first `units` units once, in sequence; dies take turns page by page.
    pub fn fill(&mut self, units: u32) {
        let mut die = Die(0);
        let next = |ftl: &Self, die: Die| Die((die.0 + 1) % ftl.shape.dies);
        for unit in (0..units.min(self.shape.units)).map(Unit) {
            let slot = loop {
                match self.try_write(die, unit) {
                    Some(slot) => break slot,
                    None => die = next(self, die),
                }
            };
            if (slot.0 + 1).is_multiple_of(self.page_slots) {
                die = next(self, die);
            }
        }
        self.complete_pages();
    }

    /// The state that random writes of single units among the first `units` lead to; the others
    /// were never written, or trimmed long ago.
    ///
    /// One die is written to as it would be in the drive. It is copied to every die of the drive,
    /// and written on in between, so that no two dies are at the same point of their collection.
    ///
    /// # Panics
    /// Something was written before.
    pub fn settle(&mut self, units: u32) {
        assert_eq!(self.written.host, 0, "the drive is not empty");
        let units = units.min(self.shape.units);
        let own = units.div_ceil(self.shape.dies).max(1);
        let shape = super::Shape { dies: 1, units: own, ..self.shape };
        let rules = Rules {
            choice: self.choice,
            low_water: self.low_water,
            page_slots: self.page_slots,
            seed: self.rng.bits(),
        };
        let mut one = Self::new(shape, rules).expect("the drive's own shape was checked");
        let mut rng = Rng::new(self.rng.bits());
        one.fill(own);
        one.scatter(u64::from(own) * ROUNDS, &mut rng);
        for die in (0..self.shape.dies).map(Die) {
            let more = u64::from(own / 8);
            one.scatter(more + rng.below(more + 1), &mut rng);
            one.complete_pages();
            self.adopt(die, &one, units);
        }
    }

    /// Writes so many units at random to a drive of one die.
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

    /// Makes `die`, which is empty, what the only die of `one` is; the first `units` units are
    /// dealt out to dies.
    fn adopt(&mut self, die: Die, one: &Self, units: u32) {
        let (blocks, slots) = (self.shape.blocks_per_die, self.shape.slots_per_block);
        let first = die.0 * blocks;
        let moved = |block: Block| Block(first + block.0);
        let source = &one.dies[0];
        let target = &mut self.dies[die.index()];
        target.free = source.free.iter().copied().map(moved).collect();
        target.frontier =
            source.frontier.map(|open| super::Frontier { block: moved(open.block), ..open });
        target.victims = source.victims.clone();
        for block in (0..blocks).map(Block) {
            let there = moved(block);
            self.state[there.index()] = one.state[block.index()];
            self.wear.set(there, one.wear.of(block));
        }
        // By unit, not by slot: their places are then filled in order.
        for unit in (0..one.shape.units).map(Unit) {
            let Some(slot) = one.map.slot_of(unit) else { continue };
            let unit = Unit(unit.0 * self.shape.dies + die.0);
            if unit.0 < units {
                let slot = Slot(first * slots + slot.0);
                self.map.bind(unit, slot, self.shape.block_of(slot));
                self.dies[die.index()].valid += 1;
            }
        }
        // The last unit of some dies is none of the drive's.
        self.correct_victims(die, one);
        self.written.host += one.written.host;
        self.written.copied += one.written.copied;
        self.written.padded += one.written.padded;
    }

    /// Counts the valid slots of closed blocks again that have fewer here than in `one`.
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
