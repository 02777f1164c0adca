//! The translation layer against closed forms, and against a flash that remembers everything.
#![expect(clippy::print_stdout, reason = "a test that fails names its seed")]

use drivelab_core::Rng;

use super::*;

fn below(rng: &mut Rng, limit: u32) -> u32 {
    u32::try_from(rng.below(u64::from(limit))).unwrap()
}

fn rules(choice: Choice) -> Rules {
    Rules { choice, low_water: 1, page_slots: 1, seed: 7 }
}

/// Write amplification of uniform random writes at `percent` utilisation, in the steady state.
///
/// Collection keeps one block free, which is no part of the space that units share.
fn amplification(choice: Choice, slots_per_block: u32, percent: u32) -> f64 {
    const BLOCKS: u32 = 1_000;
    let units = (BLOCKS - 1) * slots_per_block * percent / 100;
    let shape = Shape { dies: 1, blocks_per_die: BLOCKS, slots_per_block, units };
    let mut ftl = Ftl::new(shape, rules(choice)).unwrap();
    let mut rng = Rng::new(1);
    let write = |ftl: &mut Ftl, unit| {
        ftl.collect(Die(0));
        ftl.write(Die(0), Unit(unit));
    };
    for unit in 0..units {
        write(&mut ftl, unit);
    }
    for _ in 0..units * 4 {
        write(&mut ftl, below(&mut rng, units));
    }
    let before = ftl.written();
    for _ in 0..units * 4 {
        write(&mut ftl, below(&mut rng, units));
    }
    ftl.check().unwrap();
    let copied = ftl.written().copied - before.copied;
    1.0 + f64::from(u32::try_from(copied).unwrap()) / f64::from(units * 4)
}

fn check_amplification(choice: Choice, slots_per_block: u32, percent: u32, expected: f64) {
    let found = amplification(choice, slots_per_block, percent);
    let off = found / expected - 1.0;
    assert!(
        off.abs() < 0.02,
        "{choice:?}, {slots_per_block} slots, {percent} %: {found:.3} for {expected:.3}"
    );
}

#[test]
fn greedy_choice_amplifies_writes_as_its_closed_form_says() {
    for percent in [70, 80, 90] {
        let u = f64::from(percent) / 100.0;
        for slots in [16, 32, 64] {
            check_amplification(Choice::Greedy, slots, percent, closed_form::greedy(u, slots));
        }
    }
}

#[test]
fn the_best_of_some_draws_amplifies_writes_as_its_closed_form_says() {
    for draws in [2, 4, 10] {
        for percent in [70, 90] {
            let u = f64::from(percent) / 100.0;
            let expected = closed_form::best_of(draws, u, 64);
            check_amplification(Choice::BestOf(draws), 64, percent, expected);
        }
    }
}

#[test]
fn age_and_chance_amplify_writes_as_their_closed_forms_say() {
    for percent in [70, 85, 90] {
        let u = f64::from(percent) / 100.0;
        check_amplification(Choice::Fifo, 64, percent, closed_form::fifo(u));
        check_amplification(Choice::Random, 64, percent, closed_form::random(u));
    }
}

#[test]
fn sequential_overwrites_copy_nothing() {
    let shape = Shape { dies: 2, blocks_per_die: 20, slots_per_block: 8, units: 240 };
    let mut ftl = Ftl::new(shape, rules(Choice::Greedy)).unwrap();
    for round in 0..10 {
        for unit in 0..shape.units {
            let die = Die(unit % 2);
            ftl.collect(die);
            ftl.write(die, Unit(unit));
        }
        ftl.check().unwrap_or_else(|broken| panic!("round {round}: {broken}"));
    }
    assert_eq!(ftl.written(), Written { host: 2400, copied: 0, padded: 0 });
    assert!(ftl.wear().most - ftl.wear().least <= 1, "{:?}", ftl.wear());
}

