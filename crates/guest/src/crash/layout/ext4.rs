//! The layout of ext4: superblocks, groups, the journal, and the files that directories name
//! (the kernel's Documentation/filesystems/ext4).

use std::cell::Cell;
use std::collections::BTreeSet;

use super::region::{Read, Region, bytes};

/// Limits above those of any file system in a test: a damaged one may claim any size.
const GROUPS_MAX: u64 = 4096;
const FILES_MAX: usize = 10_000;
const READS_MAX: usize = 50_000;
const FILE_BYTES_MAX: u64 = 1 << 32;
const DEPTH_MAX: u16 = 5;

const ROOT: u32 = 2;
const IS_64_BIT: u32 = 0x80;
const HAS_EXTENTS: u32 = 0x8_0000;
const HAS_ORPHAN_FILE: u32 = 0x1000;
const FOLDER: u16 = 0x4000;
const REGULAR: u16 = 0x8000;

pub(super) fn regions(read: Read<'_>) -> Option<Vec<Region>> {
    let disk = Disk::new(read)?;
    let mut found = vec![Region::new(1024, 1024, "superblock")];
    let journal = disk.inode(disk.journal);
    found.extend(journal.iter().flat_map(|inode| disk.regions(inode, "journal")));
    let orphans = disk.inode(disk.orphans);
    found.extend(orphans.iter().flat_map(|inode| disk.regions(inode, "orphan file")));
    disk.files(&mut found);
    disk.groups(&mut found);
    Some(found)
}

struct Disk<'a> {
    read: Read<'a>,
    /// Reads that are still allowed: a damaged file system may name one block a million times.
    left: Cell<usize>,
    block: u64,
    blocks: u64,
    first: u64,
    group_blocks: u64,
    group_inodes: u32,
    inode_bytes: u64,
    descriptor_bytes: u64,
    journal: u32,
    /// The inode of the list of deleted files that are still open; 0 without that feature.
    orphans: u32,
}

struct Inode {
    mode: u16,
    /// Pieces, as first block and number of blocks.
    pieces: Vec<(u64, u64)>,
    size: u64,
}

// All numbers of ext4 are little-endian.
fn half(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..at + 2)?.try_into().map(u16::from_le_bytes).ok()
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..at + 4)?.try_into().map(u32::from_le_bytes).ok()
}

impl<'a> Disk<'a> {
    fn new(read: Read<'a>) -> Option<Self> {
        let superblock = bytes(read, 1024, 1024)?;
        let s = &superblock[..];
        let shift = word(s, 24)?;
        let wide = word(s, 96)? & IS_64_BIT != 0;
        let is_ext4 = half(s, 56)? == 0xEF53 && shift <= 6 && word(s, 40)? > 0 && word(s, 32)? > 0;
        let disk = Self {
            read,
            left: Cell::new(READS_MAX),
            block: 1024 << shift.min(6),
            blocks: u64::from(word(s, 4)?) | if wide { u64::from(word(s, 336)?) << 32 } else { 0 },
            first: u64::from(word(s, 20)?),
            group_blocks: u64::from(word(s, 32)?),
            group_inodes: word(s, 40)?,
            inode_bytes: u64::from(half(s, 88)?),
            descriptor_bytes: if wide { u64::from(half(s, 254)?) } else { 32 },
            journal: word(s, 224)?,
            orphans: if word(s, 92)? & HAS_ORPHAN_FILE == 0 { 0 } else { word(s, 640)? },
        };
        is_ext4.then_some(disk)
    }

    fn bytes(&self, at: u64, length: usize) -> Option<Vec<u8>> {
        // Not an error: what was found until then is still right.
        self.left.set(self.left.get().checked_sub(1)?);
        bytes(self.read, at, length)
    }

    /// Returns the blocks of a group's block bitmap, inode bitmap and inode table.
    fn descriptor(&self, group: u64) -> Option<[u64; 3]> {
        // The table follows the block of the superblock.
        let at = (self.first + 1) * self.block + group * self.descriptor_bytes;
        let data = self.bytes(at, usize::try_from(self.descriptor_bytes).ok()?)?;
        let mut blocks = [0; 3];
        for (at, block) in [0, 4, 8].into_iter().zip(&mut blocks) {
            // The upper halves are in the second 32 bytes, which short descriptors do not have.
            let high = word(&data, at + 32).unwrap_or(0);
            *block = u64::from(word(&data, at)?) | u64::from(high) << 32;
        }
        Some(blocks)
    }

