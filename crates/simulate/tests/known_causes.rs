//! Causes that are known are found: a short form of the table that `cargo bench -p
//! drivelab-simulate --bench known_causes` prints.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[expect(dead_code, reason = "shared with the table, which uses all of it")]
mod truth;

use drivelab_simulate::explain::Cache;
use truth::{Decided, Truth, decide, shares};

#[test]
fn causes_that_are_known_are_mostly_first() {
    let drive = "seagate-st31000333as,controller=ahci,tags=31,scheduler=deadline";
    let all = decide(drive, 24, 41, 8, &Cache::default());
    let of = |is_kind: &dyn Fn(&Decided) -> bool| -> f64 {
        let of_kind: Vec<&Decided> = all.iter().filter(|it| is_kind(it)).collect();
        assert!(of_kind.len() > 2, "{}", of_kind.len());
        shares(&of_kind).0
    };
    let caused = of(&|it| matches!(it.truth, Truth::Causes(_)) && it.visible);
    assert!(caused >= 0.5, "{caused}");
    let chance = of(&|it| it.truth == Truth::Chance);
    assert!(chance >= 0.75, "{chance}");
}
