//! Translation layer and flash: turns writes of units into programs, copies and erases on the dies.

mod pages;
mod slc;

pub use slc::{DynamicSlc, SlcRules};

use std::collections::VecDeque;

use drivelab_core::Time;

use super::flash::{COMMIT_PAGE, Command, Flash, FlashRules, Kind, SLC_PAGE};
use super::ftl::{Copied, Die, Ftl, Rules, Shape, ShapeError, Slot, Unit};
use crate::watch::DieWork;
use pages::Pages;
use slc::Slc;

/// Translation layer and flash of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendRules {
    /// Numbers of dies, blocks, slots and units.
    pub shape: Shape,
    /// Rules of the translation layer; `planes` and `units_per_page` replace its page size.
    pub ftl: Rules,
    /// Times of the flash; the shape replaces its number of dies.
    pub flash: FlashRules,
    /// Units that one read of the cells returns.
    pub units_per_page: u32,
    /// Planes that are programmed together.
    pub planes: u32,
    /// Number of model blocks in one block of the drive; only the first erase of them takes time.
    pub erase_every: u32,
    /// Additional blocks that are written as SLC first.
    pub slc: Option<SlcRules>,
}

/// A finished operation of the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A read for the command with this number.
    Read(u32),
    /// A page, of which `host_units` came from the host.
    Programmed { page: u32, host_units: u32 },
    /// A step of a die's collection.
    Collected,
    /// A part of the map for the command with this number.
    Map(u32),
    /// A page of the map was programmed for a commit.
    Committed,
}

#[derive(Debug, Clone)]
pub(super) struct Backend {
    pub(super) ftl: Ftl,
    flash: Flash,
    pages: Pages,
    units_per_page: u32,
    erase_every: u32,
    /// Erases of each die since the last one that took time.
    erased: Vec<u32>,
    /// Units programmed together.
    program_units: u32,
    /// Flags of dies with a copy or an erase of collection under way.
    collecting: Vec<bool>,
    /// The next die for host writes.
    current: Die,
    /// True if no die had space for the host at the last attempt.
    stuck: bool,
    /// The die whose collection has advanced since then.
    advanced: Option<Die>,
    copies: Vec<Copied>,
    finished: Vec<(Time, u32)>,
    slc: Option<Slc>,
    /// The next die for SLC writes of the host; `None` while no SLC block has space.
    slc_current: Option<Die>,
    /// The next die for a page of the map.
    map_die: Die,
    folding: Folding,
}

/// Progress of folding: moving data from SLC blocks to the others.
#[derive(Debug, Clone, Default)]
struct Folding {
    allowed: bool,
    /// Flags of dies with a read or an erase of folding under way.
    busy: Vec<bool>,
    /// The units of those reads.
    reading: Vec<Vec<(Unit, Slot)>>,
    /// Units read but not written to other blocks yet.
    read: VecDeque<(Unit, Slot)>,
}

/// Units of free space of a die: of the capacity, not of the flash.
fn free_units(ftl: &Ftl, die: Die) -> u32 {
    let Shape { units, dies, .. } = *ftl.shape();
    units.div_ceil(dies).saturating_sub(ftl.valid(die))
}

/// The kinds of token: the two highest bits.
const READ: u32 = 0;
const PROGRAM: u32 = 1 << 30;
const COLLECT: u32 = 2 << 30;
const MAP: u32 = 3 << 30;
const PAYLOAD: u32 = (1 << 30) - 1;
/// Flags above the die in the payload of `COLLECT`: a read of folding, and an erase after it.
const FOLD_READ: u32 = 1 << 16;
const FOLD_ERASE: u32 = 2 << 16;
const DIE: u32 = FOLD_READ - 1;
/// The payload of `MAP` for a page that is read ahead: no command has this number.
const AHEAD: u32 = PAYLOAD - 1;
/// The payload of `MAP` for a page that is programmed: no command has this number.
const COMMIT: u32 = PAYLOAD;

