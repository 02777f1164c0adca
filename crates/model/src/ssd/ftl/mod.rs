//! The flash translation layer: mapping of units to slots, and garbage collection.
//!
//! It decides *what* happens to the flash, independent of time: every program, copy and erase is
//! returned to the caller, which performs it on the dies. Collection proceeds slot by slot, so that
//! host writes and copies share a die as they do in a drive.

mod address;
mod broken;
mod check;
pub mod closed_form;
mod map;
mod precondition;
mod victim;
mod wear;

pub use address::{Block, Die, Shape, ShapeError, Slot, Unit};
pub use broken::Broken;
pub use victim::Choice;
pub use wear::WearSummary;

use std::collections::VecDeque;

use drivelab_core::Rng;

use map::Map;
use victim::Victims;
use wear::Wear;

/// The rules of a translation layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Choice of victims.
    pub choice: Choice,
    /// Free blocks of a die up to which it is collected; at least 1.
    pub low_water: u32,
    /// Slots programmed together, at least 1.
    pub page_slots: u32,
    /// Seed of random victims.
    pub seed: u64,
}

/// A valid slot copied during collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// The unit.
    pub unit: Unit,
    /// Its old slot.
    pub from: Slot,
    /// Its new slot.
    pub to: Slot,
}

/// Writes so far, in units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Units written by the host.
    pub host: u64,
    /// Units copied by collection.
    pub copied: u64,
    /// Slots left empty to complete a page.
    pub padded: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Open,
    Closed,
    Victim,
}

/// The block that a die writes to.
#[derive(Debug, Clone, Copy)]
struct Frontier {
    block: Block,
    /// Written slots.
    used: u32,
}

/// The block that a die collects.
#[derive(Debug, Clone, Copy)]
struct Collection {
    victim: Block,
    /// Examined slots.
    seen: u32,
    /// Valid slots at the time of its choice.
    had: u32,
}

#[derive(Debug, Clone)]
struct DieBlocks {
    free: VecDeque<Block>,
    frontier: Option<Frontier>,
    victims: Victims,
    collection: Option<Collection>,
    /// Valid slots of all its blocks.
    valid: u32,
}

/// A page-mapped translation layer with one write frontier a die, shared by host and collection.
#[derive(Debug, Clone)]
pub struct Ftl {
    shape: Shape,
    choice: Choice,
    low_water: u32,
    page_slots: u32,
    map: Map,
    state: Vec<State>,
    dies: Vec<DieBlocks>,
    wear: Wear,
    rng: Rng,
    written: Written,
}

impl Ftl {
    /// An empty drive.
    ///
    /// # Errors
    /// A shape that cannot be collected.
    pub fn new(shape: Shape, rules: Rules) -> Result<Self, ShapeError> {
        let low_water = rules.low_water.max(1);
        let page_slots = rules.page_slots.max(1);
        shape.check(low_water, page_slots)?;
        let per_die = shape.blocks_per_die;
        let dies = (0..shape.dies).map(|die| DieBlocks {
            free: (die * per_die..(die + 1) * per_die).map(Block).collect(),
            frontier: None,
            victims: Victims::new(rules.choice, per_die, shape.slots_per_block),
            collection: None,
            valid: 0,
        });
        Ok(Self {
            shape,
            choice: rules.choice,
            low_water,
            page_slots,
            map: Map::new(&shape),
            state: (0..shape.blocks()).map(|_| State::Free).collect(),
            dies: dies.collect(),
            wear: Wear::new(shape.blocks()),
            rng: Rng::new(rules.seed),
            written: Written::default(),
        })
    }

    /// Units on `die`.
    #[inline]
    pub fn valid(&self, die: Die) -> u32 {
        self.dies[die.index()].valid
    }

    /// Its numbers of dies, blocks, slots and units.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the slot of `unit`; `None` if it was never written or was trimmed.
    #[inline]
    pub fn lookup(&self, unit: Unit) -> Option<Slot> {
        self.map.slot_of(unit)
    }

    /// Brings the map entries of `units`, which are written soon, into the processor's caches.
    ///
    /// The entries are scattered in memory; independent reads overlap their cache misses.
    #[inline]
    pub fn prefetch(&self, units: impl Iterator<Item = Unit>) {
        let read = units.fold(0, |read, unit| read ^ self.map.touch(unit));
        std::hint::black_box(read);
    }

    /// Its writes so far.
    pub fn written(&self) -> Written {
        self.written
    }

    /// The erases of its blocks.
    pub fn wear(&self) -> WearSummary {
        self.wear.summary()
    }

    /// Slots of `die` that can be written without an erase.
    #[inline]
    fn room(&self, die: Die) -> u64 {
        let blocks = &self.dies[die.index()];
        let per_block = u64::from(self.shape.slots_per_block);
        let begun = blocks.frontier.map_or(0, |open| per_block - u64::from(open.used));
        begun + blocks.free.len() as u64 * per_block
    }

