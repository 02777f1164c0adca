//! The contents of a block of the disk: those of a file, metadata, or the journal.

use std::collections::BTreeMap;
use std::io;

use drivelab_core::crash::FileSystemKind;
use drivelab_core::{Lba, Op, Sectors};
use drivelab_guest::cost::{Chunks, Extent, OWNER_OF_LOG, is_tree_block, owner};
use drivelab_guest::crash::Layout;
use drivelab_guest::mounted::{FileSystem, MOUNTED};

use super::meter::{BLOCK, Metered};

/// The contents of a block.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holds {
    /// Contents of the file with this path.
    File(String),
    Metadata,
    Journal,
    /// Contents of a file that is gone, or a block that is free.
    Unknown,
}

/// Reads whole sectors of the disk.
type Read<'a> = &'a dyn Fn(Lba, &mut [u8]) -> io::Result<()>;

/// The layout of a disk after the command.
#[derive(Debug)]
pub(super) struct Map {
    file_system: FileSystem,
    files: BTreeMap<u64, (u64, String)>,
    regions: BTreeMap<u64, (u64, Holds)>,
    chunks: Chunks,
}

/// The beginnings of metadata blocks of XFS, each with its offset in the block. Source: Linux 6.12,
/// `fs/xfs/libxfs/xfs_format.h` and `xfs_da_format.h`.
const XFS: [(usize, &[u8]); 17] = [
    (0, b"XFSB"),
    (0, b"XAGF"),
    (0, b"XAGI"),
    (0, b"XAFL"),
    (0, b"AB3B"),
    (0, b"AB3C"),
    (0, b"IAB3"),
    (0, b"FIB3"),
    (0, b"RMB3"),
    (0, b"R3FC"),
    (0, b"BMA3"),
    (0, b"IN"),
    (0, b"XDB3"),
    (0, b"XDD3"),
    (0, b"XSLM"),
    (8, b"\x3d\xf1"),
    (8, b"\x3e\xbe"),
];
/// A block of an ext4 file's extent tree: 0xF30A, little-endian.
const EXT4_EXTENTS: &[u8] = b"\x0a\xf3";
/// The copies of the superblock of btrfs, in bytes.
const BTRFS_SUPERBLOCKS: [u64; 2] = [64 << 10, 64 << 20];

impl Map {
    /// Reads the layout of a disk whose files are at `extents`.
    pub(super) fn new(file_system: FileSystem, read: Read<'_>, extents: &[Extent]) -> Self {
        let (layout, chunks) = match file_system {
            FileSystem::Ext4 => (Layout::read(FileSystemKind::Ext4, read), Chunks::default()),
            FileSystem::Xfs => (Layout::read(FileSystemKind::Xfs, read), Chunks::default()),
            FileSystem::Btrfs => (Layout::default(), Chunks::read(read)),
            FileSystem::Ext3 | FileSystem::Ntfs3 => unreachable!("refused before the first guest"),
        };
        let mut files = BTreeMap::new();
        for Extent { path, lba, sectors } in extents {
            let path = path.strip_prefix(MOUNTED).unwrap_or(path).trim_start_matches('/');
            let pieces = match file_system {
                // filefrag prints logical addresses of btrfs.
                FileSystem::Btrfs => chunks.pieces(*lba, *sectors),
                _ => vec![(*lba, *sectors)],
            };
            for (lba, sectors) in pieces {
                files.insert(lba.get(), ((lba + sectors).get(), path.to_owned()));
            }
        }
        let mut regions = BTreeMap::new();
        for (from, to, holds) in layout.regions() {
            // Files are known from their extents, whose paths are those of the calls.
            if holds.starts_with("file ") {
                continue;
            }
            let holds = if holds == "journal" { Holds::Journal } else { Holds::Metadata };
            regions.entry(from).or_insert((to, holds));
        }
        if file_system == FileSystem::Btrfs {
            // They are outside all chunks.
            for at in BTRFS_SUPERBLOCKS {
                regions.insert(at / 512, (at / 512 + 8, Holds::Metadata));
            }
        }
        Self { file_system, files, regions, chunks }
    }

    /// Returns the parts of a read or a write, in sectors. They add up to the request.
    pub(super) fn parts(&self, request: &Metered) -> Vec<(Holds, Sectors)> {
        let mut parts: Vec<(Holds, Sectors)> = Vec::new();
        if !matches!(request.op, Op::Read | Op::Write) {
            return parts;
        }
        let end = request.sectors.get();
        let mut at = 0;
        while at < end {
            let head = usize::try_from(at / BLOCK.get()).ok().and_then(|it| request.heads.get(it));
            let lba = request.lba + Sectors::new(at);
            let (holds, whole) = self.holds(lba, head.map(<[u8; _]>::as_slice));
            let length = whole.get().min(end - at);
            match parts.last_mut() {
                Some((last, sectors)) if *last == holds => {
                    *sectors += Sectors::new(length);
                }
                _ => parts.push((holds, Sectors::new(length))),
            }
            at += length;
        }
        debug_assert_eq!(
            parts.iter().map(|(_, sectors)| sectors.get()).sum::<u64>(),
            end,
            "the parts are the whole"
        );
        parts
    }

