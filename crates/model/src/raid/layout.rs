//! Where the data of an array lies on its members, as md lays it out.

use drivelab_core::{Lba, Sectors};

use super::level::Level;

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
    /// Whole chunks on each member; what is left of it is not used.
    pub(super) rows: u64,
}

/// The same sectors of every chunk of a row, from `from` up to `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Band {
    pub(super) row: u64,
    pub(super) from: u64,
    pub(super) to: u64,
    /// The data chunks, by bit, of which these sectors belong to the request.
    pub(super) chunks: u32,
}

impl Layout {
    pub(super) fn data(&self) -> u64 {
        match self.level {
            Level::Raid0 => self.members,
            Level::Raid1 => 1,
            Level::Raid5 => self.members - 1,
        }
    }

    pub(super) fn capacity(&self) -> Sectors {
        Sectors::new(self.rows * self.data() * self.chunk)
    }

    /// The member that holds the parity of a row: it moves down by one with every row, from the
    /// last (md's left-symmetric layout, `ALGORITHM_LEFT_SYMMETRIC`).
    pub(super) fn parity(&self, row: u64) -> usize {
        index(self.members - 1 - row % self.members)
    }

    /// The member that holds a data chunk of a row. With RAID 5 the first follows the parity, and
    /// so round, which lets a long read visit every member in turn.
    pub(super) fn holder(&self, row: u64, chunk: u64) -> usize {
        match self.level {
            Level::Raid0 | Level::Raid1 => index(chunk),
            Level::Raid5 => index((self.parity(row) as u64 + 1 + chunk) % self.members),
        }
    }

    /// The data chunk of a row that a member holds; `None` where it holds the parity.
    pub(super) fn held(&self, row: u64, member: usize) -> Option<u64> {
        let member = member as u64;
        match self.level {
            Level::Raid0 | Level::Raid1 => Some(member),
            Level::Raid5 => {
                let after = self.members - 1 - self.parity(row) as u64;
                Some((member + after) % self.members).filter(|chunk| *chunk < self.data())
            }
        }
    }

    pub(super) fn extent(&self, band: &Band, member: usize) -> Extent {
        let lba = Lba::new(band.row * self.chunk + band.from);
        Extent { member, lba, sectors: Sectors::new(band.to - band.from) }
    }

    /// Cuts `start..end` into bands, in order of rows, and within one in order of their sectors.
    pub(super) fn bands(&self, start: Lba, end: Lba, mut each: impl FnMut(Band)) {
        let wide = self.data() * self.chunk;
        let (mut at, end) = (start.get(), end.get());
        while at < end {
            let row = at / wide;
            let until = end.min((row + 1) * wide);
            let (first, from) = ((at % wide) / self.chunk, at % self.chunk);
            let last_sector = (until - 1) % wide;
            let (last, to) = (last_sector / self.chunk, last_sector % self.chunk + 1);
            let mut edges = [0, from, to, self.chunk];
            edges.sort_unstable();
            for pair in edges.windows(2).filter(|pair| pair[0] < pair[1]) {
                let inside = |chunk: u64| {
                    (chunk > first || pair[0] >= from) && (chunk < last || pair[1] <= to)
                };
                let covered = (first..=last).filter(|chunk| inside(*chunk));
                let chunks = covered.fold(0, |chunks, chunk| chunks | 1 << chunk);
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

/// Extents in order, each joined to its member's last where it goes on there, as the block layer
/// joins what is submitted together.
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
        if let Some(place) = self.last[extent.member] {
            let known = &mut self.extents[place];
            if known.lba + known.sectors == extent.lba {
                known.sectors += extent.sectors;
                return;
            }
        }
        self.last[extent.member] = Some(self.extents.len());
        self.extents.push(extent);
    }
}
