//! A region of a disk, and how a disk is read.

use std::io;

use drivelab_core::Lba;

/// Reads whole sectors of a disk, from the first on.
pub(super) type Read<'a> = &'a dyn Fn(Lba, &mut [u8]) -> io::Result<()>;

/// A range of bytes with one content.
#[derive(Debug, Clone)]
pub(super) struct Region {
    /// First byte, and the one beyond the last.
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) holds: String,
}

impl Region {
    pub(super) fn new(from: u64, bytes: u64, holds: impl Into<String>) -> Self {
        Self { from, to: from.saturating_add(bytes), holds: holds.into() }
    }
}

/// Reads bytes of a disk at any offset.
pub(super) fn bytes(read: Read<'_>, at: u64, length: usize) -> Option<Vec<u8>> {
    // A disk reads whole sectors.
    let before = usize::try_from(at % 512).ok()?;
    let mut buffer = vec![0; (before + length).next_multiple_of(512)];
    read(Lba::new(at / 512), &mut buffer).ok()?;
    debug_assert!(buffer.len() >= before + length, "rounded up to whole sectors");
    Some(buffer[before..before + length].to_vec())
}
