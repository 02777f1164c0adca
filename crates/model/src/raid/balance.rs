//! RAID 1 and 10: choice of the mirror for a read.

use drivelab_core::{Lba, Sectors};

#[derive(Debug, Clone, Copy, Default)]
struct Mirror {
    pending: usize,
    head: Lba,
    /// End of its last read.
    follows: Option<Lba>,
}

/// Chooses mirrors as md's `read_balance` does for rotating disks.
#[derive(Debug)]
pub(super) struct Balance {
    mirrors: Vec<Mirror>,
    failed: Option<usize>,
}

impl Balance {
    pub(super) fn new(mirrors: usize, failed: Option<usize>) -> Self {
        Self { mirrors: vec![Mirror::default(); mirrors], failed }
    }

    /// Returns the mirror for a read at `lba`: one whose stream or head is at `lba`, else an idle
    /// one, else the one with the nearest head; of equals the first.
    pub(super) fn choose(&mut self, lba: Lba, sectors: Sectors) -> usize {
        // `min_by_key` keeps the first of equals, so one key expresses all three rules.
        let alive = (0..self.mirrors.len()).filter(|index| Some(*index) != self.failed);
        let chosen = alive.min_by_key(|index| {
            let Mirror { pending, head, follows } = self.mirrors[*index];
            if follows == Some(lba) || head == lba {
                (0, 0)
            } else if pending == 0 {
                (1, 0)
            } else {
                (2, head.get().abs_diff(lba.get()))
            }
        });
        let chosen = chosen.expect("at most one mirror has failed");
        self.mirrors[chosen].follows = Some(lba + sectors);
        chosen
    }

    /// RAID 10 (`raid10.c`): returns the idle one of the members that hold a chunk, else the one
    /// with the nearest head; each with the sector where it has the data.
    pub(super) fn choose_copy(&self, copies: [(usize, Lba); 2]) -> usize {
        let alive = copies.into_iter().filter(|(member, _)| Some(*member) != self.failed);
        let chosen = alive.min_by_key(|(member, lba)| {
            let Mirror { pending, head, .. } = self.mirrors[*member];
            if pending == 0 { (0, 0) } else { (1, head.get().abs_diff(lba.get())) }
        });
        chosen.expect("at most one member has failed").0
    }

    pub(super) fn sent(&mut self, mirror: usize) {
        self.mirrors[mirror].pending += 1;
    }

    pub(super) fn done(&mut self, mirror: usize, end: Lba) {
        debug_assert!(
            self.mirrors[mirror].pending > 0,
            "mirror {mirror} completes without a command"
        );
        self.mirrors[mirror].pending -= 1;
        self.mirrors[mirror].head = end;
    }
}
