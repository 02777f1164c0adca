//! The power cut: which part of the volatile cache is kept.

use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use drivelab_core::{Lba, Sectors};

use super::versions::SECTOR;
use super::{Choose, Store};

/// The result of a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Survival {
    /// Acknowledged writes of which nothing remains.
    pub dropped_writes: u64,
    /// Writes, acknowledged or in flight, that survived in part of their sectors.
    pub torn_writes: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Fate {
    completed: bool,
    kept: bool,
    lost: bool,
}

impl Store {
    /// Cuts the power: each physical sector keeps its durable value or one of the later ones,
    /// according to `choose`; then the cache is empty. For a physical sector that changes, `torn`
    /// returns how many of its bytes are new, by its address and size, if not all are.
    pub fn cut(
        &mut self,
        choose: &mut dyn Choose,
        mut torn: impl FnMut(Lba, Sectors) -> Option<usize>,
    ) -> io::Result<Survival> {
        for trim in std::mem::take(&mut self.trims) {
            self.cut_trim(&trim, choose)?;
        }
        let mut sectors: Vec<u64> = self.volatile.keys().copied().collect();
        sectors.sort_unstable();
        let mut fates: BTreeMap<u64, Fate> = BTreeMap::new();
        let atomic = self.physical_sector.get();
        for group in sectors.chunk_by(|one, two| one / atomic == two / atomic) {
            let until = self.choose_point(group, choose);
            let first = group[0] / atomic * atomic;
            let changes = until > 0;
            let new = changes.then(|| torn(Lba::new(first), self.physical_sector)).flatten();
            for sector in group {
                self.note_fates(*sector, until, &mut fates);
                let place = usize::try_from(sector - first).expect("few") * SECTOR;
                let new = new.map_or(SECTOR, |bytes| bytes.saturating_sub(place).min(SECTOR));
                self.settle(*sector, until, new)?;
            }
        }
        self.volatile.clear();
        let mut survival = Survival::default();
        for fate in fates.values().filter(|fate| fate.lost) {
            survival.torn_writes += u64::from(fate.kept);
            survival.dropped_writes += u64::from(fate.completed && !fate.kept);
        }
        Ok(survival)
    }

    /// The point in the order of submissions up to which a physical sector received its writes.
    fn choose_point(&self, group: &[u64], choose: &mut dyn Choose) -> u64 {
        let versions = group.iter().flat_map(|sector| self.volatile[sector].iter());
        let mut points: Vec<u64> = versions.map(|write| write.sequence).collect();
        points.sort_unstable();
        points.dedup();
        match choose.choose(points.len() + 1) {
            0 => 0,
            chosen => points[chosen - 1],
        }
    }

    fn note_fates(&self, sector: u64, until: u64, fates: &mut BTreeMap<u64, Fate>) {
        let versions = &self.volatile[&sector];
        let chosen = versions.iter().rev().find(|write| write.sequence <= until);
        let chosen = chosen.map_or(0, |write| write.sequence);
        for write in versions.iter() {
            let fate = fates.entry(write.sequence).or_default();
            fate.completed = write.is_completed();
            fate.kept |= write.sequence == chosen;
            fate.lost |= write.sequence > chosen;
        }
    }

    /// Writes the value of one sector to the medium, at most its first `new_bytes`.
    fn settle(&mut self, sector: u64, until: u64, new_bytes: usize) -> io::Result<()> {
        let versions = &self.volatile[&sector];
        let chosen = versions.iter().rev().find(|write| write.sequence <= until);
        let Some(write) = chosen.map(Rc::clone) else { return Ok(()) };
        let lba = Lba::new(sector);
        let (mut old, mut new) = ([0; SECTOR], [0; SECTOR]);
        write.copy_sector(sector, &mut new);
        if new_bytes < SECTOR {
            self.medium.read(lba, &mut old)?;
            new[new_bytes..].copy_from_slice(&old[new_bytes..]);
        }
        self.medium.write(lba, &new)
    }
}
