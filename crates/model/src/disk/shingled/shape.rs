//! The sizes of shingled tracks.

use drivelab_core::{Sectors, Span};

/// The sizes of bands and media cache, and when the drive cleans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shingling {
    pub(crate) band: Sectors,
    /// The area of the log.
    pub(crate) cache: Sectors,
    /// Entries of its map.
    pub(crate) writes: usize,
    /// The host has sent nothing for as long when the drive begins to clean.
    pub(crate) clean_after: Span,
    pub(crate) physical_sector: Sectors,
}

impl Shingling {
    /// The sectors in front of the first address: the log, and a band that is written there before
    /// it is written to its own sectors, so that a power cut spoils one of them at most.
    pub(crate) fn reserved(self) -> Sectors {
        self.cache + self.band
    }
}
