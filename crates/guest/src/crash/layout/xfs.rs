//! The layout of XFS, from its superblock (XFS Algorithms and Data Structures, chapter 13).

use super::region::{Read, Region, bytes};

/// More allocation groups than any file system of a test has.
const GROUPS_MAX: u32 = 1024;

// All numbers of XFS are big-endian.
fn word(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..at + 4)?.try_into().map(u32::from_be_bytes).ok()
}

fn long(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..at + 8)?.try_into().map(u64::from_be_bytes).ok()
}

pub(super) fn regions(read: Read<'_>) -> Option<Vec<Region>> {
    let superblock = bytes(read, 0, 512)?;
    if &superblock[..4] != b"XFSB" {
        return None;
    }
    let s = &superblock;
    let block = u64::from(word(s, 4)?);
    let (log_start, group_blocks, groups) = (long(s, 48)?, u64::from(word(s, 84)?), word(s, 88)?);
    let (log_blocks, sector) =
        (u64::from(word(s, 96)?), u64::from(superblock[102]) << 8 | u64::from(superblock[103]));
    let shift = u32::from(superblock[124]);
    // A block number is the group above `shift` bits of the block within the group.
    let (group, within) = (log_start.checked_shr(shift)?, log_start & ((1 << shift.min(63)) - 1));
    let journal = group.checked_mul(group_blocks)?.checked_add(within)?.checked_mul(block)?;
    let mut found = vec![Region::new(journal, log_blocks.checked_mul(block)?, "journal")];
    for group in 0..groups.min(GROUPS_MAX) {
        let at = u64::from(group).checked_mul(group_blocks)?.checked_mul(block)?;
        for (number, name) in (0..).zip(["superblock", "AGF", "AGI", "AGFL"]) {
            found.push(Region::new(
                at.saturating_add(number * sector),
                sector,
                format!("{name} {group}"),
            ));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use drivelab_core::crash::FileSystemKind;
    use drivelab_core::{Lba, Sectors};

    use super::super::Layout;

    #[test]
    fn the_journal_and_the_headers_of_groups_are_found() {
        let mut superblock = [0_u8; 512];
        superblock[..4].copy_from_slice(b"XFSB");
        superblock[4..8].copy_from_slice(&4096_u32.to_be_bytes());
        // Group 1 has 2^15 addresses and 32000 blocks; the log begins at its block 5.
        superblock[48..56].copy_from_slice(&((1_u64 << 15) + 5).to_be_bytes());
        superblock[84..88].copy_from_slice(&32_000_u32.to_be_bytes());
        superblock[88..92].copy_from_slice(&4_u32.to_be_bytes());
        superblock[96..100].copy_from_slice(&2000_u32.to_be_bytes());
        superblock[102..104].copy_from_slice(&512_u16.to_be_bytes());
        superblock[124] = 15;
        let read = |lba: Lba, data: &mut [u8]| {
            data.fill(0);
            if lba == Lba::ZERO {
                data[..512].copy_from_slice(&superblock);
            }
            Ok(())
        };
        let layout = Layout::read(FileSystemKind::Xfs, &read);
        let holds = |sector| layout.holds(Lba::new(sector), Sectors::new(8));
        assert_eq!((holds(0), holds(32_000 * 8 + 2)), ("superblock 0", "AGI 1"));
        assert_eq!((holds(32_005 * 8), holds(34_005 * 8)), ("journal", "data or metadata"));
        let nothing = Layout::read(FileSystemKind::Xfs, &|_, data| {
            data.fill(0);
            Ok(())
        });
        assert_eq!(nothing.holds(Lba::ZERO, Sectors::new(1)), "");
    }
}
