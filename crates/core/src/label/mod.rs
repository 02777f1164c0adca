//! The mark of drivelab in every 512-byte sector that it writes.
//!
//! All writers use one format: runs, verified runs and `durability`. The mark is in the data and
//! not in a name or a header, so it survives copying, works on any file system, and disappears when
//! other data is written over ours. [`is_ours`] is the only answer to "may this be overwritten?".
//!
//! A sector whose content is checked later has a [`Label`]:
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | signature |
//! | 8..16 | sector: its index from the beginning of the target |
//! | 16..24 | generation: the number of the write, from 1 |
//! | 24..32 | run |
//! | 32..40 | checksum of the other 504 bytes |
//! | 40..512 | data |
//!
//! A sector of a plain run has only a signature, because every measured write would pay for a
//! checksum.

mod field;

pub use field::{Label, SECTOR};

use field::word;

/// Signature of labelled sectors; chosen once at random, no meaning.
const LABELLED: [u8; 8] = [0x8E, 0x45, 0xF1, 0x3B, 0xA7, 0x60, 0xD2, 0x1C];
/// Signature of sectors without a label; chosen once at random, no meaning.
const PLAIN: [u8; 8] = [0xD5, 0x1B, 0x9E, 0x27, 0xC4, 0x83, 0x6A, 0xF0];
/// 2^64 over the golden ratio, odd: multiplying by it loses nothing.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// A sector whose signature is off by no more bits than this is labelled and damaged. The chance
/// that random data is this close is one sector in 10^9.
const DAMAGED_BITS: u32 = 8;

/// The result of reading a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sector {
    /// Labelled, and unchanged.
    Intact(Label),
    /// Labelled, and changed since.
    Damaged,
    /// Written without a label by a plain run.
    Plain,
    /// Zeros only: never written, trimmed, or written by any program.
    Zeros,
    /// Written by another program.
    Foreign,
}

/// Labels a sector that already contains its data.
#[inline]
pub fn put(sector: &mut [u8], label: Label) {
    debug_assert_eq!(sector.len(), SECTOR);
    sector[..8].copy_from_slice(&LABELLED);
    sector[8..16].copy_from_slice(&label.sector.to_le_bytes());
    sector[16..24].copy_from_slice(&label.generation.to_le_bytes());
    sector[24..32].copy_from_slice(&label.run.to_le_bytes());
    // Last, as the checksum covers the fields above.
    let sum = checksum(sector);
    sector[32..40].copy_from_slice(&sum.to_le_bytes());
}

/// Labels the sectors of a block, which begins at sector `first`, as write `generation` of `run`.
#[inline]
pub fn put_all(block: &mut [u8], run: u64, first: u64, generation: u64) {
    debug_assert_eq!(block.len() % SECTOR, 0, "labels are for whole sectors");
    for (index, bytes) in (first..).zip(block.chunks_exact_mut(SECTOR)) {
        put(bytes, Label { sector: index, generation, run });
    }
}

/// Signs a sector whose content is not checked later.
#[inline]
pub fn sign(sector: &mut [u8]) {
    sector[..8].copy_from_slice(&PLAIN);
}

/// Reads a whole sector.
pub fn read(sector: &[u8]) -> Sector {
    if sector.iter().all(|byte| *byte == 0) {
        return Sector::Zeros;
    }
    if sector.starts_with(&PLAIN) {
        return Sector::Plain;
    }
    // A signature with a few flipped bits is our damaged sector, not another program's.
    if (word(sector, 0) ^ u64::from_le_bytes(LABELLED)).count_ones() > DAMAGED_BITS {
        return Sector::Foreign;
    }
    if word(sector, 32) != checksum(sector) || !sector.starts_with(&LABELLED) {
        return Sector::Damaged;
    }
    let [index, generation, run] = [8, 16, 24].map(|at| word(sector, at));
    Sector::Intact(Label { sector: index, generation, run })
}

/// True if drivelab wrote this sector. Zeros prove nothing, and neither does part of a sector.
pub fn is_ours(sector: &[u8]) -> bool {
    let signed = sector.starts_with(&LABELLED) || sector.starts_with(&PLAIN);
    sector.len() == SECTOR && signed
}

/// True if part of a sector, which a file may end in, is the beginning of one of ours.
pub fn is_beginning(part: &[u8]) -> bool {
    // A file may be truncated within its last sector: the signature's beginning is enough.
    let length = part.len().min(LABELLED.len());
    length > 0 && [LABELLED, PLAIN].iter().any(|signature| signature[..length] == part[..length])
}

/// Covers everything except the checksum itself. Each step is one to one in the sum so far, so a
/// change within one word of eight bytes is always detected, and others are missed with a
/// probability of 2^-64.
#[inline]
fn checksum(sector: &[u8]) -> u64 {
    let mut sum = GOLDEN;
    for (number, word) in sector.chunks_exact(8).enumerate() {
        // Bytes 32 to 39 hold the sum itself.
        if number != 4 {
            let word = u64::from_le_bytes(word.try_into().expect("chunks of eight"));
            sum = (sum ^ word).wrapping_mul(GOLDEN).rotate_left(29);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: Label = Label { sector: 4711, generation: 3, run: 9 };

    #[test]
    fn a_label_is_read_back_and_any_flipped_bit_is_damage() {
        let mut sector = [0x5A_u8; SECTOR];
        put(&mut sector, LABEL);
        assert_eq!(read(&sector), Sector::Intact(LABEL));
        for bit in 0..SECTOR * 8 {
            sector[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&sector), Sector::Damaged, "bit {bit}");
            sector[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn only_what_drivelab_wrote_is_ours() {
        let check = |sector: &[u8], kind: Sector, ours: bool| {
            assert_eq!((read(sector), is_ours(sector)), (kind, ours));
        };
        check(&[0; SECTOR], Sector::Zeros, false);
        check(&[0xFF; SECTOR], Sector::Foreign, false);
        let mut sector = [0x5A_u8; SECTOR];
        check(&sector, Sector::Foreign, false);
        sign(&mut sector);
        check(&sector, Sector::Plain, true);
        assert!(!is_ours(&sector[..SECTOR - 1]));
        put(&mut sector, LABEL);
        check(&sector, Sector::Intact(LABEL), true);
        assert!(!is_ours(b"-- a database dump"));
        assert!(!is_ours(b""));
    }
}