impl Backend {
    pub(super) fn new(rules: BackendRules) -> Result<Self, ShapeError> {
        let program_units = rules.units_per_page * rules.planes;
        let ftl = Ftl::new(rules.shape, Rules { page_slots: program_units, ..rules.ftl })?;
        let base = u32::try_from(rules.shape.slots()).expect("the shape was checked");
        let of_slc = rules.slc.map_or(0, |slc| u64::from(slc.blocks * slc.slots_per_block));
        let slots = u64::from(base) + of_slc * u64::from(rules.shape.dies);
        let pages = slots / u64::from(program_units);
        // Tokens carry a page in 30 bits, and slots are numbered in 32 with one value reserved.
        if slots >= u64::from(u32::MAX) || pages > u64::from(PAYLOAD) {
            return Err(ShapeError::TooLarge { slots });
        }
        let dies = rules.shape.dies;
        Ok(Self {
            ftl,
            flash: Flash::new(FlashRules { dies, ..rules.flash }),
            pages: Pages::new(slots, program_units),
            units_per_page: rules.units_per_page,
            erase_every: rules.erase_every.max(1),
            erased: vec![0; dies as usize],
            program_units,
            collecting: vec![false; dies as usize],
            current: Die(0),
            stuck: false,
            advanced: None,
            copies: Vec::with_capacity(rules.units_per_page as usize),
            finished: Vec::with_capacity(dies as usize * 2),
            slc: rules.slc.map(|slc| Slc::new(slc, base, dies, rules.shape.units)),
            slc_current: rules.slc.map(|_| Die(0)),
            map_die: Die(0),
            folding: Folding {
                allowed: false,
                busy: vec![false; dies as usize],
                reading: vec![Vec::new(); dies as usize],
                read: VecDeque::new(),
            },
        })
    }

    /// The activity of each die.
    pub(super) fn dies(&self) -> Vec<DieWork> {
        let dies = (0..self.ftl.shape().dies).map(|die| match self.flash.command(Die(die)) {
            None => DieWork::Idle,
            Some(Command { kind: Kind::Read, .. }) => DieWork::Read,
            Some(Command { kind: Kind::Copy, .. }) => DieWork::Collect,
            Some(Command { kind: Kind::Program, .. }) => DieWork::Program,
            Some(Command { kind: Kind::Erase | Kind::Release, .. }) => DieWork::Erase,
        });
        dies.collect()
    }

    /// Returns the time of the next event; `Time::MAX` if none is pending.
    #[inline]
    pub(super) fn next_or_never(&self) -> Time {
        self.flash.next_or_never()
    }

    /// Returns the slot to read `unit` from; `None` if it is in memory or was never written.
    #[inline]
    pub(super) fn on_flash(&self, unit: Unit) -> Option<Slot> {
        self.slot_of(unit).filter(|slot| !self.pages.in_memory(*slot))
    }

    #[inline]
    pub(super) fn slot_of(&self, unit: Unit) -> Option<Slot> {
        self.ftl.lookup(unit).or_else(|| self.slc.as_ref()?.slot_of(unit))
    }

    #[inline]
    fn die_of(&self, slot: Slot) -> Die {
        let slc_die = self.slc.as_ref().and_then(|slc| slc.die_of(slot));
        slc_die.unwrap_or_else(|| self.ftl.shape().die_of_slot(slot))
    }

    /// Returns true if one read of the cells returns both slots: of all planes together.
    #[inline]
    pub(super) fn same_page(&self, one: Slot, other: Slot) -> bool {
        one.0 / self.program_units == other.0 / self.program_units
    }

    /// Reads `units` units of the page of `slot` for the command with number `number`; `looks` in
    /// the register of the die first.
    #[inline]
    pub(super) fn read(&mut self, now: Time, slot: Slot, units: u32, number: u32, looks: bool) {
        debug_assert!(number <= PAYLOAD, "{number} does not fit into a token");
        let (page, token) = (self.page_in_block(slot), READ | number);
        // All planes of a die are read together, so this is the page of all of them.
        let register = slot.0 / self.program_units;
        let command = Command { kind: Kind::Read, page, units, register, looks, token };
        self.flash.submit(now, self.die_of(slot), command);
    }

    /// Reads a part of the map for the command with number `number`.
    pub(super) fn read_map(&mut self, now: Time, part: u32, number: u32) {
        // Striped over the dies like data; its slots are not modelled.
        let die = Die(part % self.ftl.shape().dies);
        self.flash.submit(now, die, Command::new(Kind::Read, part, 1, MAP | number));
    }

    /// Reads the page of `slot` into the register of its die, where a later read finds it.
    pub(super) fn read_ahead(&mut self, now: Time, slot: Slot) {
        let register = slot.0 / self.program_units;
        let read = Command::new(Kind::Read, self.page_in_block(slot), 0, MAP | AHEAD);
        self.flash.submit(now, self.die_of(slot), Command { register, ..read });
    }

