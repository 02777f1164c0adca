//! The contents of the sectors of a file system, for reports.

mod ext4;
mod region;
mod xfs;

use std::io;

use drivelab_core::crash::FileSystemKind;
use drivelab_core::{Lba, Sectors};

use region::Region;

/// Regions of a disk with their contents, as far as known; the first that fits counts.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    regions: Vec<Region>,
    /// The contents of all other sectors.
    other: &'static str,
}

impl Layout {
    /// Reads the layout of a file system; empty if it cannot be read.
    pub fn read(kind: FileSystemKind, read: &dyn Fn(Lba, &mut [u8]) -> io::Result<()>) -> Self {
        let (found, other) = match kind {
            FileSystemKind::Ext4 => (ext4::regions(read), "data, or free"),
            FileSystemKind::Xfs => (xfs::regions(read), "data or metadata"),
            // Its addresses are mapped once more before they are sectors of a disk.
            FileSystemKind::Btrfs | FileSystemKind::None => (None, ""),
        };
        found.map_or_else(Self::default, |regions| Self { regions, other })
    }

    /// Returns the regions that are known, as sectors from and to, each with its contents.
    pub fn regions(&self) -> impl Iterator<Item = (u64, u64, &str)> {
        let regions = self.regions.iter();
        regions.map(|region| (region.from / 512, region.to.div_ceil(512), region.holds.as_str()))
    }

    /// Returns the contents of the first sectors of a range.
    pub fn holds(&self, lba: Lba, sectors: Sectors) -> &str {
        let (from, to) = (lba.byte_offset().get(), (lba + sectors).byte_offset().get());
        let found = self.regions.iter().find(|region| region.from < to && from < region.to);
        found.map_or(self.other, |region| &region.holds)
    }
}
