//! The chunks of btrfs, which map its logical addresses to the disk, and its tree blocks.
//!
//! Source: the kernel's `fs/btrfs/btrfs_tree.h`, Linux 6.12. All numbers are little-endian.

use std::collections::BTreeSet;
use std::io;

use drivelab_core::{Lba, Sectors};

/// Reads whole sectors of a disk, from the first on.
type Read<'a> = &'a dyn Fn(Lba, &mut [u8]) -> io::Result<()>;

/// The owner of the blocks of the log tree (`BTRFS_TREE_LOG_OBJECTID`): what fsync writes.
pub const OWNER_OF_LOG: u64 = u64::MAX - 5;

const SUPERBLOCK_AT: u64 = 0x1_0000;
const MAGIC: &[u8] = b"_BHRfS_M";
const HEADER_BYTES: usize = 101;
const CHUNK_ITEM: u8 = 228;
const KEY_BYTES: usize = 17;
/// A damaged file system may name one block again and again.
const READS_MAX: usize = 1000;
/// 10 TiB in chunks of 1 GiB.
const CHUNKS_MAX: usize = 10_000;
const LEVEL_MAX: u8 = 8;

/// A range of logical addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Chunk {
    logical: u64,
    bytes: u64,
    /// On the disk; a chunk with copies has several.
    physical: u64,
}

/// The chunks of a file system on one disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chunks {
    chunks: BTreeSet<Chunk>,
    /// The size of a tree block in bytes; 0 if it is not known.
    node_bytes: u64,
}

fn long(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..at + 8)?.try_into().map(u64::from_le_bytes).ok()
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..at + 4)?.try_into().map(u32::from_le_bytes).ok()
}

fn half(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..at + 2)?.try_into().map(u16::from_le_bytes).ok()
}

impl Chunks {
    /// Reads the chunks of a file system; none if it cannot be read.
    pub fn read(read: Read<'_>) -> Self {
        let mut chunks = Self::default();
        // What was found until then is still right.
        let _ = chunks.find(read);
        chunks
    }

    fn find(&mut self, read: Read<'_>) -> Option<()> {
        let mut superblock = [0; 4096];
        read(Lba::new(SUPERBLOCK_AT / 512), &mut superblock).ok()?;
        if &superblock[64..72] != MAGIC {
            return None;
        }
        let node_bytes = usize::try_from(word(&superblock, 148)?).ok()?;
        if !(4096..=65_536).contains(&node_bytes) || !node_bytes.is_power_of_two() {
            return None;
        }
        let system = usize::try_from(word(&superblock, 160)?).ok()?;
        self.node_bytes = node_bytes as u64;
        // `sys_chunk_array` stands at byte 811: keys, each with its chunk.
        self.array(superblock.get(811..811 + system)?);
        let root = long(&superblock, 88)?;
        let mut left = READS_MAX;
        self.tree(read, (root, node_bytes, LEVEL_MAX), &mut left)
    }

    fn array(&mut self, mut rest: &[u8]) {
        while let Some(bytes) = rest.get(KEY_BYTES..).and_then(|item| self.add(rest, item)) {
            rest = rest.get(KEY_BYTES + bytes..).unwrap_or_default();
        }
    }

    /// Adds the chunk of `item`, whose key is `key`; returns the length of the item.
    fn add(&mut self, key: &[u8], item: &[u8]) -> Option<usize> {
        let (logical, bytes, stripes) = (long(key, 9)?, long(item, 0)?, half(item, 44)?);
        for stripe in 0..usize::from(stripes) {
            let chunk = Chunk { logical, bytes, physical: long(item, 48 + 32 * stripe + 8)? };
            if self.chunks.len() == CHUNKS_MAX {
                return None;
            }
            self.chunks.insert(chunk);
        }
        Some(48 + 32 * usize::from(stripes))
    }

    fn tree(
        &mut self,
        read: Read<'_>,
        (logical, bytes, level_max): (u64, usize, u8),
        left: &mut usize,
    ) -> Option<()> {
        *left = left.checked_sub(1)?;
        let at = *self.physical(logical).first()?;
        let mut node = vec![0; bytes];
        read(Lba::new(at / 512), &mut node).ok()?;
        let (items, level) = (usize::try_from(word(&node, 96)?).ok()?, *node.get(100)?);
        if level >= level_max {
            return None;
        }
        for index in 0..items {
            if level == 0 {
                let at = HEADER_BYTES + 25 * index;
                let key = node.get(at..at + KEY_BYTES)?;
                if key[8] == CHUNK_ITEM {
                    let data = HEADER_BYTES + usize::try_from(word(&node, at + 17)?).ok()?;
                    self.add(key, node.get(data..)?)?;
                }
            } else {
                let child = long(&node, HEADER_BYTES + 33 * index + 17)?;
                self.tree(read, (child, bytes, level), left)?;
            }
        }
        Some(())
    }

