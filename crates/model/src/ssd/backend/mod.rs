//! Translation layer and flash together: units in, programs, copies and erases on the dies.

mod pages;
mod slc;

pub use slc::SlcRules;

use std::collections::VecDeque;

use drivelab_core::Time;

use super::flash::{Command, Flash, FlashRules, Kind, SLC_PAGE};
use super::ftl::{Copied, Die, Ftl, Rules, Shape, ShapeError, Slot, Unit};
use pages::Pages;
use slc::Slc;

/// What the memory of a drive keeps its data on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendRules {
    /// How many of everything there are.
    pub shape: Shape,
    /// How the translation layer works; pages as `planes` and `units_per_page` say.
    pub ftl: Rules,
    /// How long the flash takes; as many dies as the shape has.
    pub flash: FlashRules,
    /// Units that one read of the cells brings.
    pub units_per_page: u32,
    /// Planes that are programmed together.
    pub planes: u32,
    /// One erase of so many takes its time: the others belong to the same block of the drive, of
    /// which a block here is a part.
    pub erase_every: u32,
    /// Blocks that are written as SLC first, beyond those of the shape.
    pub slc: Option<SlcRules>,
}

/// What the flash has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// One read for the command of this number.
    Read(u32),
    /// A page with this many units of the host.
    Programmed { page: u32, host_units: u32 },
    /// A die has moved on with its collection.
    Collected,
    /// A part of the map for the command of this number.
    Map(u32),
}

#[derive(Debug, Clone)]
pub(super) struct Backend {
    pub(super) ftl: Ftl,
    flash: Flash,
    pages: Pages,
    units_per_page: u32,
    erase_every: u32,
    /// Erases of each die since one took its time.
    erased: Vec<u32>,
    /// Pages of one plane in a block.
    program_units: u32,
    /// Dies that wait for a copy or an erase.
    collecting: Vec<bool>,
    /// Where the host writes next.
    current: Die,
    /// No die had space for the host when each was last asked ...
    stuck: bool,
    /// ... but this one has moved on with its collection since.
    moved: Option<Die>,
    copies: Vec<Copied>,
    finished: Vec<(Time, u32)>,
    slc: Option<Slc>,
    /// Where the host writes next as SLC; `None` while there is no space anywhere.
    slc_current: Option<Die>,
    folding: Folding,
}

/// What folds blocks written as SLC out to the others.
#[derive(Debug, Clone, Default)]
struct Folding {
    allowed: bool,
    /// Dies that wait for a read or an erase of theirs.
    busy: Vec<bool>,
    /// What each of them reads.
    reading: Vec<Vec<(Unit, Slot)>>,
    /// What was read and has no other place yet.
    read: VecDeque<(Unit, Slot)>,
}

/// The kinds of token: the two highest bits.
const READ: u32 = 0;
const PROGRAM: u32 = 1 << 30;
const COLLECT: u32 = 2 << 30;
const MAP: u32 = 3 << 30;
const PAYLOAD: u32 = (1 << 30) - 1;
/// Beside the die in the payload of `COLLECT`: a read to fold, and an erase of a block folded.
const FOLD_READ: u32 = 1 << 16;
const FOLD_ERASE: u32 = 2 << 16;
const DIE: u32 = FOLD_READ - 1;

