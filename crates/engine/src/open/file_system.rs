//! The file system of a file.

use std::fs::File;
use std::io;

use drivelab_load::marks::FileSystem;

/// Numbers from Linux's `include/uapi/linux/magic.h`, that of ntfs3 from `fs/ntfs3/super.c`, and
/// ZFS's from its own `zfs_vfsops.h`.
const KNOWN: [(u32, &str, bool); 12] = [
    (0xEF53, "ext4", false),
    (0x5846_5342, "xfs", false),
    (0x9123_683E, "btrfs", false),
    (0xF2F5_2010, "f2fs", false),
    (0x2FC1_2FC1, "zfs", false),
    (0x7366_746E, "ntfs3", false),
    (0x6969, "nfs", false),
    (0x794C_7630, "overlayfs", false),
    (0x6573_5546, "fuse", false),
    (0x4D44, "vfat", false),
    (0x0102_1994, "tmpfs", true),
    (0x8584_58F6, "ramfs", true),
];

/// The name of any other.
const UNKNOWN: &str = "this file system";

/// Returns the file system of an open file.
pub(crate) fn file_system_of(file: &File) -> io::Result<FileSystem> {
    let number = rustix::fs::fstatfs(file)?.f_type;
    Ok(numbered(number))
}

/// Returns whether the times of an open file are kept by this kernel alone.
///
/// NFS and FUSE return copies that expire, and that the server may have rounded: they change while
/// nothing is written (`man 5 nfs`, "attribute caching"). An unknown file system may do the same.
pub(crate) fn keeps_times(file: &File) -> bool {
    file_system_of(file).is_ok_and(|known| keeps_times_of(known.name))
}

fn keeps_times_of(name: &str) -> bool {
    !matches!(name, "nfs" | "fuse" | UNKNOWN)
}

fn numbered(number: impl TryInto<i64>) -> FileSystem {
    // The field's type differs between architectures, the 32 bits in it do not.
    let number = number.try_into().unwrap_or(0) & 0xFFFF_FFFF;
    let known = KNOWN.iter().find(|(magic, ..)| i64::from(*magic) == number);
    known.map_or(FileSystem { name: UNKNOWN, in_memory: false }, |found| FileSystem {
        name: found.1,
        in_memory: found.2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_in_memory_are_told_from_those_on_disks() {
        let check = |number: i64, name, in_memory| {
            assert_eq!(numbered(number), FileSystem { name, in_memory });
        };
        check(0xEF53, "ext4", false);
        check(0x0102_1994, "tmpfs", true);
        check(i64::from(0x9123_683E_u32.cast_signed()), "btrfs", false);
        check(7, "this file system", false);
    }

    #[test]
    fn times_of_another_machine_are_no_evidence() {
        let check = |number: i64, expected| {
            assert_eq!(keeps_times_of(numbered(number).name), expected, "{number:#x}");
        };
        check(0xEF53, true);
        check(0x0102_1994, true);
        check(0x6969, false);
        check(0x6573_5546, false);
        check(7, false);
    }
}