    /// Programs a page of the map. Its blocks are not modelled, only its time on a die.
    pub(super) fn program_map(&mut self, now: Time) {
        let die = self.map_die;
        self.map_die = self.next_die(die);
        let (kind, page) = (Kind::Program, COMMIT_PAGE);
        self.flash.submit(now, die, Command::new(kind, page, 1, MAP | COMMIT));
    }

    /// Brings the empty flash into the stationary state of random writes to the first `units`
    /// units.
    pub(super) fn settle(&mut self, units: u32) {
        self.ftl.settle(units);
        if let Some(slc) = &mut self.slc {
            // Its data has been overwritten since, and no pause let the blocks be erased.
            for die in (0..self.ftl.shape().dies).map(Die) {
                let free = free_units(&self.ftl, die);
                while slc.has_space(die, free) {
                    slc.append(die, None);
                }
            }
            self.slc_current = None;
        }
    }

    /// Writes a unit of the host to the next die with space; returns false if there is none.
    ///
    /// Dies take turns page by page, so that each page fills before the next is begun.
    pub(super) fn write(&mut self, now: Time, unit: Unit) -> bool {
        self.write_as_slc(now, unit)
            || (!self.must_give_back(now) && self.write_out(now, unit, true))
    }

    /// Folds SLC blocks of the current die that take space from other data; returns true if a
    /// write must wait for it.
    #[inline]
    fn must_give_back(&mut self, now: Time) -> bool {
        let Some(slc) = self.slc.as_ref().filter(|slc| slc.is_dynamic()) else { return false };
        let die = self.current;
        let excess = slc.excess(die, free_units(&self.ftl, die));
        if excess > 0 {
            self.fold_on(now, die);
        }
        // One block may be late: all dies fold while the host writes.
        excess > 1
    }

    /// Returns true if SLC blocks of `die` take space from other data.
    fn is_pressed(&self, die: Die) -> bool {
        let slc = self.slc.as_ref().filter(|slc| slc.is_dynamic());
        slc.is_some_and(|slc| slc.excess(die, free_units(&self.ftl, die)) > 0)
    }

    fn write_as_slc(&mut self, now: Time, unit: Unit) -> bool {
        let (Some(slc), Some(first)) = (&mut self.slc, self.slc_current) else { return false };
        let dies = self.ftl.shape().dies;
        let mut all = (0..dies).map(|later| Die((first.0 + later) % dies));
        let ftl = &self.ftl;
        let Some(die) = all.find(|die| slc.has_space(*die, free_units(ftl, *die))) else {
            self.slc_current = None;
            return false;
        };
        let slot = slc.append(die, Some(unit));
        if self.ftl.trim(unit) {
            // The old slot is invalid now, which may give a die space.
            self.stuck = false;
        }
        let complete = self.fill_slot(now, slot, true);
        self.slc_current = Some(if complete { self.next_die(die) } else { die });
        true
    }

    /// Writes a unit to blocks other than the SLC blocks.
    fn write_out(&mut self, now: Time, unit: Unit, of_host: bool) -> bool {
        if self.stuck {
            let Some(die) = self.advanced else { return false };
            let done = self.write_on(now, die, unit, of_host);
            if !done {
                self.advanced = None;
            }
            return done;
        }
        for _ in 0..self.ftl.shape().dies {
            if self.write_on(now, self.current, unit, of_host) {
                return true;
            }
            self.current = self.next_die(self.current);
        }
        // Remembered, since the search over all dies would repeat for every waiting write.
        (self.stuck, self.advanced) = (true, None);
        false
    }

    fn write_on(&mut self, now: Time, die: Die, unit: Unit, of_host: bool) -> bool {
        let slot = self.ftl.try_write(die, unit);
        if let Some(slot) = slot {
            // An overwrite invalidates the unit's old slot in either kind of block.
            if let Some(slc) = &mut self.slc {
                slc.forget(unit);
            }
            if self.fill_slot(now, slot, of_host) && die == self.current {
                self.current = self.next_die(die);
            }
        }
        self.collect(now, die);
        slot.is_some()
    }

    /// Drops `unit`; returns true if it was on the flash.
    pub(super) fn trim(&mut self, unit: Unit) -> bool {
        self.stuck = false;
        if self.slc_current.is_none() && self.slc.as_ref().is_some_and(Slc::is_dynamic) {
            self.slc_current = Some(Die(0));
        }
        let in_slc = self.slc.as_mut().is_some_and(|slc| slc.forget(unit));
        self.ftl.trim(unit) || in_slc
    }

