//! A private medium on top of a shared one.

use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use drivelab_core::disk::{Extent, Medium};
use drivelab_core::{Bytes, Lba, Sectors};

use super::Memory;

const SECTOR: usize = 512;

/// A copy of a medium that takes memory only for its changes (copy on write): a thousand power cuts
/// start from one image.
#[derive(Debug)]
pub struct Fork {
    base: Rc<dyn Medium>,
    changes: Memory,
    /// The changed sectors, as first and beyond the last; no two ranges touch.
    changed: BTreeMap<u64, u64>,
}

/// A range that lies completely in the changes or completely in the base.
struct Piece {
    lba: Lba,
    sectors: Sectors,
    is_changed: bool,
}

impl Fork {
    /// A fork of `base` whose changes take about `limit` of memory at most.
    pub fn new(base: Rc<dyn Medium>, limit: Bytes) -> Self {
        let changes = Memory::new(base.capacity(), limit);
        Self { base, changes, changed: BTreeMap::new() }
    }

    fn mark_changed(&mut self, lba: Lba, sectors: Sectors) {
        let (mut start, mut end) = (lba.get(), (lba + sectors).get());
        // Ranges that touch the new one, from the last backwards; they are ordered and disjoint.
        let touching = self.changed.range(..=end).rev().take_while(|(_, last)| **last >= start);
        let ranges: Vec<u64> = touching.map(|(first, _)| *first).collect();
        for range in ranges {
            let last = self.changed.remove(&range).expect("it was just found");
            (start, end) = (start.min(range), end.max(last));
        }
        if start < end {
            debug_assert!(self.changed.range(start..=end).next().is_none(), "no two ranges touch");
            self.changed.insert(start, end);
        }
    }

    fn pieces(&self, lba: Lba, sectors: Sectors) -> impl Iterator<Item = Piece> {
        let (mut at, end) = (lba.get(), (lba + sectors).get());
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            // Either a changed range covers `at`, or the base does, up to the next changed range.
            let before = self.changed.range(..=at).next_back().filter(|(_, last)| **last > at);
            let next = self.changed.range(at..).next().map_or(end, |(first, _)| *first);
            let until = before.map_or(next, |(_, last)| *last).min(end);
            debug_assert!(at < until, "every piece has a sector");
            let (lba, sectors) = (Lba::new(at), Sectors::new(until - at));
            at = until;
            Some(Piece { lba, sectors, is_changed: before.is_some() })
        })
    }

    fn below(&self, piece: &Piece) -> &dyn Medium {
        if piece.is_changed { &self.changes } else { &*self.base }
    }
}

impl Medium for Fork {
    fn capacity(&self) -> Sectors {
        self.base.capacity()
    }

    fn read(&self, lba: Lba, data: &mut [u8]) -> io::Result<()> {
        let mut rest = &mut data[..];
        for piece in self.pieces(lba, Sectors::new((rest.len() / SECTOR) as u64)) {
            let bytes = usize::try_from(piece.sectors.bytes().get()).expect("within the data");
            let (part, after) = rest.split_at_mut(bytes);
            self.below(&piece).read(piece.lba, part)?;
            rest = after;
        }
        Ok(())
    }

    fn write(&mut self, lba: Lba, data: &[u8]) -> io::Result<()> {
        debug_assert!(data.len().is_multiple_of(SECTOR), "a medium has whole sectors");
        self.changes.write(lba, data)?;
        self.mark_changed(lba, Sectors::new((data.len() / SECTOR) as u64));
        Ok(())
    }

    fn free(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()> {
        self.changes.free(lba, sectors)?;
        self.mark_changed(lba, sectors);
        Ok(())
    }

    fn write_zeros(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()> {
        self.free(lba, sectors)
    }

    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>> {
        let mut extents = Vec::new();
        for piece in self.pieces(lba, sectors) {
            let found = self.below(&piece).extents(piece.lba, piece.sectors, limit)?;
            // The rest of this piece is unknown, so nothing after it may follow.
            let is_cut_short = found.len() == limit;
            for extent in found {
                extent.push_to(&mut extents);
            }
            if is_cut_short || extents.len() > limit {
                break;
            }
        }
        extents.truncate(limit);
        Ok(extents)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Rng;

    use super::*;

    /// Sectors; enough for a page of the memory below and parts of two others.
    const SECTORS: u64 = 160;

    fn content(medium: &dyn Medium) -> Vec<u8> {
        let mut bytes = vec![0xEE; usize::try_from(SECTORS).unwrap() * SECTOR];
        medium.read(Lba::ZERO, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_fork_is_a_copy_and_leaves_its_base_and_the_other_forks_alone() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut base = Memory::new(Sectors::new(SECTORS), Bytes::mib(1));
            base.write(Lba::new(20), &vec![7; 100 * SECTOR]).unwrap();
            let before = content(&base);
            let base: Rc<dyn Medium> = Rc::new(base);
            let other = Fork::new(Rc::clone(&base), Bytes::mib(1));
            let mut fork = Fork::new(Rc::clone(&base), Bytes::mib(1));
            let mut shadow = before.clone();
            for byte in 1..20 {
                let first = rng.below(SECTORS);
                let count = rng.between(1, (SECTORS - first).min(40));
                let bytes = |sectors| usize::try_from(sectors).unwrap() * SECTOR;
                let range = bytes(first)..bytes(first + count);
                if rng.below(4) == 0 {
                    fork.free(Lba::new(first), Sectors::new(count)).unwrap();
                    shadow[range].fill(0);
                } else {
                    fork.write(Lba::new(first), &vec![byte; bytes(count)]).unwrap();
                    shadow[range].fill(byte);
                }
                assert!(content(&fork) == shadow, "seed {seed}, change {byte}");
            }
            let extents = fork.extents(Lba::ZERO, Sectors::new(SECTORS), 100).unwrap();
            let covered = extents.iter().fold(Sectors::ZERO, |sum, extent| sum + extent.sectors);
            assert_eq!(covered.get(), SECTORS, "seed {seed}");
            assert!(content(&*base) == before && content(&other) == before, "seed {seed}");
        }
    }
}