    /// Returns the bytes of the disk at a logical address: two for metadata with a copy.
    pub fn physical(&self, logical: u64) -> Vec<u64> {
        let found = self.chunks.iter().filter_map(|chunk| {
            let offset = logical.checked_sub(chunk.logical).filter(|it| *it < chunk.bytes)?;
            chunk.physical.checked_add(offset)
        });
        found.collect()
    }

    /// Returns the size of a tree block.
    pub fn node(&self) -> Sectors {
        Sectors::new(self.node_bytes / 512)
    }

    /// Returns the pieces of a disk that hold a range of logical addresses, in sectors.
    pub fn pieces(&self, lba: Lba, sectors: Sectors) -> Vec<(Lba, Sectors)> {
        let found = self.physical(lba.get().saturating_mul(512)).into_iter();
        found.map(|at| (Lba::new(at / 512), sectors)).collect()
    }
}

/// Returns whether a block of a disk is a tree block: it names its logical address.
pub fn is_tree_block(head: &[u8], at: Lba, chunks: &Chunks) -> bool {
    long(head, 48).is_some_and(|logical| chunks.physical(logical).contains(&(at.get() * 512)))
}

/// Returns the tree that a tree block belongs to.
pub fn owner(head: &[u8]) -> Option<u64> {
    long(head, 88)
}

#[cfg(test)]
mod tests {
    use drivelab_core::Rng;

    use super::*;

    const NODE: usize = 4096;

    fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
        image[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn chunk(logical: u64, bytes: u64, copies: &[u64]) -> (Vec<u8>, Vec<u8>) {
        let mut key = vec![0; KEY_BYTES];
        key[8] = CHUNK_ITEM;
        key[9..17].copy_from_slice(&logical.to_le_bytes());
        let mut item = vec![0; 48 + 32 * copies.len()];
        item[..8].copy_from_slice(&bytes.to_le_bytes());
        item[44] = copies.len().to_le_bytes()[0];
        for (index, copy) in copies.iter().enumerate() {
            put(&mut item, 48 + 32 * index + 8, &copy.to_le_bytes());
        }
        (key, item)
    }

    /// A superblock with a system chunk at 1 MiB, whose tree has a data chunk with two copies.
    fn image() -> Vec<u8> {
        let mut image = vec![0; 3 << 20];
        let (key, item) = chunk(1 << 30, 1 << 20, &[1 << 20]);
        let at = usize::try_from(SUPERBLOCK_AT).unwrap();
        put(&mut image, at + 64, MAGIC);
        put(&mut image, at + 88, &((1_u64 << 30) + 8192).to_le_bytes());
        put(&mut image, at + 148, &4096_u32.to_le_bytes());
        put(&mut image, at + 160, &u32::try_from(key.len() + item.len()).unwrap().to_le_bytes());
        put(&mut image, at + 811, &[key, item].concat());
        let node = (1 << 20) + 8192;
        let (key, item) = chunk(2 << 30, 1 << 20, &[2 << 20, 5 << 20]);
        put(&mut image, node + 48, &((1_u64 << 30) + 8192).to_le_bytes());
        put(&mut image, node + 96, &1_u32.to_le_bytes());
        put(&mut image, node + HEADER_BYTES, &key);
        put(&mut image, node + HEADER_BYTES + 17, &1000_u32.to_le_bytes());
        put(&mut image, node + HEADER_BYTES + 1000, &item);
        debug_assert!(image.len() > node + NODE);
        image
    }

    fn chunks(image: &[u8]) -> Chunks {
        Chunks::read(&|lba, data: &mut [u8]| {
            let at = usize::try_from(lba.byte_offset().get()).unwrap_or(usize::MAX);
            let from = image.get(at..).and_then(|rest| rest.get(..data.len()));
            data.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    #[test]
    fn a_logical_address_has_its_copies_on_the_disk() {
        let (image, found) = (image(), chunks(&image()));
        assert_eq!(found.physical((1 << 30) + 512), [(1 << 20) + 512]);
        assert_eq!(found.physical(2 << 30), [2 << 20, 5 << 20]);
        assert!(found.physical(7).is_empty());
        assert_eq!(found.node(), Sectors::new(8));
        let node = (1 << 20) + 8192;
        assert!(is_tree_block(&image[node..node + 112], Lba::new(node as u64 / 512), &found));
        assert!(!is_tree_block(&image[node..node + 112], Lba::new(8), &found));
        assert_eq!(OWNER_OF_LOG, (-6_i64).cast_unsigned());
    }

    #[test]
    fn a_damaged_file_system_is_read_to_an_end() {
        for seed in 0..500 {
            let (mut rng, mut image) = (Rng::new(seed), image());
            for _ in 0..rng.between(1, 20) {
                let parts = [(0x1_0000, 0x1_0000 + 1100), (0x10_2000, 0x10_2000 + 1400)];
                let (from, to) = parts[usize::try_from(rng.below(2)).unwrap()];
                let at = usize::try_from(rng.between(from, to)).unwrap();
                image[at] = rng.bits().to_le_bytes()[0];
            }
            let _ = chunks(&image).physical(2 << 30);
        }
    }
}
