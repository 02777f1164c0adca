//! What a sector of a file system holds.

mod ext4;
mod xfs;

use std::io;

use drivelab_core::crash::FileSystemKind;
use drivelab_core::{Lba, Sectors};

/// Reads whole sectors of a disk, from the first on.
pub(super) type Read<'a> = &'a dyn Fn(Lba, &mut [u8]) -> io::Result<()>;

/// Stretches of a disk with what they hold, as far as that is known; the first that fits counts.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    stretches: Vec<Stretch>,
    /// What all other sectors hold.
    other: &'static str,
}

#[derive(Debug, Clone)]
pub(super) struct Stretch {
    /// First byte, and the one beyond the last.
    from: u64,
    to: u64,
    holds: String,
}

impl Stretch {
    fn new(from: u64, bytes: u64, holds: impl Into<String>) -> Self {
        Self { from, to: from.saturating_add(bytes), holds: holds.into() }
    }
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

/// Bytes of a disk, wherever they begin.
pub(super) fn bytes(read: Read<'_>, at: u64, length: usize) -> Option<Vec<u8>> {
    let before = usize::try_from(at % 512).ok()?;
    let mut buffer = vec![0; (before + length).next_multiple_of(512)];
    read(Lba::new(at / 512), &mut buffer).ok()?;
    Some(buffer[before..before + length].to_vec())
}
