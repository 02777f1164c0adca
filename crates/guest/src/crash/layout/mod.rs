//! What a sector of a file system holds.

mod ext4;
mod stretch;
mod xfs;

use std::io;

use drivelab_core::crash::FileSystemKind;
use drivelab_core::{Lba, Sectors};

use stretch::Stretch;

/// Stretches of a disk with what they hold, as far as that is known; the first that fits counts.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    stretches: Vec<Stretch>,
    /// What all other sectors hold.
    other: &'static str,
}

impl Layout {
    /// The layout of a file system; empty where it cannot be read.
    pub fn read(kind: FileSystemKind, read: &dyn Fn(Lba, &mut [u8]) -> io::Result<()>) -> Self {
        let (found, other) = match kind {
            FileSystemKind::Ext4 => (ext4::stretches(read), "data, or free"),
            FileSystemKind::Xfs => (xfs::stretches(read), "data or metadata"),
            FileSystemKind::None => (None, ""),
        };
        found.map_or_else(Self::default, |stretches| Self { stretches, other })
    }

    /// What the first sectors of a range hold.
    pub fn holds(&self, lba: Lba, sectors: Sectors) -> &str {
        let (from, to) = (lba.byte_offset().get(), (lba + sectors).byte_offset().get());
        let meets = |stretch: &&Stretch| stretch.from < to && from < stretch.to;
        self.stretches.iter().find(meets).map_or(self.other, |stretch| &stretch.holds)
    }
}
