//! A page of labelled sectors.

use drivelab_core::Rng;
use drivelab_core::label::{self, SECTOR};
use drivelab_core::verification::BlockContent;

/// Bytes in a page, as in diskchecker.pl.
pub const PAGE_BYTES: usize = 16 << 10;
const SECTORS: u64 = (PAGE_BYTES / SECTOR) as u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) run: u64,
    pub(super) page: u64,
    pub(super) sequence: u64,
}

pub(super) fn fill(stamp: Stamp) -> Vec<u8> {
    let Stamp { run, page, sequence } = stamp;
    let mut bytes = vec![0; PAGE_BYTES];
    for (number, sector) in (page * SECTORS..).zip(bytes.chunks_exact_mut(SECTOR)) {
        // Data that cannot be compressed and that no other page has.
        let mut rng = Rng::for_part(run ^ sequence.rotate_left(32), number);
        for word in sector.chunks_exact_mut(8) {
            word.copy_from_slice(&rng.bits().to_le_bytes());
        }
    }
    label::put_all(&mut bytes, run, page * SECTORS, sequence);
    bytes
}

/// Returns the content of `bytes`, which were read from `page` of this run.
pub(super) fn examine(bytes: &[u8], run: u64, page: u64) -> BlockContent {
    debug_assert_eq!(bytes.len(), PAGE_BYTES, "whole pages are read");
    BlockContent::of(bytes, run, page * SECTORS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { run: 9, page: 4, sequence: 7 };

    #[test]
    fn a_page_is_known_for_what_it_is() {
        let page = fill(STAMP);
        let found = examine(&page, 9, 4);
        assert_eq!((found.oldest, found.newest, found.is_blank), (Some(7), Some(7), false));
        assert_eq!(found.damage(7), None);
        assert_eq!(examine(&page, 9, 5).elsewhere, Some(4 * SECTORS));
        assert!(examine(&page, 8, 4).is_blank, "another run's");
        let newer = fill(Stamp { sequence: 8, ..STAMP });
        assert!(examine(&[&page[..512], &newer[512..]].concat(), 9, 4).is_mixed());
    }

    #[test]
    fn a_slip_of_any_bit_is_seen() {
        let page = fill(STAMP);
        for bit in 0..512 * 8 {
            let mut bytes = page.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(examine(&bytes, 9, 4).is_damaged, "bit {bit}");
        }
    }

    #[test]
    fn every_sector_of_a_page_is_ours() {
        assert!(fill(STAMP).chunks(SECTOR).all(label::is_ours));
    }
}