    /// Slots of `die` needed for its collection.
    #[inline]
    fn kept(&self, die: Die) -> u32 {
        match self.dies[die.index()].collection {
            Some(collection) => self.map.valid(collection.victim),
            None => self.shape.slots_per_block,
        }
    }

    /// Slots of `die` that are unavailable to the host: those needed for collection, and the part
    /// of its yield that it has not earned yet. The host thus gets slots evenly while a victim is
    /// copied, not all at once when it is erased.
    #[inline]
    fn reserved(&self, die: Die) -> u64 {
        let all = u64::from(self.shape.slots_per_block);
        let Some(Collection { victim, had, .. }) = self.dies[die.index()].collection else {
            return all;
        };
        // Rounded up: the last slot of the yield is earned with the last copy.
        (u64::from(self.map.valid(victim)) * all).div_ceil(u64::from(had.max(1)))
    }

    /// Returns true if the host may write `unit` to `die` now.
    ///
    /// This leaves the reserve of collection, and keeps a die from filling with valid units until
    /// its collection gains nothing. After collection there is a die for any unit.
    #[inline]
    pub fn may_write(&self, die: Die, unit: Unit) -> bool {
        // The rest of an open page may have to be padded.
        let padding = self.page_slots - 1;
        if self.room(die) <= self.reserved(die) + u64::from(padding) {
            return false;
        }
        if self.dies[die.index()].valid < self.most_valid() {
            return true;
        }
        // An overwrite on the same die does not increase its valid units.
        self.map.slot_of(unit).is_some_and(|slot| self.shape.die_of_slot(slot) == die)
    }

    /// Valid units of a die from which on collection would gain nothing.
    #[inline]
    fn most_valid(&self) -> u32 {
        let reserve = self.low_water + 1;
        let padding = self.page_slots - 1;
        (self.shape.blocks_per_die - reserve) * self.shape.slots_per_block - padding
    }

    /// Returns true if `die` has too little free space and must be collected.
    #[inline]
    pub fn is_low(&self, die: Die) -> bool {
        let low = u64::from(self.low_water) * u64::from(self.shape.slots_per_block);
        // A page that was begun may have to be padded.
        self.room(die) < low + u64::from(self.page_slots)
    }

    /// Writes `unit` to `die` and returns the slot to program.
    ///
    /// # Panics
    /// The die has no space for the host: check [`Self::may_write`] first.
    #[inline]
    pub fn write(&mut self, die: Die, unit: Unit) -> Slot {
        self.try_write(die, unit).expect("the die has no space for the host")
    }

    /// Like [`Self::write`], if [`Self::may_write`] permits it.
    #[inline]
    pub fn try_write(&mut self, die: Die, unit: Unit) -> Option<Slot> {
        if !self.may_write(die, unit) {
            return None;
        }
        self.drop_unit(unit);
        self.written.host += 1;
        Some(self.append(die, Some(unit)))
    }

    /// The last written slot of `die`, if its page is incomplete.
    pub fn begun_page(&self, die: Die) -> Option<Slot> {
        let open = self.dies[die.index()].frontier?;
        let first = self.shape.first_slot(open.block).0;
        (!open.used.is_multiple_of(self.page_slots)).then(|| Slot(first + open.used - 1))
    }

    /// Leaves the next slot of `die` empty if a page was begun there, and returns it.
    pub fn pad(&mut self, die: Die) -> Option<Slot> {
        self.begun_page(die)?;
        self.written.padded += 1;
        Some(self.append(die, None))
    }

    /// Drops `unit`; returns true if it was mapped.
    pub fn trim(&mut self, unit: Unit) -> bool {
        self.drop_unit(unit)
    }

    /// Starts a collection of `die` and returns the victim; `None` if one is under way or no block
    /// is closed.
    pub fn begin_collection(&mut self, die: Die) -> Option<Block> {
        let blocks = &mut self.dies[die.index()];
        if blocks.collection.is_some() {
            return None;
        }
        // Victims are numbered within their die.
        let first = die.0 * self.shape.blocks_per_die;
        let map = &self.map;
        let victim = blocks.victims.take(&mut self.rng, |local| map.valid(Block(first + local)))?;
        let victim = Block(first + victim);
        self.state[victim.index()] = State::Victim;
        blocks.collection = Some(Collection { victim, seen: 0, had: self.map.valid(victim) });
        Some(victim)
    }

    /// Returns true if a collection of `die` is under way.
    #[inline]
    pub fn is_collecting(&self, die: Die) -> bool {
        self.dies[die.index()].collection.is_some()
    }

    /// Copies the next valid slot of the victim of `die`; `None` if no valid slot is left.
    #[inline]
    pub fn copy_next(&mut self, die: Die) -> Option<Copied> {
        let collection = self.dies[die.index()].collection?;
        let from = self.next_to_copy(collection)?;
        Some(self.copy(die, collection, from))
    }

