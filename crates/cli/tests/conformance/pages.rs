//! Pages that can be told apart.

use std::io::Write as _;

use drivelab_core::Rng;

/// Bytes in a page.
pub(crate) const PAGE: u64 = 4096;

/// What stands in `page` after it was written in `round`.
pub(crate) fn label(page: u64, round: u64) -> Vec<u8> {
    let mut rng = Rng::for_part(page, round);
    (0..PAGE / 8).flat_map(|_| rng.bits().to_le_bytes()).collect()
}

/// The numbers below `count`, each once, in any order.
pub(crate) fn shuffled(count: u64, rng: &mut Rng) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..count).collect();
    for place in (1..numbers.len()).rev() {
        let other = rng.below(place as u64 + 1);
        numbers.swap(place, usize::try_from(other).unwrap());
    }
    numbers
}

/// A word to whoever reads the output of the tests.
pub(crate) fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}
