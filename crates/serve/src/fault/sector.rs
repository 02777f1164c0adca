//! Which sectors a fault of the medium has damaged: a function of seed and sector, so that nothing
//! has to be kept for the sectors that nobody reads.

use drivelab_core::{Ratio, Rng};

/// Why a damaged sector is no longer to be damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sector {
    /// New data was written to it.
    Rewritten,
    /// Its bit has flipped, on the medium itself.
    Rotten,
}

/// Whether the fault with this seed damages `sector`.
pub(super) fn is_struck(seed: u64, sector: u64, share: Ratio) -> bool {
    share >= Ratio::ONE || Rng::for_part(seed, sector).chance(share)
}

/// The bit of `sector` that it flips.
pub(super) fn bit(seed: u64, sector: u64) -> usize {
    let mut rng = Rng::for_part(!seed, sector);
    usize::try_from(rng.below(512 * 8)).expect("below 4096")
}
