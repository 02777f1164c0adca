//! A page of labelled sectors, each of which says what it is.

use drivelab_core::Rng;
use drivelab_core::label::{self, Label, SECTOR, Sector};

/// Bytes in a page, as diskchecker.pl's.
pub const PAGE_BYTES: usize = 16 << 10;
/// Sectors in a page.
const SECTORS: u64 = (PAGE_BYTES / SECTOR) as u64;

/// What a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) run: u64,
    pub(super) page: u64,
    pub(super) sequence: u64,
}

/// What was found in the place of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing of this run.
    Blank,
    /// A whole page, from this write.
    Whole {
        /// The number of the write.
        sequence: u64,
    },
    /// Whole sectors of several writes.
    Torn {
        /// The oldest of them; 0 where a sector holds nothing of this run.
        oldest: u64,
        /// The newest of them.
        newest: u64,
    },
    /// A sector that is not as any write left it.
    Damaged,
    /// Sectors that belong to another page.
    Misdirected,
}

/// The bytes of a page.
pub(super) fn fill(stamp: Stamp) -> Vec<u8> {
    let Stamp { run, page, sequence } = stamp;
    let mut bytes = vec![0; PAGE_BYTES];
    for (place, sector) in (page * SECTORS..).zip(bytes.chunks_exact_mut(SECTOR)) {
        // Data that no compression makes smaller and no other page has.
        let mut rng = Rng::for_part(run ^ sequence.rotate_left(32), place);
        for word in sector.chunks_exact_mut(8) {
            word.copy_from_slice(&rng.bits().to_le_bytes());
        }
        label::put(sector, Label { place, generation: sequence, run });
    }
    bytes
}

/// What `bytes` are, found in the place of `page` of this run.
pub(super) fn examine(bytes: &[u8], run: u64, page: u64) -> Found {
    let (mut oldest, mut newest) = (u64::MAX, 0);
    let mut damaged = false;
    for (place, sector) in (page * SECTORS..).zip(bytes.chunks_exact(SECTOR)) {
        let sequence = match label::read(sector) {
            Sector::Intact(label) if label.run == run && label.place != place => {
                return Found::Misdirected;
            }
            Sector::Intact(label) if label.run == run => label.generation,
            Sector::Damaged => {
                damaged = true;
                continue;
            }
            // What was there before: zeros, an earlier run's, on a device anybody's.
            Sector::Intact(_) | Sector::Plain | Sector::Zeros | Sector::Foreign => 0,
        };
        oldest = oldest.min(sequence);
        newest = newest.max(sequence);
    }
    match newest {
        _ if damaged => Found::Damaged,
        0 => Found::Blank,
        sequence if oldest == newest => Found::Whole { sequence },
        _ => Found::Torn { oldest, newest },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { run: 9, page: 4, sequence: 7 };

    #[test]
    fn a_page_is_known_for_what_it_is() {
        let page = fill(STAMP);
        let check = |bytes: &[u8], number, expected| {
            assert_eq!(examine(bytes, 9, number), expected);
        };
        check(&page, 4, Found::Whole { sequence: 7 });
        check(&page, 5, Found::Misdirected);
        check(&vec![0; PAGE_BYTES], 4, Found::Blank);
        check(&vec![7; PAGE_BYTES], 4, Found::Blank);
        check(&fill(Stamp { run: 8, ..STAMP }), 4, Found::Blank);
        let newer = fill(Stamp { sequence: 8, ..STAMP });
        let torn = |oldest, newest| Found::Torn { oldest, newest };
        check(&[&page[..512], &newer[512..]].concat(), 4, torn(7, 8));
        check(&[&page[..PAGE_BYTES - 512], &[0; 512]].concat(), 4, torn(0, 7));
        check(&[&page[512..], &page[..512]].concat(), 4, Found::Misdirected);
    }

    #[test]
    fn a_slip_of_any_bit_is_seen() {
        let page = fill(STAMP);
        for bit in 0..512 * 8 {
            let mut bytes = page.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(examine(&bytes, 9, 4), Found::Damaged, "bit {bit}");
        }
    }

    #[test]
    fn every_sector_of_a_page_is_ours() {
        assert!(fill(STAMP).chunks(SECTOR).all(label::is_ours));
    }
}
