//! Bytes in memory, only for written sectors.

use std::collections::HashMap;
use std::io;

use drivelab_core::disk::{Extent, Medium};
use drivelab_core::units::SECTOR_BYTES;
use drivelab_core::{Bytes, Lba, Sectors};

use crate::hash::SectorHashBuilder;

/// Sectors in a page: 32 KiB, small enough for scattered writes, large enough that a big copy
/// touches few pages.
const PAGE: u64 = 64;
const PAGE_BYTES: usize = 32 << 10;
const SECTOR: usize = 512;

/// A sparse array of bytes in memory.
#[derive(Debug)]
pub struct Memory {
    capacity: Sectors,
    pages_max: usize,
    pages: HashMap<u64, Box<[u8]>, SectorHashBuilder>,
}

impl Memory {
    /// Memory for `capacity` sectors that never takes more than about `limit`.
    pub fn new(capacity: Sectors, limit: Bytes) -> Self {
        let pages_max = usize::try_from(limit.get()).unwrap_or(usize::MAX) / PAGE_BYTES;
        Self { capacity, pages_max, pages: HashMap::default() }
    }

    /// Memory that a drive may take on this machine: three quarters of the free memory, in kB in
    /// `/proc/meminfo`.
    pub fn limit_here() -> Bytes {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
        let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        number.map_or(Bytes::gib(1), |kib| Bytes::kib(kib / 4 * 3))
    }

    /// The pages touched by `sectors` from `lba` on: page number, offset in the page and length,
    /// both in bytes.
    fn pieces(lba: Lba, sectors: u64) -> impl Iterator<Item = (u64, usize, usize)> {
        let (mut at, end) = (lba.get(), lba.get() + sectors);
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (page, offset) = (at / PAGE, at % PAGE);
            let length = (PAGE - offset).min(end - at);
            at += length;
            let [offset, length] = [offset, length]
                .map(|sectors| usize::try_from(sectors * SECTOR_BYTES).expect("within a page"));
            debug_assert!(offset + length <= PAGE_BYTES, "a piece is within one page");
            Some((page, offset, length))
        })
    }
}

impl Memory {
    /// The extents of a range in which most pages were never written: derived from those that were.
    fn few_extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> Vec<Extent> {
        let (from, end) = (lba.get(), (lba + sectors).get());
        // The pages of a table are in no order; the few in the range are sorted.
        let touched = self.pages.keys().copied();
        let mut pages: Vec<u64> =
            touched.filter(|page| page * PAGE < end && (page + 1) * PAGE > from).collect();
        pages.sort_unstable();
        let (mut extents, mut at) = (Vec::new(), from);
        for page in pages {
            let (start, next) = ((page * PAGE).max(from), ((page + 1) * PAGE).min(end));
            push_extent(&mut extents, at, start, true);
            push_extent(&mut extents, start, next, false);
            at = next;
        }
        push_extent(&mut extents, at, end, true);
        extents.truncate(limit);
        extents
    }
}

/// Appends the sectors from `start` up to `end`, if there are any.
fn push_extent(extents: &mut Vec<Extent>, start: u64, end: u64, hole: bool) {
    if start < end {
        Extent { sectors: Sectors::new(end - start), hole }.push_to(extents);
    }
}

impl Medium for Memory {
    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn read(&self, lba: Lba, data: &mut [u8]) -> io::Result<()> {
        debug_assert!(data.len().is_multiple_of(SECTOR), "a medium has whole sectors");
        let mut rest = data;
        for (page, offset, length) in Self::pieces(lba, (rest.len() / SECTOR) as u64) {
            let (piece, after) = rest.split_at_mut(length);
            match self.pages.get(&page) {
                Some(page) => piece.copy_from_slice(&page[offset..offset + length]),
                None => piece.fill(0),
            }
            rest = after;
        }
        Ok(())
    }

    fn write(&mut self, lba: Lba, data: &[u8]) -> io::Result<()> {
        debug_assert!(data.len().is_multiple_of(SECTOR), "a medium has whole sectors");
        let mut rest = data;
        for (page, offset, length) in Self::pieces(lba, (data.len() / SECTOR) as u64) {
            let (piece, after) = rest.split_at(length);
            debug_assert_eq!(piece.len(), length, "the data of one page");
            if !self.pages.contains_key(&page) && self.pages.len() >= self.pages_max {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let page = self.pages.entry(page).or_insert_with(|| vec![0; PAGE_BYTES].into());
            page[offset..offset + length].copy_from_slice(piece);
            rest = after;
        }
        Ok(())
    }

    fn free(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()> {
        // A trim of the whole drive covers more pages than exist.
        if sectors.get() / PAGE > 2 * self.pages.len() as u64 {
            let (first, last) = (lba.get().div_ceil(PAGE), (lba.get() + sectors.get()) / PAGE);
            self.pages.retain(|page, _| *page < first || last <= *page);
            let head = (first * PAGE - lba.get()).min(sectors.get());
            let tail = lba.get() + sectors.get() - last * PAGE;
            self.free(lba, Sectors::new(head))?;
            return self.free(Lba::new(last * PAGE), Sectors::new(tail));
        }
        for (page, offset, length) in Self::pieces(lba, sectors.get()) {
            if length == PAGE_BYTES {
                self.pages.remove(&page);
            } else if let Some(bytes) = self.pages.get_mut(&page) {
                bytes[offset..offset + length].fill(0);
            }
        }
        Ok(())
    }

    /// Frees the range: memory has no storage to reserve, and missing pages read as zeros.
    fn write_zeros(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()> {
        self.free(lba, sectors)
    }

    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>> {
        let mut extents = Vec::new();
        if sectors.get() / PAGE > 2 * self.pages.len() as u64 {
            return Ok(self.few_extents(lba, sectors, limit));
        }
        for (page, _, length) in Self::pieces(lba, sectors.get()) {
            let sectors = Sectors::new((length / SECTOR) as u64);
            let hole = !self.pages.contains_key(&page);
            let before = extents.len();
            Extent { sectors, hole }.push_to(&mut extents);
            // The extent beyond the limit was needed to know that the one before had ended.
            if extents.len() > limit {
                extents.truncate(before);
                break;
            }
        }
        Ok(extents)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
