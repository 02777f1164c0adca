//! Signatures of volumes that span devices: a member is in use even if no mount shows it, by a pool
//! that is not imported now or by another machine.

use std::fmt;
use std::io;
use std::os::unix::fs::FileExt;

use drivelab_core::usage::Extent;

use super::volume;

const KIB: u64 = 1024;

/// The volume that a device is a member of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// With its article: `an md array`.
    pub kind: &'static str,
    /// The volume's name, if it is easy to read.
    pub name: Option<String>,
    /// The signature's name in `wipefs`.
    pub wipefs: &'static str,
    /// Position of the signature, in bytes from the beginning of the device.
    pub at: u64,
}

impl fmt::Display for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, ", `{name}`"))
    }
}

/// The volume that the bytes of `extent` are a member of, if any.
pub(super) fn member(file: &impl FileExt, extent: Extent) -> io::Result<Option<Membership>> {
    let read = |at: u64, length: usize| -> io::Result<Vec<u8>> {
        // Zeros where the device ends earlier: no signature matches them.
        let mut bytes = vec![0; length];
        // A damaged volume may point anywhere.
        if at.checked_add(length as u64).is_some_and(|end| end <= extent.length) {
            file.read_exact_at(&mut bytes, extent.start + at)?;
        }
        Ok(bytes)
    };
    let found = |kind, wipefs, at, name| Ok(Some(Membership { kind, name, wipefs, at }));
    let head = read(0, 8192)?;
    if let Some(label) = lvm_label(&head) {
        let name = volume::lvm_name(&head[label..], &read)?;
        return found("an LVM volume group", "LVM2_member", label as u64, name);
    }
    // Linux, drivers/md/bcache/bcache.h: the superblock is in sector 8, its magic at byte 24.
    if head[4096 + 24..].starts_with(&BCACHE) {
        return found("a bcache set", "bcache", 4096, None);
    }
    for at in md_places(extent.length) {
        let superblock = read(at, 64)?;
        if is_md(&superblock[..4]) {
            let name = volume::md_name(&superblock);
            return found("an md array", "linux_raid_member", at, name);
        }
    }
    // Linux, fs/btrfs: the superblock is at 64 KiB, its magic at byte 64.
    let superblock = read(64 * KIB, 1024)?;
    if superblock[64..].starts_with(b"_BHRfS_M") {
        let name = volume::btrfs_name(&superblock);
        return found("a btrfs file system", "btrfs", 64 * KIB, name);
    }
    for label in zfs_labels(extent.length) {
        if is_zfs(&read(label + 128 * KIB, 128 * 1024)?) {
            let name = volume::zfs_name(label, &read)?;
            return found("a ZFS pool", "zfs_member", label, name);
        }
    }
    Ok(None)
}

const BCACHE: [u8; 16] = [
    0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA, 0x82, 0x65, 0xF5, 0x7F, 0x48, 0xBA, 0x6D, 0x81,
];

/// LVM2, `lib/format_text/layout.h`: a label in one of the first four sectors.
fn lvm_label(head: &[u8]) -> Option<usize> {
    let mut sectors = head.chunks(512).take(4);
    let is_it =
        |sector: &[u8]| sector.starts_with(b"LABELONE") && sector[24..].starts_with(b"LVM2 001");
    Some(sectors.position(is_it)? * 512)
}

/// The positions of md superblocks: Linux, drivers/md/md.c, versions 1.1, 1.2, 1.0 and 0.90.
fn md_places(length: u64) -> impl Iterator<Item = u64> {
    let sectors = length / 512;
    let v1_0 = (sectors.saturating_sub(16) & !7) * 512;
    let v0_90 = (sectors & !127).saturating_sub(128) * 512;
    [0, 4 * KIB, v1_0, v0_90].into_iter()
}

/// Version 0.90 is in the byte order of the machine that created it, the others are little-endian.
fn is_md(bytes: &[u8]) -> bool {
    let magic = 0xA92B_4EFC_u32;
    bytes == magic.to_le_bytes() || bytes == magic.to_be_bytes()
}

/// ZFS, `include/sys/vdev_impl.h`: two labels of 256 KiB at either end, the second half of each
/// a ring of uberblocks.
fn zfs_labels(length: u64) -> impl Iterator<Item = u64> {
    let label = 256 * KIB;
    let end = length / label * label;
    [0, label, end.saturating_sub(2 * label), end.saturating_sub(label)].into_iter()
}

fn is_zfs(ring: &[u8]) -> bool {
    let magic = 0x00BA_B10C_u64;
    let (little, big) = (magic.to_le_bytes(), magic.to_be_bytes());
    // Uberblocks are at least 1 KiB apart.
    ring.chunks(1024).any(|block| block.starts_with(&little) || block.starts_with(&big))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 2 << 20;

    struct Image(Vec<u8>);

    impl FileExt for Image {
        fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
            let at = usize::try_from(at).unwrap();
            buffer.copy_from_slice(&self.0[at..at + buffer.len()]);
            Ok(buffer.len())
        }

        fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
            panic!("a signature is looked for by reading")
        }
    }

    fn check(marks: &[(usize, &[u8])], expected: Option<&str>) {
        // Once as a whole device, once as the second partition of one.
        for start in [0, LENGTH] {
            let mut image = Image(vec![0; start + LENGTH]);
            for (at, bytes) in marks {
                image.0[start + at..start + at + bytes.len()].copy_from_slice(bytes);
            }
            let extent = Extent { start: start as u64, length: LENGTH as u64 };
            let found = member(&image, extent).unwrap().map(|found| found.kind);
            assert_eq!(found, expected, "at {start}");
        }
    }

    #[test]
    fn members_are_told_by_their_signatures() {
        check(&[], None);
        check(&[(512, b"LABELONE"), (536, b"LVM2 001")], Some("an LVM volume group"));
        check(&[(512, b"LABELONE")], None);
        let md = 0xA92B_4EFC_u32.to_le_bytes();
        for at in [0, 4096, LENGTH - 8192, LENGTH - 65536] {
            check(&[(at, &md)], Some("an md array"));
        }
        check(&[((64 << 10) + 64, b"_BHRfS_M")], Some("a btrfs file system"));
        let zfs = 0x00BA_B10C_u64.to_le_bytes();
        for at in [128 << 10, (384 << 10) + 1024, LENGTH - (384 << 10), LENGTH - (128 << 10)] {
            check(&[(at, &zfs)], Some("a ZFS pool"));
        }
        check(&[(4096 + 24, &BCACHE)], Some("a bcache set"));
    }

    #[test]
    fn a_device_too_small_for_any_of_them_is_none() {
        let extent = Extent { start: 0, length: 512 };
        assert_eq!(member(&Image(vec![0; 512]), extent).unwrap(), None);
    }
}
