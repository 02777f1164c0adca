//! Specimens for the tests of what is said of them.

use drivelab_core::record::{Drawn, Specimen};

/// The specimens of a study in which two numbers are unknown.
pub(crate) fn specimens(count: u32) -> Vec<Specimen> {
    let drawn = |name: &str, value: f64, score: f64| Drawn { name: name.into(), value, score };
    let one = |number: u32| {
        // Every score once, in two orders that are not correlated.
        let score = |rank: u32| f64::from(rank) / f64::from(count - 1) * 4.0 - 2.0;
        let (first, second) = (score(number), score(number * 7 % count));
        Specimen {
            number: Some(number),
            drawn: vec![
                drawn("guard_growth", libm::exp(0.6 * first), first),
                drawn("seek_short", 2.3e6 * libm::exp(0.4 * second), second),
            ],
            model_sigma: 0.1,
            variant_of: None,
        }
    };
    (0..count).map(one).collect()
}