    fn next_die(&self, die: Die) -> Die {
        Die((die.0 + 1) % self.ftl.shape().dies)
    }

    /// Pads every open page that holds data of the host.
    pub(super) fn pad(&mut self, now: Time) {
        for die in (0..self.ftl.shape().dies).map(Die) {
            // A page of which the host waits for a part must be programmed, even if it is not full.
            while let Some(next) = self.ftl.begun_page(die)
                && self.pages.host_units(next) > 0
            {
                let slot = self.ftl.pad(die).expect("a page was begun");
                let complete = self.close_slot(now, slot);
                if complete && die == self.current {
                    self.current = self.next_die(die);
                }
            }
            self.collect(now, die);
            self.pad_slc(now, die);
        }
    }

    fn pad_slc(&mut self, now: Time, die: Die) {
        while let Some(slc) = &mut self.slc
            && let Some(last) = slc.begun_page(die, self.program_units)
            && self.pages.host_units(last) > 0
        {
            let slot = slc.append(die, None);
            if self.fill_slot(now, slot, false) && self.slc_current == Some(die) {
                self.slc_current = Some(self.next_die(die));
            }
        }
    }

    /// Starts or stops the folding of SLC blocks.
    pub(super) fn allow_folding(&mut self, now: Time, allowed: bool) {
        self.folding.allowed = allowed && self.slc.is_some();
        self.fold(now);
    }

    /// Continues folding on every idle die: one read or erase at a time.
    fn fold(&mut self, now: Time) {
        while let Some(&(unit, slot)) = self.folding.read.front() {
            // Units that the host has overwritten since need no fold.
            let valid = self.slc.as_ref().is_some_and(|slc| slc.slot_of(unit) == Some(slot));
            if valid && !self.write_out(now, unit, false) {
                break;
            }
            self.folding.read.pop_front();
        }
        for die in (0..self.ftl.shape().dies).map(Die) {
            if self.folding.allowed || self.is_pressed(die) {
                self.fold_on(now, die);
            }
        }
    }

    fn fold_on(&mut self, now: Time, die: Die) {
        let index = die.0 as usize;
        let Some(slc) = self.slc.as_mut().filter(|_| !self.folding.busy[index]) else { return };
        let reading = &mut self.folding.reading[index];
        let (kind, page, units, what) = if slc.read_page(die, self.units_per_page, reading) {
            let units = u32::try_from(reading.len()).expect("at most a page");
            (Kind::Copy, SLC_PAGE, units, FOLD_READ)
        } else if slc.is_folded(die) {
            (self.erase_kind(die), 0, 0, FOLD_ERASE)
        } else {
            return;
        };
        self.folding.busy[index] = true;
        let token = COLLECT | what | die.0;
        self.flash.submit(now, die, Command::new(kind, page, units, token));
    }

    fn folded(&mut self, now: Time, what: u32, die: Die) {
        let index = die.0 as usize;
        debug_assert!(self.folding.busy[index], "no fold was under way on {die:?}");
        self.folding.busy[index] = false;
        if what == FOLD_READ {
            self.folding.read.extend(self.folding.reading[index].drain(..));
        } else if let Some(slc) = &mut self.slc {
            slc.erased(die);
            self.slc_current = self.slc_current.or(Some(die));
        }
        self.fold(now);
    }

    /// Processes all events due by `now`, in order.
    pub(super) fn advance(&mut self, now: Time, outcomes: &mut Vec<Outcome>) {
        self.flash.advance(now, &mut self.finished);
        let mut finished = std::mem::take(&mut self.finished);
        for (at, token) in finished.drain(..) {
            let payload = token & PAYLOAD;
            if token == MAP | AHEAD {
                continue;
            }
            outcomes.push(match token & !PAYLOAD {
                READ => Outcome::Read(payload),
                MAP if payload == COMMIT => Outcome::Committed,
                MAP => Outcome::Map(payload),
                PROGRAM => {
                    let host_units = self.pages.programmed(payload);
                    Outcome::Programmed { page: payload, host_units }
                }
                _ => {
                    let (what, die) = (payload & !DIE, Die(payload & DIE));
                    if what == 0 {
                        self.collected(at, die);
                    } else {
                        self.folded(at, what, die);
                    }
                    Outcome::Collected
                }
            });
        }
        self.finished = finished;
    }