#[test]
fn what_is_trimmed_is_not_copied() {
    let shape = Shape { dies: 1, blocks_per_die: 8, slots_per_block: 4, units: 20 };
    let mut ftl = Ftl::new(shape, rules(Choice::Fifo)).unwrap();
    for unit in 0..20 {
        ftl.collect(Die(0));
        ftl.write(Die(0), Unit(unit));
    }
    for unit in 0..3 {
        assert!(ftl.trim(Unit(unit)));
    }
    assert!(!ftl.trim(Unit(0)), "trimmed already");
    assert_eq!(ftl.lookup(Unit(0)), None);
    assert_eq!(ftl.begin_collection(Die(0)), Some(Block(0)));
    assert_eq!(ftl.copy_next(Die(0)).map(|copied| copied.unit), Some(Unit(3)));
    assert_eq!(ftl.copy_next(Die(0)), None);
    assert_eq!(ftl.erase(Die(0)), Block(0));
    ftl.check().unwrap();
}

#[test]
fn shapes_without_spare_space_are_refused() {
    let shape = Shape { dies: 2, blocks_per_die: 10, slots_per_block: 4, units: 64 };
    assert_eq!(shape.check(1, 1), Ok(()));
    let refused = |shape: Shape| shape.check(1, 1).unwrap_err();
    let full = ShapeError::NoSpare { units: 65, slots: 80, reserve: 16 };
    assert_eq!(refused(Shape { units: 65, ..shape }), full);
    assert_eq!(refused(Shape { dies: 0, ..shape }), ShapeError::Empty);
    let slots = 2 * (1 << 20) * (1 << 12);
    let large = Shape { blocks_per_die: 1 << 20, slots_per_block: 1 << 12, ..shape };
    assert_eq!(refused(large), ShapeError::TooLarge { slots });
}

/// All data first, on one die after the other: a die that is all valid could never be collected.
#[test]
fn no_die_fills_so_far_that_collection_gains_nothing() {
    let shape = Shape { dies: 2, blocks_per_die: 10, slots_per_block: 4, units: 64 };
    let mut ftl = Ftl::new(shape, rules(Choice::Greedy)).unwrap();
    let mut rng = Rng::new(3);
    for round in 0..2_000 {
        let unit = Unit(if round < 64 { round } else { below(&mut rng, 64) });
        (0..2).map(Die).for_each(|die| ftl.collect(die));
        let die = (0..2).map(Die).find(|die| ftl.may_write(*die, unit)).unwrap();
        ftl.write(die, unit);
        ftl.check().unwrap();
    }
}

/// What a padded slot holds.
const EMPTY: Unit = Unit(u32::MAX);

/// A flash that keeps the version of each unit and refuses what flash cannot do.
struct Flash {
    shape: Shape,
    /// The unit and version in each slot; `None` where the slot is erased.
    slots: Vec<Option<(Unit, u64)>>,
    /// Slots of each block that are programmed: they go in order.
    programmed: Vec<u32>,
}

impl Flash {
    fn new(shape: Shape) -> Self {
        let slots = vec![None; usize::try_from(shape.slots()).unwrap()];
        let programmed = vec![0; usize::try_from(shape.blocks()).unwrap()];
        Self { shape, slots, programmed }
    }

    fn program(&mut self, die: Die, slot: Slot, unit: Option<Unit>, version: u64) {
        assert_eq!(self.shape.die_of_slot(slot), die, "a slot of another die");
        let block = self.shape.block_of(slot);
        let next = &mut self.programmed[block.index()];
        assert_eq!(slot.0 % self.shape.slots_per_block, *next, "programmed out of order");
        *next += 1;
        let before = self.slots[slot.index()].replace((unit.unwrap_or(EMPTY), version));
        assert_eq!(before, None, "programmed without an erase");
    }

    fn erase(&mut self, block: Block) {
        let first = self.shape.first_slot(block).index();
        self.slots[first..first + self.shape.slots_per_block as usize].fill(None);
        self.programmed[block.index()] = 0;
    }
}

