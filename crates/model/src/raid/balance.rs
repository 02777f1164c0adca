//! RAID 1: which mirror reads.

use drivelab_core::{Lba, Sectors};

#[derive(Debug, Clone, Copy, Default)]
struct Mirror {
    pending: usize,
    head: Lba,
    /// Where its last read ends.
    follows: Option<Lba>,
}

/// Chooses mirrors as md's `read_balance` does for disks that turn.
#[derive(Debug)]
pub(super) struct Balance {
    mirrors: Vec<Mirror>,
    failed: Option<usize>,
}

impl Balance {
    pub(super) fn new(mirrors: usize, failed: Option<usize>) -> Self {
        Self { mirrors: vec![Mirror::default(); mirrors], failed }
    }

    /// The mirror for a read from `lba` on: the one that the stream is on or whose head is there,
    /// else an idle one, else the one whose head is nearest; of equals the first.
    pub(super) fn choose(&mut self, lba: Lba, sectors: Sectors) -> usize {
        let alive = |place: &usize| Some(*place) != self.failed;
        let mirrors = || (0..self.mirrors.len()).filter(alive);
        let there = |place: &usize| {
            let mirror = &self.mirrors[*place];
            mirror.follows == Some(lba) || mirror.head == lba
        };
        let idle = |place: &usize| self.mirrors[*place].pending == 0;
        let distance = |place: &usize| self.mirrors[*place].head.get().abs_diff(lba.get());
        let chosen = mirrors()
            .find(there)
            .or_else(|| mirrors().find(idle))
            .or_else(|| mirrors().min_by_key(distance))
            .expect("at most one mirror has failed");
        self.mirrors[chosen].follows = Some(lba + sectors);
        chosen
    }

    pub(super) fn sent(&mut self, mirror: usize) {
        self.mirrors[mirror].pending += 1;
    }

    pub(super) fn done(&mut self, mirror: usize, end: Lba) {
        self.mirrors[mirror].pending -= 1;
        self.mirrors[mirror].head = end;
    }
}
