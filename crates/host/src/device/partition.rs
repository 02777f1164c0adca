//! Partitions, and whether they start at a physical sector.

use drivelab_core::units::{Lba, Sectors};
use serde::{Deserialize, Serialize};

use super::{Mount, Mounts};
use crate::root::Node;

/// A part of a disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// `sda1`.
    pub name: String,
    /// The disk it is on.
    pub disk: String,
    /// Its start on the disk.
    pub start_bytes: Option<u64>,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// Bytes from its start to the next physical sector, as computed by the kernel; negative if the
    /// kernel cannot compute it.
    pub alignment_offset_bytes: Option<i64>,
    /// Devices built on it.
    pub holders: Vec<String>,
    /// File systems on it.
    pub mounts: Vec<Mount>,
}

/// The alignment of a disk's sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alignment {
    /// Bytes of a physical sector.
    pub physical_bytes: u64,
    /// Bytes by which the disk itself is shifted.
    pub offset_bytes: u64,
}

impl Alignment {
    /// Bytes by which something that starts at `start_bytes` misses the start of a physical sector:
    /// `(start - offset) mod physical`, as in `queue_limit_alignment_offset`
    /// (`block/blk-settings.c`).
    pub(crate) fn misses_by(self, start_bytes: u64) -> u64 {
        let physical = u128::from(self.physical_bytes.max(1));
        let past = u128::from(start_bytes) + physical - u128::from(self.offset_bytes) % physical;
        debug_assert!(past >= u128::from(start_bytes), "the offset is below one sector");
        u64::try_from(past % physical).expect("less than a sector, which fits")
    }
}

impl Partition {
    pub(crate) fn read(node: &Node<'_>, disk: &str, mounts: &Mounts) -> Self {
        let name = node.name().to_owned();
        // sysfs counts in sectors of 512 bytes, also on disks with 4096.
        let start = node.number::<u64>("start").map(Lba::new);
        let size = node.number::<u64>("size").map(Sectors::new);
        let number = node.text("dev");
        let holders = node.child("holders").map(|node| node.folders()).unwrap_or_default();
        let names = [format!("/dev/{}", name.replace('!', "/"))];
        Self {
            disk: disk.to_owned(),
            start_bytes: start.map(|start| start.byte_offset().get()),
            size_bytes: size.map(|size| size.bytes().get()),
            alignment_offset_bytes: node.number("alignment_offset"),
            holders,
            mounts: mounts.of_device(number.as_deref(), &names),
            name,
        }
    }

    /// Returns whether it only contains a table of further partitions: such an extended partition
    /// shows two sectors (`block/partitions/msdos.c`), and its start does not matter.
    pub(crate) fn is_container(&self) -> bool {
        self.size_bytes.is_some_and(|size| size <= 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_start_where_physical_sectors_do_or_miss_them() {
        let check = |start_sector: u64, physical, offset, expected| {
            let alignment = Alignment { physical_bytes: physical, offset_bytes: offset };
            assert_eq!(alignment.misses_by(start_sector * 512), expected, "{start_sector}");
        };
        check(2048, 4096, 0, 0);
        check(63, 4096, 0, 3584);
        // A drive shifted by one sector for Windows XP: 63 is right, 64 is not.
        check(63, 4096, 3584, 0);
        check(64, 4096, 3584, 512);
        check(63, 512, 0, 0);
        check(63, 0, 0, 0);
        // Absurd, but no overflow: 2^64 - 512 misses by 1 less than it would without shift.
        check(u64::MAX / 512, 4096, u64::MAX, 3585);
    }
}
