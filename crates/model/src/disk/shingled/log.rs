//! The media cache: a log on the medium, and the map of what lies in it.

use std::collections::{BTreeMap, VecDeque};

use drivelab_core::{Lba, Sectors};

use super::shape::Shingling;

/// Sectors whose newest data lies in the log; they belong to one band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    end: u64,
    /// Their position in the log, counted from its first write.
    at: u64,
}

/// A write as it lies in the log.
#[derive(Debug, Clone, Copy)]
struct Record {
    lba: u64,
    sectors: u64,
    at: u64,
    /// The position behind it and what the drive notes about it.
    end: u64,
}

/// A part of a range, which lies in its band or in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The address at which the head finds it: one of the drive, or behind its end, in the log.
    pub(crate) lba: Lba,
    pub(crate) sectors: Sectors,
}

/// Writes in order of arrival, of which the newest of each sector counts.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    shape: Shingling,
    /// The addresses of the drive end here; those of the log begin.
    capacity: u64,
    extents: BTreeMap<u64, Extent>,
    records: VecDeque<Record>,
    /// The positions of the next write and of the oldest one.
    head: u64,
    tail: u64,
}

impl Log {
    pub(crate) fn new(shape: Shingling, capacity: Sectors) -> Self {
        Self {
            shape,
            capacity: capacity.get(),
            extents: BTreeMap::new(),
            records: VecDeque::new(),
            head: 0,
            tail: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// The address of a position of the log.
    pub(crate) fn address(&self, at: u64) -> Lba {
        Lba::new(self.capacity + at % self.shape.cache.get())
    }

    /// The position of a write of this size, which does not cross the end of the area, and the one
    /// behind it.
    fn span_of(&self, sectors: u64) -> (u64, u64) {
        let size = self.shape.cache.get();
        let unit = self.shape.physical_sector.get();
        // What the drive notes about a write takes a physical sector in front of the next one.
        let needed = sectors.next_multiple_of(unit) + unit;
        let left = size - self.head % size;
        let at = if left < needed { self.head + left } else { self.head };
        (at, at + needed)
    }

    /// The address of the next write of this size.
    pub(crate) fn next(&self, sectors: Sectors) -> Lba {
        self.address(self.span_of(sectors.get()).0)
    }

    /// Returns true if a write of this size fits, and `others` entries that its map holds.
    pub(crate) fn has_room(&self, sectors: Sectors, others: usize) -> bool {
        let (_, end) = self.span_of(sectors.get());
        // A write replaces the middle of an extent at worst, or crosses the border of a band.
        let entries = self.extents.len() + others + 3;
        end - self.tail <= self.shape.cache.get() && entries <= self.shape.writes
    }

    /// Appends a write; the caller has checked for room. Returns its address, and the sectors that
    /// the drive writes for it.
    pub(crate) fn append(&mut self, lba: Lba, sectors: Sectors) -> (Lba, Sectors) {
        debug_assert!(self.has_room(sectors, 0), "the caller has checked for room");
        let (start, length) = (lba.get(), sectors.get());
        let (at, end) = self.span_of(length);
        self.forget(start, start + length);
        let band = self.shape.band.get();
        let mut from = start;
        while from < start + length {
            let to = (from - from % band + band).min(start + length);
            self.extents.insert(from, Extent { end: to, at: at + (from - start) });
            from = to;
        }
        self.records.push_back(Record { lba: start, sectors: length, at, end });
        self.head = end;
        debug_assert!(self.head - self.tail <= self.shape.cache.get(), "the log is full");
        (self.address(at), Sectors::new(end - at))
    }

    /// Drops what the log holds of these sectors, which were written elsewhere or trimmed.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        if self.extents.is_empty() || start >= end {
            return;
        }
        if let Some((&first, &before)) = self.extents.range(..start).next_back()
            && before.end > start
        {
            // Its beginning stays, and what lies behind the range.
            self.extents.insert(first, Extent { end: start, ..before });
            if before.end > end {
                let tail = Extent { end: before.end, at: before.at + (end - first) };
                self.extents.insert(end, tail);
                return;
            }
        }
        while let Some((&first, &extent)) = self.extents.range(start..end).next() {
            self.extents.remove(&first);
            if extent.end > end {
                let tail = Extent { end: extent.end, at: extent.at + (end - first) };
                self.extents.insert(end, tail);
            }
        }
    }

    /// The first sector from `lba` on that lies in the log.
    pub(crate) fn first_from(&self, lba: u64) -> Option<u64> {
        let before = self.extents.range(..lba).next_back();
        if before.is_some_and(|(_, extent)| extent.end > lba) {
            return Some(lba);
        }
        self.extents.range(lba..).next().map(|(first, _)| *first)
    }

    /// The address at which the newest data of a sector lies.
    pub(crate) fn locate(&self, lba: Lba) -> Lba {
        let before = self.extents.range(..=lba.get()).next_back();
        match before.filter(|(_, extent)| extent.end > lba.get()) {
            Some((first, extent)) => self.address(extent.at + (lba.get() - first)),
            None => lba,
        }
    }

    /// The pieces of a range, in order of address.
    pub(crate) fn pieces(&self, start: u64, end: u64, into: &mut Vec<Piece>) {
        into.clear();
        let mut from = start;
        let before = self.extents.range(..start).next_back();
        let before = before.filter(|(_, extent)| extent.end > start);
        for (&first, extent) in before.into_iter().chain(self.extents.range(start..end)) {
            if first > from {
                into.push(Piece { lba: Lba::new(from), sectors: Sectors::new(first - from) });
                from = first;
            }
            let to = extent.end.min(end);
            let lba = self.address(extent.at + (from - first));
            into.push(Piece { lba, sectors: Sectors::new(to - from) });
            from = to;
        }
        if from < end {
            into.push(Piece { lba: Lba::new(from), sectors: Sectors::new(end - from) });
        }
    }

