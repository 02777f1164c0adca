//! The rules of a translation layer, by the hundred million:
//! `cargo bench -p drivelab-model --bench flash_invariants`.
//!
//! Takes a seed and a number of millions of checks: `... -- 7 200`. Writes, trims, pads and
//! collects at random on layers of random shapes, verifies mapping both ways, valid counts, states,
//! wear and balance from scratch every so often, and stops at the first rule that does not hold.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use drivelab_core::Rng;
use drivelab_model::ssd::ftl::{Choice, Die, Ftl, Rules, Shape, Unit};

fn main() {
    // Cargo adds `--bench`.
    let numbers: Vec<u64> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let seed = numbers.first().copied().unwrap_or(1);
    let wanted = numbers.get(1).copied().unwrap_or(100) * 1_000_000;
    let (mut checks, mut histories, mut worn) = (0, 0, 0);
    while checks < wanted {
        let history = seed.wrapping_mul(1 << 40).wrapping_add(histories);
        let (made, erased) = play(history);
        checks += made;
        worn += erased;
        histories += 1;
    }
    println!("seed {seed}: {checks} checks held, {histories} histories, {worn} erases");
}

/// A number from `low` to `high`.
fn between(rng: &mut Rng, low: u32, high: u32) -> u32 {
    u32::try_from(rng.between(u64::from(low), u64::from(high))).expect("small")
}

fn drawn(rng: &mut Rng) -> (Shape, Rules) {
    let page_slots = 1 << between(rng, 0, 3);
    let slots_per_block = page_slots * between(rng, 2, 12);
    let (dies, blocks_per_die, low_water) =
        (between(rng, 1, 5), between(rng, 8, 60), between(rng, 1, 3));
    let spare = (low_water + 1) * slots_per_block + page_slots - 1;
    let most = dies * (blocks_per_die * slots_per_block - spare);
    let shape =
        Shape { dies, blocks_per_die, slots_per_block, units: between(rng, most / 2, most) };
    let choice = match rng.below(4) {
        0 => Choice::Greedy,
        1 => Choice::Fifo,
        2 => Choice::Random,
        _ => Choice::BestOf(between(rng, 2, 6)),
    };
    (shape, Rules { choice, low_water, page_slots, seed: rng.bits() })
}

/// One random history: checks made, and erases.
fn play(history: u64) -> (u64, u64) {
    let mut rng = Rng::new(history);
    let (shape, rules) = drawn(&mut rng);
    let mut ftl = Ftl::new(shape, rules).expect("the shape has spare space");
    match rng.below(3) {
        0 => ftl.fill(between(&mut rng, 1, shape.units)),
        1 => ftl.settle(between(&mut rng, 1, shape.units)),
        _ => {}
    }
    let mut checks = 0;
    for step in 0..20_000 {
        let die = Die(between(&mut rng, 0, shape.dies - 1));
        let unit = Unit(between(&mut rng, 0, shape.units - 1));
        match rng.below(16) {
            0 => {
                ftl.trim(unit);
            }
            1..10 if ftl.may_write(die, unit) => {
                ftl.write(die, unit);
                // A page that the host began may be completed, as a flush does.
                while rng.below(8) == 0 && ftl.pad(die).is_some() {}
            }
            _ if ftl.is_low(die) => {
                ftl.begin_collection(die);
                if ftl.copy_next(die).is_none() && ftl.is_collecting(die) {
                    ftl.erase(die);
                }
            }
            _ => {}
        }
        if step % 500 == 0 {
            let broken = |broken| panic!("history {history}, step {step}: {broken}");
            checks += ftl.check().unwrap_or_else(broken);
        }
    }
    (checks, ftl.wear().total)
}