    /// Returns what the block at `lba` holds, of which `head` was written, and how long it is.
    fn holds(&self, lba: Lba, head: Option<&[u8]>) -> (Holds, Sectors) {
        let sector = lba.get();
        let before = self.files.range(..=sector).next_back();
        if let Some((_, (_, path))) = before.filter(|(_, (to, _))| sector < *to) {
            return (Holds::File(path.clone()), BLOCK);
        }
        // A region may begin within the block, as the superblock of ext4 does.
        let before = self.regions.range(..sector + BLOCK.get()).next_back();
        if let Some((_, (_, holds))) = before.filter(|(_, (to, _))| sector < *to) {
            return (holds.clone(), BLOCK);
        }
        // Blocks allocated since the layout was read are recognised by what was written.
        let Some(head) = head else { return (Holds::Unknown, BLOCK) };
        match self.file_system {
            FileSystem::Ext4 if begins(head, &(0, EXT4_EXTENTS)) => (Holds::Metadata, BLOCK),
            FileSystem::Xfs if XFS.iter().any(|magic| begins(head, magic)) => {
                (Holds::Metadata, BLOCK)
            }
            FileSystem::Btrfs if is_tree_block(head, lba, &self.chunks) => {
                let is_log = owner(head) == Some(OWNER_OF_LOG);
                // Only the first of its pages has the head.
                let node = self.chunks.node();
                (if is_log { Holds::Journal } else { Holds::Metadata }, node.max(BLOCK))
            }
            _ => (Holds::Unknown, BLOCK),
        }
    }
}

/// Returns whether the beginning of a block has a magic number at its offset.
fn begins(head: &[u8], (at, magic): &(usize, &[u8])) -> bool {
    head.get(*at..*at + magic.len()).is_some_and(|found| found == *magic)
}

#[cfg(test)]
pub(super) mod tests {
    use drivelab_core::Time;

    use super::super::meter::HEAD_BYTES;
    use super::*;

    /// Reads a disk without data.
    #[expect(clippy::unnecessary_wraps, reason = "as a disk that may fail")]
    pub(in crate::cost) fn empty(_: Lba, data: &mut [u8]) -> io::Result<()> {
        data.fill(0);
        Ok(())
    }

    fn write(lba: u64, sectors: u64, heads: Vec<[u8; HEAD_BYTES]>) -> Metered {
        Metered {
            at: Time::ZERO,
            op: Op::Write,
            lba: Lba::new(lba),
            sectors: Sectors::new(sectors),
            fua: false,
            heads,
        }
    }

    fn map(file_system: FileSystem) -> Map {
        let piece = |path: &str, lba| Extent {
            path: format!("/mnt/{path}"),
            lba: Lba::new(lba),
            sectors: Sectors::new(16),
        };
        Map::new(file_system, &empty, &[piece("a", 1000), piece("d/b", 1016)])
    }

    #[test]
    fn a_write_is_split_where_its_contents_change() {
        let parts = map(FileSystem::Ext4).parts(&write(1008, 28, Vec::new()));
        let expected = [
            (Holds::File("a".into()), Sectors::new(8)),
            (Holds::File("d/b".into()), Sectors::new(16)),
            (Holds::Unknown, Sectors::new(4)),
        ];
        assert_eq!(parts, expected);
        let flush = Metered { op: Op::Flush, ..write(0, 0, Vec::new()) };
        assert!(map(FileSystem::Ext4).parts(&flush).is_empty());
    }

    #[test]
    fn metadata_is_recognized_by_its_beginning() {
        fn check(file_system: FileSystem, (at, magic): (usize, &[u8]), expected: Holds) {
            let mut head = [0; HEAD_BYTES];
            head[at..at + magic.len()].copy_from_slice(magic);
            let parts = map(file_system).parts(&write(5000, 8, vec![head]));
            assert_eq!(parts, [(expected, Sectors::new(8))]);
        }
        check(FileSystem::Ext4, (0, EXT4_EXTENTS), Holds::Metadata);
        check(FileSystem::Xfs, (0, b"IN\x81\xa4"), Holds::Metadata);
        check(FileSystem::Xfs, (8, b"\x3d\xf1"), Holds::Metadata);
        check(FileSystem::Xfs, (0, b"hello"), Holds::Unknown);
        check(FileSystem::Btrfs, (0, b"hello"), Holds::Unknown);
    }
}
