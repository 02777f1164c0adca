//! The fields of a sector's label.

/// Bytes of a sector: the smallest unit that drives write whole or not at all.
pub const SECTOR: usize = 512;

/// The write that a sector came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Index of the sector from the beginning of the target.
    pub sector: u64,
    /// The number of the write, from 1.
    pub generation: u64,
    /// Distinguishes the run from every other.
    pub run: u64,
}

/// Eight bytes of a sector, from `at` on.
pub(super) fn word(sector: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(sector[at..at + 8].try_into().expect("eight bytes of a sector"))
}