impl Backend {
    pub(super) fn new(rules: BackendRules) -> Result<Self, ShapeError> {
        let program_units = rules.units_per_page * rules.planes;
        let ftl = Ftl::new(rules.shape, Rules { page_slots: program_units, ..rules.ftl })?;
        let base = u32::try_from(rules.shape.slots()).expect("the shape was checked");
        let of_slc = rules.slc.map_or(0, |slc| u64::from(slc.blocks * slc.slots_per_block));
        let slots = u64::from(base) + of_slc * u64::from(rules.shape.dies);
        let pages = slots / u64::from(program_units);
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
            moved: None,
            copies: Vec::with_capacity(rules.units_per_page as usize),
            finished: Vec::with_capacity(dies as usize * 2),
            slc: rules.slc.map(|slc| Slc::new(slc, base, dies, rules.shape.units)),
            slc_current: rules.slc.map(|_| Die(0)),
            folding: Folding {
                allowed: false,
                busy: vec![false; dies as usize],
                reading: vec![Vec::new(); dies as usize],
                read: VecDeque::new(),
            },
        })
    }

    /// When something happens next; `Time::MAX` where nothing does.
    #[inline]
    pub(super) fn next_or_never(&self) -> Time {
        self.flash.next_or_never()
    }

    /// Where `unit` must be read from; `None` where it is in memory or was never written.
    #[inline]
    pub(super) fn on_flash(&self, unit: Unit) -> Option<Slot> {
        self.place_of(unit).filter(|slot| !self.pages.in_memory(*slot))
    }

    #[inline]
    pub(super) fn place_of(&self, unit: Unit) -> Option<Slot> {
        self.ftl.lookup(unit).or_else(|| self.slc.as_ref()?.slot_of(unit))
    }

    #[inline]
    fn die_of(&self, slot: Slot) -> Die {
        let of_slc = self.slc.as_ref().and_then(|slc| slc.die_of(slot));
        of_slc.unwrap_or_else(|| self.ftl.shape().die_of_slot(slot))
    }

    /// Whether one read of the cells brings both.
    #[inline]
    pub(super) fn same_page(&self, one: Slot, other: Slot) -> bool {
        one.0 / self.units_per_page == other.0 / self.units_per_page
    }

    /// Reads `units` units of the page of `slot` for the command of number `of`.
    #[inline]
    pub(super) fn read(&mut self, now: Time, slot: Slot, units: u32, of: u32) {
        let die = self.die_of(slot);
        let command =
            Command { kind: Kind::Read, page: self.page_in_block(slot), units, token: READ | of };
        self.flash.submit(now, die, command);
    }

    /// Reads a part of the map for the command of number `of`.
    pub(super) fn read_map(&mut self, now: Time, part: u32, of: u32) {
        let die = Die(part % self.ftl.shape().dies);
        let command = Command { kind: Kind::Read, page: part, units: 1, token: MAP | of };
        self.flash.submit(now, die, command);
    }

    /// Writes a unit of the host to the next die that can take it; whether there is one.
    ///
    /// Dies take turns page by page, so that a page fills before the next is begun.
    pub(super) fn write(&mut self, now: Time, unit: Unit) -> bool {
        self.write_as_slc(now, unit) || self.write_out(now, unit, true)
    }

    fn write_as_slc(&mut self, now: Time, unit: Unit) -> bool {
        let (Some(slc), Some(first)) = (&mut self.slc, self.slc_current) else { return false };
        let dies = self.ftl.shape().dies;
        let all = (0..dies).map(|later| Die((first.0 + later) % dies));
        let Some(die) = all.into_iter().find(|die| slc.has_space(*die)) else {
            self.slc_current = None;
            return false;
        };
        let slot = slc.place(die, Some(unit));
        if self.ftl.trim(unit) {
            self.stuck = false;
        }
        let complete = self.place(now, slot, true);
        self.slc_current = Some(if complete { self.next_die(die) } else { die });
        true
    }

    /// Writes a unit past the blocks written as SLC.
    fn write_out(&mut self, now: Time, unit: Unit, of_host: bool) -> bool {
        if self.stuck {
            let Some(die) = self.moved else { return false };
            let done = self.write_on(now, die, unit, of_host);
            if !done {
                self.moved = None;
            }
            return done;
        }
        for _ in 0..self.ftl.shape().dies {
            if self.write_on(now, self.current, unit, of_host) {
                return true;
            }
            self.current = self.next_die(self.current);
        }
        (self.stuck, self.moved) = (true, None);
        false
    }

    fn write_on(&mut self, now: Time, die: Die, unit: Unit, of_host: bool) -> bool {
        let slot = self.ftl.try_write(die, unit);
        if let Some(slot) = slot {
            if let Some(slc) = &mut self.slc {
                slc.forget(unit);
            }
            if self.place(now, slot, of_host) && die == self.current {
                self.current = self.next_die(die);
            }
        }
        self.collect(now, die);
        slot.is_some()
    }

    /// Forgets `unit`; whether it lay anywhere.
    pub(super) fn trim(&mut self, unit: Unit) -> bool {
        self.stuck = false;
        let in_slc = self.slc.as_mut().is_some_and(|slc| slc.forget(unit));
        self.ftl.trim(unit) || in_slc
    }

    fn next_die(&self, die: Die) -> Die {
        Die((die.0 + 1) % self.ftl.shape().dies)
    }

    /// Completes every page that waits with data of the host.
    pub(super) fn pad(&mut self, now: Time) {
        for die in (0..self.ftl.shape().dies).map(Die) {
            while let Some(next) = self.ftl.begun_page(die)
                && self.pages.host_units(next) > 0
            {
                let slot = self.ftl.pad(die).expect("a page was begun");
                let complete = self.place(now, slot, false);
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
            let slot = slc.place(die, None);
            if self.place(now, slot, false) && self.slc_current == Some(die) {
                self.slc_current = Some(self.next_die(die));
            }
        }
    }

    /// Whether blocks written as SLC may be folded out from now on.
    pub(super) fn allow_folding(&mut self, now: Time, allowed: bool) {
        self.folding.allowed = allowed && self.slc.is_some();
        self.fold(now);
    }

    /// Continues to fold on every die that waits for nothing of it: one read or erase at a time.
    fn fold(&mut self, now: Time) {
        while let Some(&(unit, slot)) = self.folding.read.front() {
            // What the host has overwritten since is not written again.
            let here = self.slc.as_ref().is_some_and(|slc| slc.slot_of(unit) == Some(slot));
            if here && !self.write_out(now, unit, false) {
                break;
            }
            self.folding.read.pop_front();
        }
        if !self.folding.allowed {
            return;
        }
        for die in (0..self.ftl.shape().dies).map(Die) {
            self.fold_on(now, die);
        }
    }

    fn fold_on(&mut self, now: Time, die: Die) {
        let at = die.0 as usize;
        let Some(slc) = self.slc.as_mut().filter(|_| !self.folding.busy[at]) else { return };
        let reading = &mut self.folding.reading[at];
        let (kind, page, units, what) = if slc.read_page(die, self.units_per_page, reading) {
            let units = u32::try_from(reading.len()).expect("at most a page");
            (Kind::Copy, SLC_PAGE, units, FOLD_READ)
        } else if slc.is_folded(die) {
            (self.erase_kind(die), 0, 0, FOLD_ERASE)
        } else {
            return;
        };
        self.folding.busy[at] = true;
        let token = COLLECT | what | die.0;
        self.flash.submit(now, die, Command { kind, page, units, token });
    }

    fn folded(&mut self, now: Time, what: u32, die: Die) {
        let at = die.0 as usize;
        self.folding.busy[at] = false;
        if what == FOLD_READ {
            self.folding.read.extend(self.folding.reading[at].drain(..));
        } else if let Some(slc) = &mut self.slc {
            slc.erased(die);
            self.slc_current = self.slc_current.or(Some(die));
        }
        self.fold(now);
    }

    /// Lets everything happen that is due by `now`, in order.
    pub(super) fn advance(&mut self, now: Time, outcomes: &mut Vec<Outcome>) {
        self.flash.advance(now, &mut self.finished);
        let mut finished = std::mem::take(&mut self.finished);
        for (at, token) in finished.drain(..) {
            let payload = token & PAYLOAD;
            outcomes.push(match token & !PAYLOAD {
                READ => Outcome::Read(payload),
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
        let at = die.0 as usize;
        self.collecting[at] = false;
        self.collect(now, die);
        self.moved = Some(die);
        // A die that stands still reports no more: each is asked again.
        self.stuck &= self.collecting[at];
        if !self.folding.read.is_empty() {
            self.fold(now);
        }
    }

    /// The page in which `unit` lies.
    pub(super) fn page_of(&self, unit: Unit) -> Option<u32> {
        self.place_of(unit).map(|slot| self.pages.of(slot))
    }

    /// Continues the collection of `die`, or begins one where space is low: one read or erase at a
    /// time, in turn with what else the die has to do.
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
            self.flash.submit(now, die, Command { kind: Kind::Copy, page, units, token });
        } else {
            self.ftl.erase(die);
            let kind = self.erase_kind(die);
            self.flash.submit(now, die, Command { kind, page: 0, units: 0, token });
        }
        // Programs stand behind the read in the queue of the die: they cannot come too early.
        for copied in copies.drain(..) {
            self.place(now, copied.to, false);
        }
        self.copies = copies;
    }

    /// The erase of a block that is a part of one of the drive's: the first of them is its erase.
    fn erase_kind(&mut self, die: Die) -> Kind {
        let erased = &mut self.erased[die.0 as usize];
        let kind = if *erased == 0 { Kind::Erase } else { Kind::Release };
        *erased = (*erased + 1) % self.erase_every;
        kind
    }

    /// Moves data into `slot` and programs its page if that completes it; whether it does.
    #[inline]
    fn place(&mut self, now: Time, slot: Slot, of_host: bool) -> bool {
        let Some(page) = self.pages.place(slot, of_host) else { return false };
        let die = self.die_of(slot);
        let command = Command {
            kind: Kind::Program,
            page: self.page_in_block(slot),
            units: self.program_units,
            token: PROGRAM | page,
        };
        self.flash.submit(now, die, command);
        true
    }

    #[cfg(test)]
    pub(super) fn is_slc(&self, unit: Unit) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.slot_of(unit).is_some())
    }

    /// Checks every rule of the translation layer and of the blocks written as SLC, and that no
    /// unit lies in both.
    #[cfg(test)]
    pub(super) fn check(&self) {
        self.ftl.check().unwrap();
        let Some(slc) = &self.slc else { return };
        slc.check();
        for unit in (0..self.ftl.shape().units).map(Unit) {
            let both = self.ftl.lookup(unit).is_some() && slc.slot_of(unit).is_some();
            assert!(!both, "{unit:?} lies in two places");
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