    fn groups(&self, found: &mut Vec<Region>) {
        // The last group may be shorter than the others.
        let groups = self.blocks.saturating_sub(self.first).div_ceil(self.group_blocks);
        debug_assert!(self.group_blocks > 0, "checked with the superblock");
        let table = u64::from(self.group_inodes) * self.inode_bytes;
        for group in 0..groups.min(GROUPS_MAX) {
            let Some([blocks, inodes, inode_table]) = self.descriptor(group) else { return };
            for (block, bytes, what) in [
                (blocks, self.block, "block bitmap"),
                (inodes, self.block, "inode bitmap"),
                (inode_table, table, "inode table"),
            ] {
                let at = block.saturating_mul(self.block);
                found.push(Region::new(at, bytes, format!("{what} {group}")));
            }
        }
        let bytes = groups.min(GROUPS_MAX) * self.descriptor_bytes;
        found.push(Region::new((self.first + 1) * self.block, bytes, "group descriptors"));
    }

    fn inode(&self, number: u32) -> Option<Inode> {
        // Inodes are numbered from 1.
        let index = number.checked_sub(1)?;
        debug_assert!(self.group_inodes > 0, "checked with the superblock");
        let [.., table] = self.descriptor(u64::from(index / self.group_inodes))?;
        let within = u64::from(index % self.group_inodes) * self.inode_bytes;
        let at = table.checked_mul(self.block)?.checked_add(within)?;
        let data = self.bytes(at, 128)?;
        let mut pieces = Vec::new();
        if word(&data, 32)? & HAS_EXTENTS != 0 {
            self.extents(data.get(40..100)?, DEPTH_MAX, &mut pieces)?;
        }
        let size = u64::from(word(&data, 4)?) | u64::from(word(&data, 108)?) << 32;
        Some(Inode { mode: half(&data, 0)? & 0xF000, pieces, size })
    }

    /// Adds the pieces that a node of an extent tree names, and the blocks of its child nodes.
    fn extents(&self, node: &[u8], most: u16, pieces: &mut Vec<(u64, u64)>) -> Option<()> {
        let (magic, entries, depth) = (half(node, 0)?, half(node, 2)?, half(node, 6)?);
        if magic != 0xF30A || depth > most || pieces.len() > FILES_MAX {
            return None;
        }
        for at in (0..usize::from(entries)).map(|entry| 12 * (entry + 1)) {
            let high = half(node, at + if depth == 0 { 6 } else { 8 })?;
            let low = word(node, at + if depth == 0 { 8 } else { 4 })?;
            let block = u64::from(high) << 32 | u64::from(low);
            if depth == 0 {
                // Lengths above mark blocks that are reserved and not written.
                let length = half(node, at + 4)?;
                let length = if length > 32_768 { length - 32_768 } else { length };
                pieces.push((block, u64::from(length)));
            } else {
                pieces.push((block, 1));
                let child = bytes(
                    self.read,
                    block.checked_mul(self.block)?,
                    usize::try_from(self.block).ok()?,
                )?;
                // Each level must be one lower, or a damaged tree could contain itself.
                self.extents(&child, depth - 1, pieces)?;
            }
        }
        Some(())
    }

    fn regions(&self, inode: &Inode, holds: &str) -> Vec<Region> {
        let pieces = inode.pieces.iter().map(|(block, count)| {
            let at = block.saturating_mul(self.block);
            Region::new(at, count.saturating_mul(self.block), holds)
        });
        pieces.collect()
    }

    /// Adds the files and folders below the root.
    fn files(&self, found: &mut Vec<Region>) {
        let mut left = vec![(ROOT, String::from("/"))];
        let mut seen = BTreeSet::new();
        while let Some((number, path)) = left.pop() {
            // A damaged folder may name one of its parents.
            if seen.len() >= FILES_MAX || !seen.insert(number) {
                continue;
            }
            let Some(inode) = self.inode(number) else { continue };
            match inode.mode {
                FOLDER => {
                    found.extend(self.regions(&inode, &format!("folder {path}")));
                    self.entries(&inode, &path, &mut left);
                }
                REGULAR if inode.size < FILE_BYTES_MAX => {
                    found.extend(self.regions(&inode, &format!("file {path}")));
                }
                _ => {}
            }
        }
    }

