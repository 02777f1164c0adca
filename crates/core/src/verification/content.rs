//! The content of a block of labelled sectors, and the faults in it.

use crate::label::{self, SECTOR, Sector};
use crate::record::Damage;

/// The content of the sectors of one block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockContent {
    /// A sector contains nothing of this run: zeros, an earlier run's data, any other data.
    pub is_blank: bool,
    /// A sector is not as any write left it.
    pub is_damaged: bool,
    /// Index of the sector that the first misdirected sector was written for.
    pub elsewhere: Option<u64>,
    /// The oldest write in any sector.
    pub oldest: Option<u64>,
    /// The newest one.
    pub newest: Option<u64>,
}

impl BlockContent {
    /// The content of a block that begins at sector `first`, written by `run`.
    pub fn of(bytes: &[u8], run: u64, first: u64) -> Self {
        let mut content = Self::default();
        debug_assert_eq!(bytes.len() % SECTOR, 0);
        for (own, sector) in (first..).zip(bytes.chunks_exact(SECTOR)) {
            match label::read(sector) {
                Sector::Damaged => content.is_damaged = true,
                Sector::Intact(label) if label.run == run && label.sector != own => {
                    content.elsewhere.get_or_insert(label.sector);
                }
                Sector::Intact(label) if label.run == run => {
                    let write = label.generation;
                    content.oldest = Some(content.oldest.map_or(write, |oldest| oldest.min(write)));
                    content.newest = content.newest.max(Some(write));
                }
                Sector::Intact(_) | Sector::Plain | Sector::Zeros | Sector::Foreign => {
                    content.is_blank = true;
                }
            }
        }
        content
    }

    /// True if its sectors contain several writes.
    pub fn is_mixed(&self) -> bool {
        self.oldest != self.newest
    }

    /// The fault of a block that must contain write `floor` or a later one. If nothing was promised
    /// (0), only data that belongs elsewhere is a fault: it is missing there.
    pub fn damage(&self, floor: u64) -> Option<Damage> {
        if self.elsewhere.is_some() {
            return Some(Damage::Misdirected);
        }
        // Without a promise any content is right: the block may never have been written.
        if floor == 0 {
            return None;
        }
        if self.is_damaged {
            return Some(Damage::Corrupt);
        }
        let is_good = self.newest.is_some_and(|newest| newest >= floor);
        let is_stale = self.oldest.is_some_and(|oldest| oldest < floor);
        match (is_good, is_stale, self.is_blank) {
            (_, false, false) => None,
            // One kind of wrong content throughout is a lost or an old write; several kinds are a
            // torn one.
            (false, true, false) => Some(Damage::Stale),
            (false, false, true) => Some(Damage::Lost),
            _ => Some(Damage::Torn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: u64 = 9;

    /// A block at sector 8, with the write of each of its sectors; 0 is blank.
    fn block(writes: &[u64]) -> Vec<u8> {
        let mut bytes = vec![0; writes.len() * SECTOR];
        for (number, write) in writes.iter().enumerate().filter(|(_, write)| **write > 0) {
            let sector = &mut bytes[number * SECTOR..(number + 1) * SECTOR];
            label::put_all(sector, RUN, 8 + number as u64, *write);
        }
        bytes
    }

    #[test]
    fn each_fate_of_a_block_is_told_apart() {
        let check = |writes: &[u64], floor, expected| {
            assert_eq!(
                BlockContent::of(&block(writes), RUN, 8).damage(floor),
                expected,
                "{writes:?}"
            );
        };
        check(&[5, 5], 5, None);
        check(&[5, 6], 5, None);
        check(&[4, 4], 5, Some(Damage::Stale));
        check(&[3, 4], 5, Some(Damage::Stale));
        check(&[0, 0], 5, Some(Damage::Lost));
        check(&[4, 5], 5, Some(Damage::Torn));
        check(&[0, 6], 5, Some(Damage::Torn));
        check(&[0, 4], 5, Some(Damage::Torn));
        check(&[0, 4], 0, None);
    }

    #[test]
    fn damage_and_what_belongs_elsewhere_come_first() {
        let mut bytes = block(&[5, 5]);
        assert_eq!(BlockContent::of(&bytes, RUN, 16).damage(0), Some(Damage::Misdirected));
        assert_eq!(BlockContent::of(&bytes, RUN, 16).elsewhere, Some(8));
        assert_eq!(BlockContent::of(&bytes, 8, 8).damage(5), Some(Damage::Lost), "another run's");
        bytes[700] ^= 1;
        assert_eq!(BlockContent::of(&bytes, RUN, 8).damage(5), Some(Damage::Corrupt));
        assert_eq!(BlockContent::of(&bytes, RUN, 8).damage(0), None);
        assert_eq!(BlockContent::of(&bytes, RUN, 16).damage(5), Some(Damage::Misdirected));
    }
}
