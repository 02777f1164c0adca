//! Translation layer and flash together: units in, programs, copies and erases on the dies.

use drivelab_core::Time;

use super::flash::{Command, Flash, FlashRules, Kind};
use super::ftl::{Copied, Die, Ftl, Rules, Shape, ShapeError, Slot, Unit};
use super::pages::Pages;

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
}

/// The kinds of token: the two highest bits.
const READ: u32 = 0;
const PROGRAM: u32 = 1 << 30;
const COLLECT: u32 = 2 << 30;
const MAP: u32 = 3 << 30;
const PAYLOAD: u32 = (1 << 30) - 1;

impl Backend {
    pub(super) fn new(rules: BackendRules) -> Result<Self, ShapeError> {
        let program_units = rules.units_per_page * rules.planes;
        let ftl = Ftl::new(rules.shape, Rules { page_slots: program_units, ..rules.ftl })?;
        let slots = rules.shape.slots();
        if slots / u64::from(program_units) > u64::from(PAYLOAD) {
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
        })
    }

    pub(super) fn next_event(&self) -> Option<Time> {
        self.flash.next_event()
    }

    /// Where `unit` must be read from; `None` where it is in memory or was never written.
    #[inline]
    pub(super) fn on_flash(&self, unit: Unit) -> Option<Slot> {
        self.ftl.lookup(unit).filter(|slot| !self.pages.in_memory(*slot))
    }

    /// Whether one read of the cells brings both.
    #[inline]
    pub(super) fn same_page(&self, one: Slot, other: Slot) -> bool {
        one.0 / self.units_per_page == other.0 / self.units_per_page
    }

    /// Reads `units` units of the page of `slot` for the command of number `of`.
    #[inline]
    pub(super) fn read(&mut self, now: Time, slot: Slot, units: u32, of: u32) {
        let die = self.ftl.shape().die_of_slot(slot);
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
        if self.stuck {
            let Some(die) = self.moved else { return false };
            let done = self.write_on(now, die, unit);
            if !done {
                self.moved = None;
            }
            return done;
        }
        for _ in 0..self.ftl.shape().dies {
            if self.write_on(now, self.current, unit) {
                return true;
            }
            self.current = self.next_die(self.current);
        }
        (self.stuck, self.moved) = (true, None);
        false
    }

    fn write_on(&mut self, now: Time, die: Die, unit: Unit) -> bool {
        let may = self.ftl.may_write(die, unit);
        if may {
            let slot = self.ftl.write(die, unit);
            if self.place(now, slot, true) && die == self.current {
                self.current = self.next_die(die);
            }
        }
        self.collect(now, die);
        may
    }

    /// Forgets `unit`; whether it lay anywhere.
    pub(super) fn trim(&mut self, unit: Unit) -> bool {
        self.stuck = false;
        self.ftl.trim(unit)
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
        }
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
                    self.collecting[payload as usize] = false;
                    self.collect(at, Die(payload));
                    self.moved = Some(Die(payload));
                    // A die that stands still reports no more: each is asked again.
                    self.stuck &= self.collecting[payload as usize];
                    Outcome::Collected
                }
            });
        }
        self.finished = finished;
    }

    /// The page in which `unit` lies.
    pub(super) fn page_of(&self, unit: Unit) -> Option<u32> {
        self.ftl.lookup(unit).map(|slot| self.pages.of(slot))
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
        let die = self.ftl.shape().die_of_slot(slot);
        let command = Command {
            kind: Kind::Program,
            page: self.page_in_block(slot),
            units: self.program_units,
            token: PROGRAM | page,
        };
        self.flash.submit(now, die, command);
        true
    }

    #[inline]
    fn page_in_block(&self, slot: Slot) -> u32 {
        slot.0 % self.ftl.shape().slots_per_block / self.program_units
    }
}
