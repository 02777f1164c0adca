//! The label that `durability` wrote before it shared one with verified runs.
//!
//! It is still read, so that such a file counts as ours and its ledger can be checked, but it is no
//! longer written. Sectors of pages of 16 KiB: a mark, the run, the page, the write, the sector's
//! number in the page, data, and a checksum at the end.

use super::field::{Label, SECTOR, word};

const MARK: [u8; 8] = *b"dl-page1";
/// Sectors in a page.
const PAGE: u64 = 32;

/// Whether the sector begins with the mark.
pub(super) fn is_marked(sector: &[u8]) -> bool {
    sector.starts_with(&MARK)
}

/// The label of a marked sector that is unchanged.
pub(super) fn read(sector: &[u8]) -> Option<Label> {
    if !is_marked(sector) || word(sector, SECTOR - 8) != checksum(&sector[..SECTOR - 8]) {
        return None;
    }
    let [run, page, generation, index] = [8, 16, 24, 32].map(|at| word(sector, at));
    let place = page.checked_mul(PAGE)?.checked_add(index)?;
    (index < PAGE).then_some(Label { place, generation, run })
}

/// FNV-1a of 64 bits (Fowler, Noll and Vo), eight bytes at a time and folded.
fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for word in bytes.chunks_exact(8) {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        sum = (sum ^ word).wrapping_mul(0x0100_0000_01b3);
        sum ^= sum >> 29;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::{Sector, is_ours, read as read_any};
    use super::*;

    /// As earlier versions wrote it.
    fn sector(run: u64, page: u64, write: u64, index: u64) -> [u8; SECTOR] {
        let mut sector = [0x5A; SECTOR];
        sector[..8].copy_from_slice(&MARK);
        for (place, number) in [run, page, write, index].into_iter().enumerate() {
            sector[8 + 8 * place..16 + 8 * place].copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum(&sector[..SECTOR - 8]);
        sector[SECTOR - 8..].copy_from_slice(&sum.to_le_bytes());
        sector
    }

    #[test]
    fn pages_of_earlier_versions_are_ours() {
        let mut old = sector(9, 4, 7, 3);
        let label = Label { place: 4 * 32 + 3, generation: 7, run: 9 };
        assert_eq!(read_any(&old), Sector::Intact(label));
        assert!(is_ours(&old));
        old[100] ^= 1;
        assert_eq!(read_any(&old), Sector::Damaged);
        assert!(!is_ours(&old));
        for (page, index) in [(u64::MAX, 0), (4, 32), (u64::MAX / 32, 31)] {
            assert!(!is_ours(&sector(9, page, 7, index)) || page == u64::MAX / 32);
        }
    }
}
