//! Written data: random bytes that no drive can compress or deduplicate, and that we recognise.
//!
//! Every 512-byte sector begins with a signature ([`drivelab_core::label`]) and a number of its
//! own. The signature distinguishes a file that contains only our data, which may be overwritten,
//! from one with foreign data (see [`crate::guard`]). Eight bytes of 512 can be compressed; the
//! rest cannot.

use drivelab_core::Rng;
use drivelab_core::label::{self, SECTOR};

/// 2^64 divided by the golden ratio: multiples of it look random and repeat only after 2^64.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

pub(crate) fn fill(buffer: &mut [u8], rng: &mut Rng) {
    for word in buffer.chunks_mut(8) {
        word.copy_from_slice(&rng.bits().to_le_bytes()[..word.len()]);
    }
    for sector in buffer.chunks_exact_mut(SECTOR) {
        label::sign(sector);
    }
}

/// Makes every sector of a filled `buffer` differ from all sectors written before.
///
/// Only the sector's number changes, eight bytes of 512: this is all that a write costs.
#[inline]
pub(crate) fn renew(buffer: &mut [u8], written: &mut u64) {
    for sector in buffer.chunks_exact_mut(SECTOR) {
        *written += 1;
        sector[8..16].copy_from_slice(&written.wrapping_mul(GOLDEN).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sector_is_ours_and_no_two_are_alike() {
        let mut buffer = vec![0_u8; 64 * SECTOR];
        fill(&mut buffer, &mut Rng::new(1));
        let before = buffer.clone();
        let mut written = 0;
        renew(&mut buffer, &mut written);
        assert_eq!(written, 64);
        let mut seen: Vec<&[u8]> =
            buffer.chunks(SECTOR).chain(before.chunks(SECTOR)).map(|s| &s[..16]).collect();
        assert!(seen.iter().all(|sector| sector[..8] == buffer[..8]));
        assert!(buffer.chunks(SECTOR).all(label::is_ours));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 128);
    }

    #[test]
    fn what_is_written_does_not_compress() {
        let mut buffer = vec![0_u8; 128 * SECTOR];
        fill(&mut buffer, &mut Rng::new(1));
        renew(&mut buffer, &mut 0);
        // Each byte value is as frequent as in random data, except in the signature's eight bytes.
        let mut counts = [0_i64; 256];
        for byte in &buffer {
            counts[usize::from(*byte)] += 1;
        }
        let (mean, signed) = (256, 128);
        assert!(counts.iter().all(|count| (count - mean).abs() < signed + 100), "{counts:?}");
    }
}
