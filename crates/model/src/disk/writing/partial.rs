//! Writes of parts of physical sectors, which the drive has to read first.
//!
//! The medium is read and written in physical sectors. The drive reads one of which a write covers
//! a part, and writes it when it comes round again: a revolution more for each such sector, two for
//! a block that begins and ends within sectors. An owner measured 1.4 revolutions (1,000 random
//! durable writes of 4 KiB: 22 to 24 s, aligned 7 to 8 s): some firmware reads both in one pass.

use drivelab_core::{Lba, Sectors, Time};

use crate::disk::mechanics::Stream;
use crate::disk::queue::Candidate;
use crate::disk::{Disk, Passage};

/// The physical sectors of a write, and how many of them the medium has to supply in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Whole {
    start: Lba,
    sectors: Sectors,
    missing: u64,
}

impl Disk {
    /// The passage of a write that covers parts of physical sectors; `None` for any other access.
    pub(in crate::disk) fn write_of_parts(
        &mut self,
        now: Time,
        work: &Candidate,
    ) -> Option<Passage> {
        let Whole { start, sectors, missing } = self.physical_sectors(work)?;
        self.counters.partial_writes += 1;
        let retried = self.retry_time();
        let mechanics = &self.parts.mechanics;
        let location = mechanics.geometry.locate(start);
        // It begins as a read, so the head settles as for one.
        let at = mechanics.arrive(now, self.arm, location, false);
        let revolutions = mechanics.spindle.time_for(u128::from(missing) << 64);
        debug_assert!((1..=2).contains(&missing), "a write has two ends");
        let writing = Stream { lba: start, location, at: at + revolutions + retried };
        Some((writing.at, mechanics.transfer(writing, sectors)))
    }

    /// The beginning and the end of the physical sectors of a write.
    pub(in crate::disk) fn around(&self, work: &Candidate) -> (Lba, Lba) {
        let unit = self.parts.physical_sector.get();
        let (first, end) = (work.lba.get(), (work.lba + work.sectors).get());
        let behind = end.next_multiple_of(unit).min(self.parts.mechanics.geometry.end().get());
        (Lba::new(first - first % unit), Lba::new(behind))
    }

    /// Returns the physical sectors of a write, if the drive has to read any of them.
    fn physical_sectors(&mut self, work: &Candidate) -> Option<Whole> {
        let (first, end) = (work.lba, work.lba + work.sectors);
        let (start, behind) = self.around(work);
        if !work.write || (start == first && end == behind) {
            return None;
        }
        let [head, tail] = [(start, first), (end, behind)]
            .map(|(from, to)| from < to && !self.has_in_memory(from, to));
        // A write within one sector needs that sector once.
        let missing = if behind - start <= self.parts.physical_sector {
            u64::from(head || tail)
        } else {
            u64::from(head) + u64::from(tail)
        };
        (missing > 0).then_some(Whole { start, sectors: behind - start, missing })
    }

    /// Returns true if sectors need not be read: a stream has the rest of its sectors in the write
    /// before, or in the next one, which waits in the cache.
    fn has_in_memory(&mut self, from: Lba, to: Lba) -> bool {
        let (start, end) = self.written;
        let cached = self.writes.as_ref().is_some_and(|cache| cache.holds(from, to));
        cached || (start <= from && to <= end) || self.reads.holds(from, to)
    }
}