    /// Adds the entries of a folder.
    fn entries(&self, folder: &Inode, path: &str, left: &mut Vec<(u32, String)>) {
        let blocks =
            folder.pieces.iter().flat_map(|(first, count)| *first..first.saturating_add(*count));
        for block in blocks.take(FILES_MAX) {
            let Some(length) = usize::try_from(self.block).ok() else { return };
            let at = block.saturating_mul(self.block);
            let Some(data) = self.bytes(at, length) else { return };
            let mut at = 0;
            while let (Some(inode), Some(length)) = (word(&data, at), half(&data, at + 4)) {
                let name_bytes = usize::from(data.get(at + 6).copied().unwrap_or(0));
                let name = data.get(at + 8..at + 8 + name_bytes).unwrap_or_default();
                let name = String::from_utf8_lossy(name);
                if inode != 0 && !["", ".", ".."].contains(&&*name) {
                    let slash = if path.ends_with('/') { "" } else { "/" };
                    left.push((inode, format!("{path}{slash}{name}")));
                }
                // An entry cannot be shorter; a damaged length would not move on.
                if length < 8 {
                    break;
                }
                at += usize::from(length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::crash::FileSystemKind;
    use drivelab_core::{Lba, Rng, Sectors};

    use super::super::Layout;
    use super::*;

    const BLOCK: usize = 1024;

    fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
        image[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// An inode with one extent.
    fn inode(image: &mut [u8], number: usize, mode: u16, block: u32, blocks: u16) {
        let at = 5 * BLOCK + (number - 1) * 128;
        put(image, at, &(mode | 0o600).to_le_bytes());
        put(image, at + 32, &HAS_EXTENTS.to_le_bytes());
        let header = [0xF30A_u16, 1, 4, 0, 0, 0].map(u16::to_le_bytes).concat();
        put(image, at + 40, &header);
        put(image, at + 56, &blocks.to_le_bytes());
        put(image, at + 60, &block.to_le_bytes());
    }

    /// One group: bitmaps in blocks 3 and 4, inodes in 5 and 6, the root's folder in 10, a journal
    /// in 20 to 23, a file in 30 and 31, and the list of orphans in 45.
    fn image() -> Vec<u8> {
        let mut image = vec![0; 64 * BLOCK];
        let words = [(0, 16_u32), (4, 64), (20, 1), (24, 0), (32, 8192), (40, 16), (224, 8)];
        for (at, word) in words.into_iter().chain([(92, HAS_ORPHAN_FILE), (640, 13)]) {
            put(&mut image, 1024 + at, &word.to_le_bytes());
        }
        put(&mut image, 1024 + 56, &0xEF53_u16.to_le_bytes());
        put(&mut image, 1024 + 88, &128_u16.to_le_bytes());
        let descriptor = [3_u32, 4, 5].map(u32::to_le_bytes).concat();
        put(&mut image, 2 * BLOCK, &descriptor);
        inode(&mut image, 2, FOLDER, 10, 1);
        inode(&mut image, 8, REGULAR, 20, 4);
        inode(&mut image, 12, REGULAR, 30, 2);
        inode(&mut image, 13, REGULAR, 45, 1);
        put(&mut image, 10 * BLOCK, &12_u32.to_le_bytes());
        put(&mut image, 10 * BLOCK + 4, &1024_u16.to_le_bytes());
        put(&mut image, 10 * BLOCK + 6, &[7, 1]);
        put(&mut image, 10 * BLOCK + 8, b"kept.db");
        image
    }

    fn layout(image: &[u8]) -> Layout {
        Layout::read(FileSystemKind::Ext4, &|lba, data: &mut [u8]| {
            let at = usize::try_from(lba.byte_offset().get()).unwrap_or(usize::MAX);
            let from = image.get(at..).and_then(|rest| rest.get(..data.len()));
            data.copy_from_slice(from.ok_or(std::io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    #[test]
    fn sectors_are_named_by_what_they_hold() {
        let layout = layout(&image());
        let holds = |block: u64| layout.holds(Lba::new(2 * block), Sectors::new(2));
        let expected = [
            (1, "superblock"),
            (2, "group descriptors"),
            (3, "block bitmap 0"),
            (4, "inode bitmap 0"),
            (6, "inode table 0"),
            (10, "folder /"),
            (23, "journal"),
            (31, "file /kept.db"),
            (40, "data, or free"),
            (45, "orphan file"),
        ];
        for (block, name) in expected {
            assert_eq!(holds(block), name, "block {block}");
        }
    }

    #[test]
    fn a_damaged_file_system_is_read_to_an_end() {
        for seed in 0..2000 {
            let (mut rng, mut image) = (Rng::new(seed), image());
            for _ in 0..rng.between(1, 20) {
                // Where something is: superblock to inodes, and the folder.
                let at = usize::try_from(rng.between(1024, 11 * 1024 - 1)).unwrap();
                image[at] = rng.bits().to_le_bytes()[0];
            }
            let _ = layout(&image).holds(Lba::ZERO, Sectors::new(8));
        }
    }
}
