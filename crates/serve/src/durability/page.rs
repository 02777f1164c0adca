//! A page of numbered sectors, each of which says what it is.

/// Bytes in a page, as diskchecker.pl's.
pub const PAGE_BYTES: usize = 16 << 10;

/// What each page is made of.
pub(super) const SECTOR: usize = 512;
const MAGIC: [u8; 8] = *b"dl-page1";

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
    /// Nothing but zeros, or a page of an earlier run.
    Blank,
    /// A whole page, from this write.
    Whole {
        /// The number of the write.
        sequence: u64,
    },
    /// Sectors of several writes, or sectors that are damaged.
    Torn,
    /// Sectors that belong to another page.
    Misdirected,
}

/// The bytes of a page.
pub(super) fn fill(stamp: Stamp) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(PAGE_BYTES);
    for index in 0..PAGE_BYTES / SECTOR {
        let mut sector = [0; SECTOR];
        sector[..8].copy_from_slice(&MAGIC);
        for (place, number) in
            [stamp.run, stamp.page, stamp.sequence, index as u64].into_iter().enumerate()
        {
            sector[8 + 8 * place..16 + 8 * place].copy_from_slice(&number.to_le_bytes());
        }
        // Data that no compression makes smaller and no other page has.
        let seed = checksum(&sector[..40]);
        for (place, word) in sector[40..SECTOR - 8].chunks_exact_mut(8).enumerate() {
            let number = (seed ^ place as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            word.copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum(&sector[..SECTOR - 8]);
        sector[SECTOR - 8..].copy_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(&sector);
    }
    bytes
}

/// What `bytes` are, found in the place of `page` of this run.
pub(super) fn examine(bytes: &[u8], run: u64, page: u64) -> Found {
    let mut found: Option<Option<u64>> = None;
    let mut mixed = false;
    for (index, sector) in bytes.chunks_exact(SECTOR).enumerate() {
        let sequence = match read(sector) {
            Sector::Blank => None,
            Sector::Damaged => return Found::Torn,
            Sector::Whole(stamp, _) if stamp.run != run => None,
            Sector::Whole(stamp, place) if stamp.page != page || place != index as u64 => {
                return Found::Misdirected;
            }
            Sector::Whole(stamp, _) => Some(stamp.sequence),
        };
        mixed |= found.is_some_and(|before| before != sequence);
        found = Some(sequence);
    }
    match found.flatten() {
        _ if mixed => Found::Torn,
        None => Found::Blank,
        Some(sequence) => Found::Whole { sequence },
    }
}

/// Whether a sector, or what there is of one at the end of a file, is ours or zeros.
pub(super) fn may_go(sector: &[u8]) -> bool {
    let zeros = || sector.iter().all(|byte| *byte == 0);
    zeros() || (sector.len() == SECTOR && matches!(read(sector), Sector::Whole(..)))
}

enum Sector {
    Blank,
    Whole(Stamp, u64),
    Damaged,
}

fn read(sector: &[u8]) -> Sector {
    if sector.iter().all(|byte| *byte == 0) {
        return Sector::Blank;
    }
    let number = |place: usize| {
        u64::from_le_bytes(sector[place..place + 8].try_into().expect("eight bytes"))
    };
    let right = sector[..8] == MAGIC && number(SECTOR - 8) == checksum(&sector[..SECTOR - 8]);
    if !right {
        return Sector::Damaged;
    }
    let stamp = Stamp { run: number(8), page: number(16), sequence: number(24) };
    Sector::Whole(stamp, number(32))
}

/// FNV-1a of 64 bits (Fowler, Noll and Vo), eight bytes at a time and folded: a slip of any bit
/// changes it, and more is not needed against accidents.
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
        check(&fill(Stamp { run: 8, ..STAMP }), 4, Found::Blank);
        let newer = fill(Stamp { sequence: 8, ..STAMP });
        check(&[&page[..512], &newer[512..]].concat(), 4, Found::Torn);
        check(&[&page[..PAGE_BYTES - 512], &[0; 512]].concat(), 4, Found::Torn);
        check(&[&page[512..], &page[..512]].concat(), 4, Found::Misdirected);
    }

    #[test]
    fn a_slip_of_any_bit_is_seen() {
        let page = fill(STAMP);
        for bit in (0..SECTOR * 8).step_by(7) {
            let mut slipped = page.clone();
            slipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(examine(&slipped, 9, 4), Found::Torn, "{bit}");
        }
    }
}
