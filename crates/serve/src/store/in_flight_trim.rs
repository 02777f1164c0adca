//! A submitted trim that has not completed yet.

use drivelab_core::{Lba, Sectors};

/// Identifies a trim in flight: its position in the order of submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrimId(pub(super) u64);

/// The range that it frees.
#[derive(Debug, Clone)]
pub(super) struct Trim {
    pub(super) lba: Lba,
    pub(super) sectors: Sectors,
    pub(super) sequence: u64,
    /// Sectors, first and beyond the last, that later writes have since written to the medium.
    pub(super) spared: Vec<(u64, u64)>,
}