    fn collected(&mut self, now: Time, die: Die) {
        let index = die.0 as usize;
        debug_assert!(self.collecting[index], "no collection was under way on {die:?}");
        self.collecting[index] = false;
        self.collect(now, die);
        self.advanced = Some(die);
        // A die that has stopped collecting reports no further progress, so the next write has to
        // try all dies again.
        self.stuck &= self.collecting[index];
        // Data read for folding needs space that collection has just made.
        if !self.folding.read.is_empty() {
            self.fold(now);
        }
    }

    /// The page that holds `unit`.
    pub(super) fn page_of(&self, unit: Unit) -> Option<u32> {
        self.slot_of(unit).map(|slot| self.pages.of(slot))
    }

    /// Continues the collection of `die`, or begins one if space is low: one read or erase at a
    /// time, interleaved with the die's other commands.
    fn collect(&mut self, now: Time, die: Die) {
        if self.collecting[die.0 as usize] {
            return;
        }
        if !self.ftl.is_collecting(die)
            && (!self.ftl.is_low(die) || self.ftl.begin_collection(die).is_none())
        {
            return;
        }
        self.collecting[die.0 as usize] = true;
        let token = COLLECT | die.0;
        let mut copies = std::mem::take(&mut self.copies);
        self.ftl.copy_page(die, self.units_per_page, &mut copies);
        if let Some(first) = copies.first() {
            let units = u32::try_from(copies.len()).expect("at most a page");
            let page = self.page_in_block(first.from);
            self.flash.submit(now, die, Command::new(Kind::Copy, page, units, token));
        } else {
            self.ftl.erase(die);
            let kind = self.erase_kind(die);
            self.flash.submit(now, die, Command::new(kind, 0, 0, token));
        }
        // The programs queue behind the read on the same die, so they cannot come too early.
        for copied in copies.drain(..) {
            self.fill_slot(now, copied.to, false);
        }
        self.copies = copies;
    }

    /// The kind of an erase: the first part of a drive's block takes the time for all of them.
    fn erase_kind(&mut self, die: Die) -> Kind {
        // Erases are counted for each die, since each has blocks of the drive.
        let erased = &mut self.erased[die.0 as usize];
        let kind = if *erased == 0 { Kind::Erase } else { Kind::Release };
        *erased = (*erased + 1) % self.erase_every;
        kind
    }

    /// Moves data into `slot` and programs its page if that completes it; returns true if it does.
    #[inline]
    fn fill_slot(&mut self, now: Time, slot: Slot, of_host: bool) -> bool {
        let Some(page) = self.pages.fill(slot, of_host) else { return false };
        self.program(now, slot, page, self.page_in_block(slot));
        true
    }

    /// Leaves `slot` empty, like [`Self::fill_slot`]: a page that is closed for a commit.
    fn close_slot(&mut self, now: Time, slot: Slot) -> bool {
        let Some(page) = self.pages.fill(slot, false) else { return false };
        let has_own_time = self.flash.commits_in_own_time();
        let index = if has_own_time { COMMIT_PAGE } else { self.page_in_block(slot) };
        self.program(now, slot, page, index);
        true
    }

    #[inline]
    fn program(&mut self, now: Time, slot: Slot, page: u32, index: u32) {
        let (units, token) = (self.program_units, PROGRAM | page);
        let command = Command::new(Kind::Program, index, units, token);
        self.flash.submit(now, self.die_of(slot), command);
    }

    #[cfg(test)]
    pub(super) fn is_slc(&self, unit: Unit) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.slot_of(unit).is_some())
    }

    /// Checks every rule of the translation layer and of the SLC blocks, and that no unit is in
    /// both.
    #[cfg(test)]
    pub(super) fn check(&self) {
        self.ftl.check().unwrap();
        let Some(slc) = &self.slc else { return };
        slc.check();
        for unit in (0..self.ftl.shape().units).map(Unit) {
            let both = self.ftl.lookup(unit).is_some() && slc.slot_of(unit).is_some();
            assert!(!both, "{unit:?} has two slots");
        }
    }

    #[inline]
    fn page_in_block(&self, slot: Slot) -> u32 {
        if self.slc.as_ref().is_some_and(|slc| slc.die_of(slot).is_some()) {
            return SLC_PAGE;
        }
        slot.0 % self.ftl.shape().slots_per_block / self.program_units
    }
}
