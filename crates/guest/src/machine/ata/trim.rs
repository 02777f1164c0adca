//! DATA SET MANAGEMENT: sectors that the host no longer needs (ACS-2, section 7.10).

use std::collections::VecDeque;

use drivelab_core::{Lba, Op, Sectors};

use super::SECTOR_BYTES;
use super::task::{Ata, MediumCommand, NO_ADDRESS};
use crate::machine::chain::{self, Segment};
use crate::memory::{Memory, Outside};

/// An entry: 48 bits of address, 16 of count.
const ENTRY_BYTES: usize = 8;

/// The ranges of a list, one command for the medium each, or the error register.
type Ranges = Result<VecDeque<MediumCommand>, u8>;

impl Ata {
    /// Reads the list of `blocks` in `segments`; fails if they are shorter.
    pub(in crate::machine) fn ranges(
        &self,
        blocks: u16,
        segments: &[Segment],
        memory: &impl Memory,
    ) -> Result<Ranges, Outside> {
        let bytes = u64::from(blocks) * SECTOR_BYTES;
        if chain::length(segments) < bytes {
            return Err(Outside { address: 0, length: 0 });
        }
        let mut list = vec![0; usize::try_from(bytes).expect("a few kilobytes")];
        chain::gather(memory, segments, 0, &mut list)?;
        Ok(ranges(&list, self.config.capacity))
    }
}

/// Merges adjacent entries, each of which can name at most 65,535 sectors, into ranges.
fn ranges(list: &[u8], capacity: Sectors) -> Ranges {
    let mut found: VecDeque<MediumCommand> = VecDeque::new();
    for entry in list.chunks_exact(ENTRY_BYTES) {
        let entry = u64::from_le_bytes(entry.try_into().expect("eight bytes"));
        let (lba, sectors) = (entry & ((1 << 48) - 1), entry >> 48);
        // Unused entries of the last block are zero.
        if sectors == 0 {
            continue;
        }
        debug_assert!(lba < 1 << 48 && sectors < 1 << 16, "fields of 48 and 16 bits");
        // One bad range aborts the command, and nothing is trimmed.
        if lba + sectors > capacity.get() {
            return Err(NO_ADDRESS);
        }
        match found.back_mut() {
            Some(before) if before.lba.get() + before.sectors.get() == lba => {
                before.sectors = Sectors::new(before.sectors.get() + sectors);
            }
            _ => {
                let (lba, sectors) = (Lba::new(lba), Sectors::new(sectors));
                found.push_back(MediumCommand {
                    op: Op::Trim,
                    lba,
                    sectors,
                    fua: false,
                    tag: None,
                });
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_continue_one_another_are_one_range() {
        let list = |entries: &[(u64, u64)]| -> Vec<u8> {
            entries.iter().flat_map(|(lba, count)| (lba | count << 48).to_le_bytes()).collect()
        };
        let check = |entries: &[(u64, u64)], expected: Result<&[(u64, u64)], u8>| {
            let found = ranges(&list(entries), Sectors::new(100_000));
            let found = found.map(|found| {
                let pairs = found.iter().map(|it| (it.lba.get(), it.sectors.get()));
                pairs.collect::<Vec<_>>()
            });
            assert_eq!(found, expected.map(<[_]>::to_vec), "{entries:?}");
        };
        check(&[(8, 65_535), (65_543, 8), (0, 0), (4, 2)], Ok(&[(8, 65_543), (4, 2)]));
        check(&[(0, 0)], Ok(&[]));
        check(&[(99_999, 1)], Ok(&[(99_999, 1)]));
        check(&[(0, 1), (99_999, 2)], Err(NO_ADDRESS));
    }
}
