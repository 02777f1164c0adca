//! md's layout of an array on its members.

use drivelab_core::{Lba, Sectors};

use super::level::Level;

/// Copies of a chunk in a RAID 10.
const COPIES: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Extent {
    pub(super) member: usize,
    pub(super) lba: Lba,
    pub(super) sectors: Sectors,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) level: Level,
    pub(super) members: u64,
    pub(super) chunk: u64,
    /// Whole chunks on each member; the remainder is unused.
    pub(super) rows: u64,
}

/// The sectors from `from` up to `to` of every chunk of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Band {
    pub(super) row: u64,
    pub(super) from: u64,
    pub(super) to: u64,
    /// Bit mask of the data chunks whose sectors belong to the request.
    pub(super) chunks: u32,
}

impl Layout {
    /// Data chunks of a row; not of RAID 10, whose rows share chunks if their members are odd.
    pub(super) fn data(&self) -> u64 {
        match self.level {
            Level::Raid0 => self.members,
            Level::Raid1 => 1,
            Level::Raid5 => self.members - 1,
            Level::Raid6 => self.members - 2,
            Level::Raid10 => unreachable!("its rows share chunks"),
        }
    }

    pub(super) fn capacity(&self) -> Sectors {
        let chunks = match self.level {
            Level::Raid10 => self.rows * self.members / COPIES,
            _ => self.rows * self.data(),
        };
        Sectors::new(chunks * self.chunk)
    }

    /// RAID 10: returns the member and the row of a copy of a chunk. The copies follow one another
    /// (md's layout `n2`).
    pub(super) fn copy(&self, chunk: u64, copy: u64) -> (usize, u64) {
        debug_assert!(copy < COPIES, "copy {copy} of {COPIES}");
        let slot = chunk * COPIES + copy;
        (index(slot % self.members), slot / self.members)
    }

    /// RAID 10: returns the chunk of which a member has a copy in a row, and the number of the
    /// copy.
    pub(super) fn copied(&self, row: u64, member: usize) -> (u64, u64) {
        let slot = row * self.members + member as u64;
        (slot / COPIES, slot % COPIES)
    }

    /// RAID 10: visits the extents of both copies of each chunk from `start` to `end`.
    pub(super) fn copies(&self, start: Lba, end: Lba, mut each: impl FnMut([Extent; 2])) {
        let (mut at, end) = (start.get(), end.get());
        while at < end {
            let (chunk, within) = (at / self.chunk, at % self.chunk);
            let until = end.min((chunk + 1) * self.chunk);
            each([0, 1].map(|copy| {
                let (member, row) = self.copy(chunk, copy);
                let lba = Lba::new(row * self.chunk + within);
                Extent { member, lba, sectors: Sectors::new(until - at) }
            }));
            at = until;
        }
    }

    /// Returns the member that holds the parity of a row: one lower with every row, beginning with
    /// the last (md's left-symmetric layout, `ALGORITHM_LEFT_SYMMETRIC`).
    pub(super) fn parity(&self, row: u64) -> usize {
        index(self.members - 1 - row % self.members)
    }

    /// Returns the member that holds the second parity of a row, which follows the first.
    pub(super) fn second_parity(&self, row: u64) -> Option<usize> {
        let second = index((self.parity(row) as u64 + 1) % self.members);
        (self.level == Level::Raid6).then_some(second)
    }

    /// Returns the member that holds a data chunk of a row. With parities the first chunk follows
    /// them, cyclically, so that a long read visits every member in turn.
    pub(super) fn holder(&self, row: u64, chunk: u64) -> usize {
        debug_assert!(chunk < self.data(), "chunk {chunk} of {}", self.data());
        match self.level {
            Level::Raid0 | Level::Raid1 => index(chunk),
            _ => {
                // Behind the last parity, so that none of them lies between data.
                let parities = self.members - self.data();
                index((self.parity(row) as u64 + parities + chunk) % self.members)
            }
        }
    }

    /// Returns the data chunk of a row on a member; `None` if it holds a parity.
    pub(super) fn held(&self, row: u64, member: usize) -> Option<u64> {
        let member = member as u64;
        debug_assert!(member < self.members, "member {member} of {}", self.members);
        match self.level {
            Level::Raid0 | Level::Raid1 => Some(member),
            _ => {
                // The inverse of `holder`: members behind the parities, cyclically.
                let after = self.members + self.data() - self.parity(row) as u64;
                Some((member + after) % self.members).filter(|chunk| *chunk < self.data())
            }
        }
    }

    pub(super) fn extent(&self, band: &Band, member: usize) -> Extent {
        let lba = Lba::new(band.row * self.chunk + band.from);
        Extent { member, lba, sectors: Sectors::new(band.to - band.from) }
    }

    /// Splits `start..end` into bands, in order of rows, and within a row in order of sectors.
    pub(super) fn bands(&self, start: Lba, end: Lba, mut each: impl FnMut(Band)) {
        let wide = self.data() * self.chunk;
        let (mut at, end) = (start.get(), end.get());
        while at < end {
            let row = at / wide;
            let until = end.min((row + 1) * wide);
            let (first, from) = ((at % wide) / self.chunk, at % self.chunk);
            let last_sector = (until - 1) % wide;
            let (last, to) = (last_sector / self.chunk, last_sector % self.chunk + 1);
            // Only the first and the last chunk can be partial, so coverage changes at most at
            // `from` and `to`: between two edges every chunk is covered or not as a whole.
            let mut edges = [0, from, to, self.chunk];
            edges.sort_unstable();
            for pair in edges.windows(2).filter(|pair| pair[0] < pair[1]) {
                let chunks = (first..=last)
                    .filter(|chunk| *chunk > first || pair[0] >= from)
                    .filter(|chunk| *chunk < last || pair[1] <= to)
                    .fold(0, |chunks, chunk| chunks | 1 << chunk);
                if chunks != 0 {
                    each(Band { row, from: pair[0], to: pair[1], chunks });
                }
            }
            at = until;
        }
    }
}

pub(super) fn index(member: u64) -> usize {
    usize::try_from(member).expect("an array has few members")
}

/// Extents in order, each merged into its member's last one if contiguous, as the block layer
/// merges requests under one plug.
#[derive(Debug, Default)]
pub(super) struct ExtentList {
    pub(super) extents: Vec<Extent>,
    last: Vec<Option<usize>>,
}

impl ExtentList {
    pub(super) fn add(&mut self, extent: Extent) {
        if self.last.len() <= extent.member {
            self.last.resize(extent.member + 1, None);
        }
        if let Some(index) = self.last[extent.member] {
            let known = &mut self.extents[index];
            // Contiguous on the member although the data is interleaved: one request for both.
            if known.lba + known.sectors == extent.lba {
                known.sectors += extent.sectors;
                return;
            }
        }
        self.last[extent.member] = Some(self.extents.len());
        self.extents.push(extent);
    }
}
