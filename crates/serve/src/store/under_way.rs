//! A trim that is submitted and not completed.

use drivelab_core::{Lba, Sectors};

/// Names a trim on its way: its place in the order of submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrimId(pub(super) u64);

/// What it frees.
#[derive(Debug, Clone)]
pub(super) struct Trim {
    pub(super) lba: Lba,
    pub(super) sectors: Sectors,
    pub(super) sequence: u64,
    /// Sectors, first and beyond the last, that later writes have since put on the medium.
    pub(super) spared: Vec<(u64, u64)>,
}