/// Random writes, trims and steps of collection on all dies; every unit must read back.
fn torture(choice: Choice, page_slots: u32, seed: u64) {
    let shape = Shape { dies: 3, blocks_per_die: 12, slots_per_block: 8, units: 200 };
    let mut ftl = Ftl::new(shape, Rules { choice, low_water: 2, page_slots, seed }).unwrap();
    let mut flash = Flash::new(shape);
    let mut newest: Vec<Option<u64>> = vec![None; 200];
    let mut rng = Rng::new(seed);
    for version in 0..20_000 {
        let die = Die(below(&mut rng, 3));
        let unit = Unit(below(&mut rng, 200));
        match rng.below(10) {
            0 => {
                assert_eq!(ftl.trim(unit), newest[unit.index()].is_some());
                newest[unit.index()] = None;
            }
            1..5 if ftl.may_write(die, unit) => {
                flash.program(die, ftl.write(die, unit), Some(unit), version);
                newest[unit.index()] = Some(version);
                while rng.below(4) == 0
                    && let Some(slot) = ftl.pad(die)
                {
                    flash.program(die, slot, None, version);
                }
            }
            _ if ftl.is_low(die) || rng.below(20) == 0 => {
                ftl.begin_collection(die);
                if let Some(copied) = ftl.copy_next(die) {
                    let held = flash.slots[copied.from.index()].unwrap();
                    assert_eq!(held.0, copied.unit);
                    flash.program(die, copied.to, Some(copied.unit), held.1);
                } else if ftl.is_collecting(die) {
                    flash.erase(ftl.erase(die));
                }
            }
            _ => {}
        }
        let lies = ftl.lookup(unit).map(|slot| flash.slots[slot.index()].unwrap());
        assert_eq!(lies, newest[unit.index()].map(|version| (unit, version)));
        if version % 100 == 0 {
            ftl.check().unwrap();
        }
    }
    for unit in (0..200).map(Unit) {
        let lies = ftl.lookup(unit).map(|slot| flash.slots[slot.index()].unwrap());
        assert_eq!(lies, newest[unit.index()].map(|version| (unit, version)));
    }
    assert!(ftl.wear().total > 100, "collection never worked: {:?}", ftl.wear());
}

#[test]
fn no_unit_is_lost_whatever_happens_between_the_steps_of_collection() {
    for choice in [Choice::Greedy, Choice::BestOf(3), Choice::Fifo, Choice::Random] {
        for seed in 0..8 {
            println!("{choice:?}, seed {seed}");
            torture(choice, 1, seed);
            torture(choice, 4, seed);
        }
    }
}

/// Blocks by their share of valid slots, in tenths, and write amplification while `count` units are
/// written at random.
fn state_of(ftl: &mut Ftl, count: u64, seed: u64) -> (Vec<f64>, f64) {
    ftl.check().unwrap();
    let mut tenths = vec![0.0; 11];
    let shape = *ftl.shape();
    let blocks = u32::try_from(shape.blocks()).unwrap();
    for block in (0..blocks).map(Block) {
        let place = ftl.map.valid(block) * 10 / shape.slots_per_block;
        tenths[place as usize] += 1.0 / f64::from(blocks);
    }
    let before = ftl.written();
    write_at_random(ftl, count, seed);
    let after = ftl.written();
    let (host, copied) = (after.host - before.host, after.copied - before.copied);
    (
        tenths,
        f64::from(u32::try_from(host + copied).unwrap()) / f64::from(u32::try_from(host).unwrap()),
    )
}

/// Writes units at random, to one die after the other.
fn write_at_random(ftl: &mut Ftl, count: u64, seed: u64) {
    let mut rng = Rng::new(seed);
    let (dies, units) = (ftl.shape().dies, u64::from(ftl.shape().units));
    for number in 0..count {
        let unit = Unit(u32::try_from(rng.below(units)).unwrap());
        let mut die = Die(u32::try_from(number % u64::from(dies)).unwrap());
        ftl.collect(die);
        while !ftl.may_write(die, unit) {
            die = Die((die.0 + 1) % dies);
            ftl.collect(die);
        }
        ftl.write(die, unit);
    }
}

