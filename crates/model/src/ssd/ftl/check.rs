//! Invariants of a translation layer, checked from scratch.

use super::address::{Block, Die, Slot, Unit};
use super::broken::Broken;
use super::{Ftl, State};

impl Ftl {
    /// Checks every rule on every unit, slot and block; returns the number of checks.
    ///
    /// # Errors
    /// The first violated rule.
    pub fn check(&self) -> Result<u64, Broken> {
        let mut checks = 0;
        for unit in (0..self.shape.units).map(Unit) {
            checks += 1;
            let Some(slot) = self.map.slot_of(unit) else { continue };
            if self.map.unit_in(slot) != Some(unit) {
                return Err(Broken::SlotForgot { unit });
            }
        }
        let mut present = 0;
        let mut worn = 0;
        for die in (0..self.shape.dies).map(Die) {
            let first = die.0 * self.shape.blocks_per_die;
            for block in (first..first + self.shape.blocks_per_die).map(Block) {
                let used = self.used_slots(die, block);
                checks += self.check_slots(block, used)? + 2;
                self.check_state(die, block)?;
                present += u64::from(used);
                worn += u64::from(self.wear.of(block));
            }
            checks += 1;
            if self.room(die) < u64::from(self.kept(die)) {
                return Err(Broken::NoReserve { die });
            }
        }
        self.check_sums(present, worn)?;
        Ok(checks + 2)
    }

    /// Slots of `block` written since it was erased.
    fn used_slots(&self, die: Die, block: Block) -> u32 {
        // Only a closed block is completely written.
        match self.state[block.index()] {
            State::Free => 0,
            State::Open => self.dies[die.index()].frontier.map_or(0, |open| open.used),
            State::Closed | State::Victim => self.shape.slots_per_block,
        }
    }

    fn check_slots(&self, block: Block, used: u32) -> Result<u64, Broken> {
        let first = self.shape.first_slot(block).0;
        let mut found = 0;
        for offset in 0..self.shape.slots_per_block {
            let slot = Slot(first + offset);
            let Some(unit) = self.map.unit_in(slot) else { continue };
            if self.map.slot_of(unit) != Some(slot) {
                return Err(Broken::UnitForgot { slot });
            }
            if offset >= used {
                return Err(Broken::NotWritten { slot });
            }
            found += 1;
        }
        let counted = self.map.valid(block);
        if counted != found {
            return Err(Broken::ValidCount { block, counted, found });
        }
        Ok(u64::from(self.shape.slots_per_block))
    }

    fn check_state(&self, die: Die, block: Block) -> Result<(), Broken> {
        let blocks = &self.dies[die.index()];
        let open = blocks.frontier.is_some_and(|open| open.block == block);
        let victim = blocks.collection.is_some_and(|collection| collection.victim == block);
        let closed = blocks.victims.holds(block.0 % self.shape.blocks_per_die);
        // Free blocks are only counted: a search of their list for each would be quadratic.
        let expected = match self.state[block.index()] {
            State::Free => [false, false, false],
            State::Open => [true, false, false],
            State::Closed => [false, true, false],
            State::Victim => [false, false, true],
        };
        if [open, closed, victim] == expected { Ok(()) } else { Err(Broken::Misplaced { block }) }
    }

    fn check_sums(&self, present: u64, sum: u64) -> Result<(), Broken> {
        for (die, blocks) in (0..).map(Die).zip(&self.dies) {
            let first = (die.0 * self.shape.blocks_per_die) as usize;
            let all = first..first + self.shape.blocks_per_die as usize;
            let found = (0..).map(Block).skip(all.start).take(all.len());
            let found = found.map(|block| self.map.valid(block)).sum();
            if blocks.valid != found {
                return Err(Broken::ValidOnDie { die, counted: blocks.valid, found });
            }
            let own = &self.state[all];
            let free = own.iter().filter(|state| **state == State::Free).count();
            let mut blocks_listed = blocks.free.iter();
            if let Some(block) = blocks_listed.find(|it| self.state[it.index()] != State::Free) {
                return Err(Broken::Misplaced { block: *block });
            }
            if free != blocks.free.len() {
                return Err(Broken::NoReserve { die });
            }
        }
        let total = self.wear.summary().total;
        if sum != total {
            return Err(Broken::WearSum { sum, total });
        }
        let written = self.written.host + self.written.copied + self.written.padded;
        let erased = total * u64::from(self.shape.slots_per_block);
        // Every slot that was ever written has been erased since, or is still written.
        if written != erased + present {
            return Err(Broken::Balance { written, erased, present });
        }
        Ok(())
    }
}
