//! Causes that are known are found: a short form of the table that `cargo bench -p drivelab-lab
//! --bench known_causes` prints.

#[expect(dead_code, reason = "shared with the table, which uses all of it")]
mod truth;

use drivelab_lab::explain::Cache;
use truth::{DRIVES, Decided, Truth, decide, shares};

#[test]
fn causes_that_are_known_are_mostly_first() {
    let all = decide(DRIVES[0], 24, 41, 8, &Cache::default());
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
