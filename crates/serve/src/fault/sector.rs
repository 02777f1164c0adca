//! The sectors that a fault of the medium has damaged: a function of seed and sector, so that
//! nothing needs to be stored for sectors that are never read.

use drivelab_core::{Ratio, Rng};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sector {
    Rewritten,
    Rotten,
}

pub(super) fn is_struck(seed: u64, sector: u64, share: Ratio) -> bool {
    share >= Ratio::ONE || Rng::for_part(seed, sector).chance(share)
}

pub(super) fn bit(seed: u64, sector: u64) -> usize {
    // The complement, so that the bit does not depend on the draw that chose the sector.
    let mut rng = Rng::for_part(!seed, sector);
    usize::try_from(rng.below(512 * 8)).expect("below 4096")
}
