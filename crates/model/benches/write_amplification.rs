//! Write amplification of every rule of collection, simulated and in closed form:
//! `cargo bench -p drivelab-model --bench write_amplification`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use drivelab_core::Rng;
use drivelab_model::ssd::ftl::{Choice, Die, Ftl, Rules, Shape, Unit, closed_form};

const BLOCKS: u32 = 4_000;
/// Per thousand of the slots; the over-provisioning of the literature: 43 % to 7.5 %.
const UTILISATIONS: [u32; 7] = [700, 769, 800, 850, 875, 900, 930];
/// How often the whole drive is written before and while counting.
const ROUNDS: u32 = 4;
/// How far a simulated figure may be from its closed form.
const TOLERANCE: f64 = 0.02;

fn simulate(choice: Choice, slots_per_block: u32, per_mille: u32) -> f64 {
    // One block is kept free by collection and is no part of the space that units share.
    let shared = u64::from(BLOCKS - 1) * u64::from(slots_per_block);
    let units = u32::try_from(shared * u64::from(per_mille) / 1000).expect("a small drive");
    let shape = Shape { dies: 1, blocks_per_die: BLOCKS, slots_per_block, units };
    let rules = Rules { choice, low_water: 1, page_slots: 1, seed: 7 };
    let mut ftl = Ftl::new(shape, rules).expect("there is spare space");
    let mut rng = Rng::new(1);
    let write = |ftl: &mut Ftl, unit: u32| {
        ftl.collect(Die(0));
        ftl.write(Die(0), Unit(unit));
    };
    (0..units).for_each(|unit| write(&mut ftl, unit));
    let mut rounds = |ftl: &mut Ftl| {
        for _ in 0..units * ROUNDS {
            write(ftl, u32::try_from(rng.below(u64::from(units))).expect("below a u32"));
        }
    };
    rounds(&mut ftl);
    let before = ftl.written().copied;
    rounds(&mut ftl);
    ftl.check().expect("every rule holds");
    let copied = u32::try_from(ftl.written().copied - before).expect("a small drive");
    1.0 + f64::from(copied) / f64::from(units * ROUNDS)
}

fn main() {
    let mut worst = 0.0_f64;
    for per_mille in UTILISATIONS {
        let u = f64::from(per_mille) / 1000.0;
        let mut cell = |name: &str, choice, slots, expected: f64| {
            let found = simulate(choice, slots, per_mille);
            let off = found / expected - 1.0;
            worst = worst.max(off.abs());
            let percent = off * 100.0;
            println!("{u:.3} {name:8} {slots:3} {expected:7.3} {found:7.3} {percent:+6.2} %");
        };
        cell("random", Choice::Random, 64, closed_form::random(u));
        cell("fifo", Choice::Fifo, 64, closed_form::fifo(u));
        for slots in [32, 64, 128, 256] {
            cell("greedy", Choice::Greedy, slots, closed_form::greedy(u, slots));
        }
        for draws in [2, 4, 10] {
            let expected = closed_form::best_of(draws, u, 64);
            cell(&format!("best-{draws}"), Choice::BestOf(draws), 64, expected);
        }
    }
    assert!(worst < TOLERANCE, "a figure is {:.2} % off", worst * 100.0);
}