    /// The band of the oldest data in the log.
    pub(crate) fn oldest_band(&mut self) -> Option<u64> {
        while let Some(record) = self.records.front().copied() {
            let (start, end) = (record.lba, record.lba + record.sectors);
            let before = self.extents.range(..start).next_back();
            let mut alive = before.into_iter().chain(self.extents.range(start..end));
            let own = record.at..record.at + record.sectors;
            if let Some((&first, _)) = alive.find(|(_, extent)| own.contains(&extent.at)) {
                return Some(first / self.shape.band.get());
            }
            self.records.pop_front();
            self.tail = record.end;
        }
        self.tail = self.head;
        None
    }

    /// The pieces of a band in the log that were written before position `before`, as positions and
    /// lengths in order of position.
    pub(crate) fn of_band(&self, band: u64, before: u64) -> Vec<(u64, u64)> {
        let length = self.shape.band.get();
        let range = self.extents.range(band * length..(band + 1) * length);
        let mut pieces: Vec<(u64, u64)> = range
            .filter(|(_, extent)| extent.at < before)
            .map(|(first, extent)| (extent.at, extent.end - first))
            .collect();
        pieces.sort_unstable();
        pieces
    }

    /// Drops what lies in the log of a band from before position `before`: it is in its band.
    pub(crate) fn cleaned(&mut self, band: u64, before: u64) {
        let length = self.shape.band.get();
        let range = self.extents.range(band * length..(band + 1) * length);
        let old: Vec<u64> =
            range.filter(|(_, extent)| extent.at < before).map(|(first, _)| *first).collect();
        for first in old {
            self.extents.remove(&first);
        }
        // Space is free as soon as the oldest writes are.
        self.oldest_band();
    }

    /// Returns true if extents are disjoint, within one band each, and within the log.
    #[cfg(test)]
    fn is_sound(&self) -> bool {
        let band = self.shape.band.get();
        let mut last = 0;
        let disjoint = self.extents.iter().all(|(&first, extent)| {
            let fits =
                last <= first && first < extent.end && first / band == (extent.end - 1) / band;
            let kept = extent.at >= self.tail && extent.at + (extent.end - first) <= self.head;
            last = extent.end;
            fits && kept
        });
        disjoint && self.head - self.tail <= self.shape.cache.get()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_possible_truncation, reason = "a drive of a thousand sectors")]

    use drivelab_core::Rng;

    use super::*;

    const SHAPE: Shingling = Shingling {
        band: Sectors::new(100),
        cache: Sectors::new(4096),
        writes: 64,
        clean_after: drivelab_core::Span::ZERO,
        physical_sector: Sectors::new(8),
    };

    /// The position of a sector in the log, by the plainest means.
    fn held_by(log: &Log, lba: u64) -> Option<u64> {
        let mut pieces = Vec::new();
        log.pieces(lba, lba + 1, &mut pieces);
        assert_eq!(pieces.len(), 1);
        pieces[0].lba.get().checked_sub(1000)
    }

    #[test]
    fn the_newest_write_of_each_sector_is_found() {
        let mut rng = Rng::new(7);
        let mut log = Log::new(SHAPE, Sectors::new(1000));
        let mut newest = vec![None; 1000];
        let (mut cleaned, mut appended) = (0, 0);
        for _ in 0..20_000 {
            let (lba, sectors) = (rng.below(960), 1 + rng.below(40));
            if rng.below(8) == 0 {
                log.forget(lba, lba + sectors);
                newest[lba as usize..][..sectors as usize].fill(None);
            } else if log.has_room(Sectors::new(sectors), 0) {
                let at = log.append(Lba::new(lba), Sectors::new(sectors)).0.get() - 1000;
                for sector in 0..sectors {
                    newest[(lba + sector) as usize] = Some(at + sector);
                }
                appended += 1;
            } else {
                let band = log.oldest_band().expect("a full log holds something");
                log.cleaned(band, log.head());
                newest[(band * 100) as usize..][..100].fill(None);
                cleaned += 1;
            }
            assert!(log.is_sound());
            for _ in 0..4 {
                let lba = rng.below(1000);
                assert_eq!(held_by(&log, lba), newest[lba as usize], "sector {lba}");
            }
        }
        assert!(cleaned > 100 && appended > 1000, "{cleaned} {appended}");
    }

    #[test]
    fn pieces_cover_a_range_in_order() {
        let mut log = Log::new(SHAPE, Sectors::new(1000));
        log.append(Lba::new(90), Sectors::new(20));
        let mut pieces = Vec::new();
        log.pieces(80, 120, &mut pieces);
        let found: Vec<(u64, u64)> =
            pieces.iter().map(|piece| (piece.lba.get(), piece.sectors.get())).collect();
        // Two extents, since a band ends at 100; the log begins behind the last address.
        let expected = [(80, 10), (1000, 10), (1010, 10), (110, 10)];
        assert_eq!(found, expected);
        assert_eq!(log.first_from(0), Some(90));
        assert_eq!(log.first_from(95), Some(95));
        assert_eq!(log.first_from(110), None);
    }
}
