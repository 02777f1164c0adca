//! The power cut: which part of the volatile cache is kept.

use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use drivelab_core::{Lba, Sectors, Time};

use super::versions::{SECTOR, Write};
use super::{Choose, Store};

/// The result of a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Survival {
    /// Acknowledged writes of which nothing remains.
    pub dropped_writes: u64,
    /// Writes, acknowledged or in flight, that survived in part of their sectors.
    pub torn_writes: u64,
}

/// The result of a power cut for a write that was not durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// Its position in the order of submissions.
    pub sequence: u64,
    /// Time of its submission.
    pub submitted: Time,
    /// True if it was acknowledged.
    pub completed: bool,
    /// Its first sector.
    pub lba: Lba,
    /// Its length.
    pub sectors: Sectors,
    /// Number of its sectors that have its value.
    pub kept: Sectors,
    /// Number of its sectors that have an earlier value.
    pub lost: Sectors,
}

impl Fate {
    fn new(write: &Write) -> Self {
        let range = write.sectors();
        Self {
            sequence: write.sequence,
            submitted: write.submitted,
            completed: write.is_completed(),
            lba: Lba::new(range.start),
            sectors: Sectors::new(range.end - range.start),
            kept: Sectors::ZERO,
            lost: Sectors::ZERO,
        }
    }
}

impl Survival {
    fn of(fates: &[Fate]) -> Self {
        let mut survival = Self::default();
        for fate in fates.iter().filter(|fate| fate.lost > Sectors::ZERO) {
            let is_kept = fate.kept > Sectors::ZERO;
            survival.torn_writes += u64::from(is_kept);
            survival.dropped_writes += u64::from(fate.completed && !is_kept);
        }
        survival
    }
}

impl Store {
    /// Cuts the power: each physical sector keeps its durable value or one of the later ones,
    /// according to `choose`; then the cache is empty. For a physical sector that changes, `torn`
    /// returns how many of its bytes are new, by its address and size, if not all are.
    pub fn cut(
        &mut self,
        choose: &mut dyn Choose,
        torn: impl FnMut(Lba, Sectors) -> Option<usize>,
    ) -> io::Result<Survival> {
        Ok(Survival::of(&self.cut_in_detail(choose, torn)?))
    }

    /// Like [`Self::cut`], but returns the result for each write, in the order of submissions.
    pub(crate) fn cut_in_detail(
        &mut self,
        choose: &mut dyn Choose,
        mut torn: impl FnMut(Lba, Sectors) -> Option<usize>,
    ) -> io::Result<Vec<Fate>> {
        // Trims first: a write that was submitted later spares its sectors from them.
        for trim in std::mem::take(&mut self.trims) {
            self.cut_trim(&trim, choose)?;
        }
        let mut sectors: Vec<u64> = self.volatile.keys().copied().collect();
        // In the order of addresses: the order of a hash table would differ from run to run, and
        // with it the choices.
        sectors.sort_unstable();
        let mut fates: BTreeMap<u64, Fate> = BTreeMap::new();
        let atomic = self.physical_sector.get();
        for group in sectors.chunk_by(|one, two| one / atomic == two / atomic) {
            let until = self.choose_point(group, choose);
            let first = group[0] / atomic * atomic;
            // A sector that keeps its durable value is not being written, so it cannot be torn.
            let changes = until > 0;
            let new = changes.then(|| torn(Lba::new(first), self.physical_sector)).flatten();
            for sector in group {
                self.note_fates(*sector, until, &mut fates);
                let start = usize::try_from(sector - first).expect("a few sectors") * SECTOR;
                let new = new.map_or(SECTOR, |bytes| bytes.saturating_sub(start).min(SECTOR));
                self.settle(*sector, until, new)?;
            }
        }
        self.volatile.clear();
        Ok(fates.into_values().collect())
    }

    /// Chooses the point in the order of submissions up to which a physical sector received its
    /// writes.
    fn choose_point(&self, group: &[u64], choose: &mut dyn Choose) -> u64 {
        let versions = group.iter().flat_map(|sector| self.volatile[sector].iter());
        debug_assert!(!group.is_empty(), "a physical sector with volatile values");
        let mut points: Vec<u64> = versions.map(|write| write.sequence).collect();
        points.sort_unstable();
        points.dedup();
        let chosen = choose.point(&points);
        debug_assert!(chosen <= points.len(), "a choice among the values, or the durable one");
        match chosen {
            0 => 0,
            chosen => points[chosen - 1],
        }
    }

    fn note_fates(&self, sector: u64, until: u64, fates: &mut BTreeMap<u64, Fate>) {
        let versions = &self.volatile[&sector];
        let chosen = versions.iter().rev().find(|write| write.sequence <= until);
        let chosen = chosen.map_or(0, |write| write.sequence);
        for write in versions.iter() {
            let fate = fates.entry(write.sequence).or_insert_with(|| Fate::new(write));
            // An older one than the chosen was overwritten, not lost.
            fate.kept += Sectors::new(u64::from(write.sequence == chosen));
            fate.lost += Sectors::new(u64::from(write.sequence > chosen));
        }
    }

    /// Writes the value of one sector to the medium, at most its first `new_bytes`.
    fn settle(&mut self, sector: u64, until: u64, new_bytes: usize) -> io::Result<()> {
        let versions = &self.volatile[&sector];
        let chosen = versions.iter().rev().find(|write| write.sequence <= until);
        let Some(write) = chosen.map(Rc::clone) else { return Ok(()) };
        let lba = Lba::new(sector);
        debug_assert!(new_bytes <= SECTOR, "a part of one sector");
        let (mut old, mut new) = ([0; SECTOR], [0; SECTOR]);
        write.copy_sector(sector, &mut new);
        if new_bytes < SECTOR {
            self.medium.read(lba, &mut old)?;
            new[new_bytes..].copy_from_slice(&old[new_bytes..]);
        }
        self.medium.write(lba, &new)
    }
}