    /// Copies the valid slots of the next page of the victim of `die`, with `page_slots` slots a
    /// page, and appends them; one read of the flash yields them all.
    pub fn copy_page(&mut self, die: Die, page_slots: u32, copies: &mut Vec<Copied>) {
        let Some(collection) = self.dies[die.index()].collection else { return };
        let Some(mut from) = self.next_to_copy(collection) else { return };
        // A page is read as a whole, so its other valid slots are copied for free.
        let end = Slot((from.0 / page_slots + 1) * page_slots);
        loop {
            copies.push(self.copy(die, collection, from));
            let Some(next) = self.map.next_valid(Slot(from.0 + 1), end) else { return };
            from = next;
        }
    }

    /// The first valid unexamined slot of a victim.
    #[inline]
    fn next_to_copy(&self, Collection { victim, seen, .. }: Collection) -> Option<Slot> {
        if self.map.valid(victim) == 0 {
            return None;
        }
        let first = self.shape.first_slot(victim).0;
        self.map.next_valid(Slot(first + seen), Slot(first + self.shape.slots_per_block))
    }

    /// Copies slot `from` of the victim of `die` to its frontier.
    #[inline]
    fn copy(&mut self, die: Die, collection: Collection, from: Slot) -> Copied {
        let victim = collection.victim;
        let seen = from.0 + 1 - self.shape.first_slot(victim).0;
        debug_assert!(seen > collection.seen, "a slot is copied twice");
        self.dies[die.index()].collection = Some(Collection { seen, ..collection });
        self.written.copied += 1;
        let (open, to) = self.open(die);
        let unit = self.map.move_unit((from, victim), (to, open.block));
        self.advance(die, open);
        Copied { unit, from, to }
    }

    /// Ends the collection of `die` and returns the block to erase.
    ///
    /// # Panics
    /// No collection is under way, or its victim still has valid slots.
    pub fn erase(&mut self, die: Die) -> Block {
        let blocks = &mut self.dies[die.index()];
        let collection = blocks.collection.take().expect("a collection is under way");
        let victim = collection.victim;
        assert_eq!(self.map.valid(victim), 0, "the victim still has valid slots");
        self.state[victim.index()] = State::Free;
        self.wear.erased(victim);
        // Last in the queue of free blocks, so that blocks wear evenly.
        blocks.free.push_back(victim);
        victim
    }

    /// Collects `die` until it is no longer low on space, or no block is left to collect.
    pub fn collect(&mut self, die: Die) {
        while self.is_low(die) {
            if self.begin_collection(die).is_none() && !self.is_collecting(die) {
                return;
            }
            while self.copy_next(die).is_some() {}
            self.erase(die);
        }
    }

    /// Appends `unit`, or padding, to the frontier of `die`.
    #[inline]
    fn append(&mut self, die: Die, unit: Option<Unit>) -> Slot {
        let (open, slot) = self.open(die);
        if let Some(unit) = unit {
            self.map.bind(unit, slot, open.block);
            self.dies[die.index()].valid += 1;
        }
        self.advance(die, open);
        slot
    }

    /// Returns the frontier of `die`, a free block if it has none, and its next slot.
    #[inline]
    fn open(&mut self, die: Die) -> (Frontier, Slot) {
        let blocks = &mut self.dies[die.index()];
        let open = blocks.frontier.unwrap_or_else(|| {
            let block = blocks.free.pop_front().expect("collection keeps a block free");
            self.state[block.index()] = State::Open;
            Frontier { block, used: 0 }
        });
        (open, Slot(self.shape.first_slot(open.block).0 + open.used))
    }

    /// Advances the frontier of `die` by a written slot; a full block is closed.
    #[inline]
    fn advance(&mut self, die: Die, open: Frontier) {
        let blocks = &mut self.dies[die.index()];
        let used = open.used + 1;
        debug_assert!(used <= self.shape.slots_per_block, "a block is written beyond its end");
        blocks.frontier = (used < self.shape.slots_per_block).then_some(Frontier { used, ..open });
        if blocks.frontier.is_none() {
            self.state[open.block.index()] = State::Closed;
            let local = open.block.0 % self.shape.blocks_per_die;
            blocks.victims.insert(local, self.map.valid(open.block));
        }
    }

    /// Invalidates the slot of `unit`; returns true if it had one.
    #[inline]
    fn drop_unit(&mut self, unit: Unit) -> bool {
        let Some(slot) = self.map.release(unit) else { return false };
        let block = self.shape.block_of(slot);
        let valid = self.map.lower(block);
        let blocks = &mut self.dies[self.shape.die_of(block).index()];
        blocks.valid -= 1;
        blocks.victims.lowered(block.0 % self.shape.blocks_per_die, valid);
        true
    }
}

#[cfg(test)]
mod tests;
