//! Random histories on random small drives, each step held against rules of its own.

mod check;

use check::{Rule, Tally, play};

#[test]
fn random_histories_keep_every_rule() {
    let mut tally = Tally::default();
    for seed in 0..400 {
        if let Err(violation) = play(seed, &mut tally) {
            panic!("history {seed}: {violation}");
        }
    }
    for rule in Rule::ALL {
        assert!(tally.of(rule) > 100, "{rule:?} was hardly ever checked");
    }
    assert!(tally.total() > 1_000_000, "{tally:?}");
    // A flush promises nothing of what came after it.
    assert!(tally.flushes_before_later_writes > 100, "{tally:?}");
}
