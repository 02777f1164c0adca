//! The rules of a drive, by the hundred million:
//! `cargo bench -p drivelab-model --bench invariants`.
//!
//! Takes a seed and a number of millions of checks: `... -- 7 200`. Plays random histories on
//! random drives until as many checks have been made, and stops at the first that fails.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../../tests/invariants/check/mod.rs"]
mod check;

use check::{Rule, Tally};

fn main() {
    // Cargo adds `--bench`.
    let numbers: Vec<u64> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let seed = numbers.first().copied().unwrap_or(1);
    let wanted = numbers.get(1).copied().unwrap_or(200) * 1_000_000;
    let (mut tally, mut histories) = (Tally::default(), 0);
    while tally.total() < wanted {
        let history = seed.wrapping_mul(1 << 40).wrapping_add(histories);
        if let Err(violation) = check::play(history, &mut tally) {
            panic!("history {history}: {violation}");
        }
        histories += 1;
    }
    println!("seed {seed}: {} checks held, {histories} histories", tally.total());
    println!("{} requests, {} accesses of the medium", tally.requests, tally.accesses);
    let later = tally.flushes_before_later_writes;
    println!("{} flushes, {later} done while later writes were volatile", tally.flushes);
    for rule in Rule::ALL {
        println!("{:>12} {rule:?}", tally.of(rule));
    }
}