/// The computed steady state against the one that random writes of twice the capacity reach.
#[test]
fn the_computed_steady_state_is_the_one_that_writing_reaches() {
    for choice in [Choice::Greedy, Choice::BestOf(4), Choice::Fifo, Choice::Random] {
        let shape = Shape { dies: 4, blocks_per_die: 400, slots_per_block: 64, units: 88_000 };
        let rules = Rules { choice, low_water: 2, page_slots: 4, seed: 1 };
        let twice = u64::from(shape.units) * 2;
        let mut written = Ftl::new(shape, rules).unwrap();
        written.fill(shape.units);
        write_at_random(&mut written, twice, 5);
        let mut computed = Ftl::new(shape, rules).unwrap();
        computed.settle(shape.units);
        // Of every die, three times what it holds: with less, blocks of some ages are missing.
        assert!(computed.written().host >= u64::from(shape.units) * 3);
        let (reached, by_writing) = state_of(&mut written, twice, 6);
        let (tenths, by_computing) = state_of(&mut computed, twice, 7);
        println!("{choice:?} {by_writing:.3} {by_computing:.3}\n{reached:.3?}\n{tenths:.3?}");
        assert!((by_computing / by_writing - 1.0).abs() < 0.02, "{by_computing} {by_writing}");
        let apart: f64 = tenths.iter().zip(&reached).map(|(a, b)| (a - b).abs()).sum();
        assert!(apart < 0.1, "{choice:?}: {tenths:?} {reached:?}");
    }
}

/// A drive that is nearly full has dies that take no more.
#[test]
fn filling_by_pages_places_units_as_filling_one_by_one() {
    for (units, page_slots) in [(4_001, 1), (4_002, 4), (4_100, 8), (5_400, 8)] {
        let shape = Shape { dies: 3, blocks_per_die: 60, slots_per_block: 32, units };
        let rules = Rules { choice: Choice::Greedy, low_water: 2, page_slots, seed: 1 };
        let (mut by_pages, mut one_by_one) =
            (Ftl::new(shape, rules).unwrap(), Ftl::new(shape, rules).unwrap());
        by_pages.fill(units);
        // The first write is single, so that all others are.
        let first = one_by_one.write(Die(0), Unit(0));
        let mut die = Die(u32::from(page_slots == 1));
        for unit in 1..units {
            let slot = loop {
                match one_by_one.try_write(die, Unit(unit)) {
                    Some(slot) => break slot,
                    None => die = Die((die.0 + 1) % shape.dies),
                }
            };
            if (slot.0 + 1).is_multiple_of(page_slots) {
                die = Die((die.0 + 1) % shape.dies);
            }
        }
        assert_eq!(by_pages.lookup(Unit(0)), Some(first));
        for unit in (0..units).map(Unit) {
            assert_eq!(by_pages.lookup(unit), one_by_one.lookup(unit), "{units} {unit:?}");
        }
        assert_eq!(by_pages.written().host, one_by_one.written().host);
        by_pages.check().unwrap();
    }
}

/// Dies whose units do not divide evenly, and what the host does next.
#[test]
fn preconditioned_drives_are_whole() {
    for (units, page_slots) in [(4_001, 1), (4_002, 4), (4_100, 8)] {
        let shape = Shape { dies: 3, blocks_per_die: 60, slots_per_block: 32, units };
        let rules = Rules { choice: Choice::Greedy, low_water: 2, page_slots, seed: 1 };
        for steady in [false, true] {
            let mut ftl = Ftl::new(shape, rules).unwrap();
            if steady {
                ftl.settle(units);
            } else {
                ftl.fill(units);
            }
            ftl.check().unwrap();
            assert!((0..units).all(|unit| ftl.lookup(Unit(unit)).is_some()), "{units} {steady}");
            write_at_random(&mut ftl, 20_000, 1);
            ftl.check().unwrap();
        }
    }
}
