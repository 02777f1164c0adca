//! What stands in the first bytes of every sector that a verified run writes.

/// Smallest unit that drives write whole or not at all.
pub(super) const SECTOR: usize = 512;
/// Chosen once at random, unlike that of plain runs; no meaning.
const SIGNATURE: [u8; 8] = [0x8E, 0x45, 0xF1, 0x3B, 0xA7, 0x60, 0xD2, 0x1C];
/// 2^64 over the golden ratio, odd: multiplying by it loses nothing.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// A sector whose signature is off by no more bits than this is ours and damaged. By chance so near
/// lies one sector of random data in 10^9.
const DAMAGED_BITS: u32 = 8;

/// Which write a sector came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label {
    /// Where it belongs, in sectors from the beginning of the target.
    pub(super) place: u64,
    /// The number of the write, from 1.
    pub(super) generation: u64,
    /// What tells the run from every other.
    pub(super) run: u64,
}

/// What a sector turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sector {
    /// As it was written.
    Intact(Label),
    /// Written by a verified run, and changed since.
    Damaged,
    /// No verified run wrote it.
    Foreign,
}

/// Labels a sector that holds its data already.
#[inline]
pub(super) fn put(sector: &mut [u8], label: Label) {
    sector[..8].copy_from_slice(&SIGNATURE);
    sector[8..16].copy_from_slice(&label.place.to_le_bytes());
    sector[16..24].copy_from_slice(&label.generation.to_le_bytes());
    sector[24..32].copy_from_slice(&label.run.to_le_bytes());
    let sum = checksum(sector);
    sector[32..40].copy_from_slice(&sum.to_le_bytes());
}

/// Reads a sector.
pub(super) fn read(sector: &[u8]) -> Sector {
    let word = |at: usize| {
        u64::from_le_bytes(sector[at..at + 8].try_into().expect("eight bytes of a sector"))
    };
    if (word(0) ^ u64::from_le_bytes(SIGNATURE)).count_ones() > DAMAGED_BITS {
        return Sector::Foreign;
    }
    if word(32) != checksum(sector) || !is_ours(sector) {
        return Sector::Damaged;
    }
    Sector::Intact(Label { place: word(8), generation: word(16), run: word(24) })
}

/// Whether a verified run wrote this.
pub(crate) fn is_ours(sector: &[u8]) -> bool {
    sector.starts_with(&SIGNATURE)
}

/// Over everything but the checksum itself. Each step is one to one in the sum so far, so no change
/// within one word of eight bytes ever goes unnoticed, and others with a chance of 2^-64.
#[inline]
fn checksum(sector: &[u8]) -> u64 {
    let mut sum = GOLDEN;
    for (number, word) in sector.chunks_exact(8).enumerate() {
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

    #[test]
    fn a_label_is_read_back_and_any_flipped_bit_is_damage() {
        let label = Label { place: 4711, generation: 3, run: 9 };
        let mut sector = [0x5A_u8; SECTOR];
        put(&mut sector, label);
        assert_eq!(read(&sector), Sector::Intact(label));
        for bit in 0..SECTOR * 8 {
            sector[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&sector), Sector::Damaged, "bit {bit}");
            sector[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn other_data_is_foreign() {
        assert_eq!(read(&[0; SECTOR]), Sector::Foreign);
        assert_eq!(read(&[0xFF; SECTOR]), Sector::Foreign);
        let mut plain = [0; SECTOR];
        crate::file::pattern::fill(&mut plain, &mut drivelab_core::Rng::new(1));
        assert_eq!(read(&plain), Sector::Foreign);
    }
}
