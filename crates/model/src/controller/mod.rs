//! Controllers: tags, commands that exclude each other, and time on the wire.

mod bucket;
mod link;
mod notice;
mod port;
mod queues;

pub(crate) use bucket::Bucket;
pub use link::Link;
pub(crate) use link::pcie_lane;
pub use notice::Notice;
pub(crate) use port::{Pace, Port};
pub use queues::{Burst, Priorities, QueuePairs, Weighted, Weights};
pub(crate) use queues::{Priority, QUEUES_MAX};

use drivelab_core::config::Choice;
use drivelab_core::dispatch::{Class, Dispatch, TagPool, Waiting};
use drivelab_core::{Op, choice_as_text};

/// The kind of controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// A SATA port in IDE mode, as `ata_piix` drives it: one command, UDMA/133 at most.
    Ide,
    /// AHCI with 32 slots; native command queuing where drive and options allow it.
    Ahci,
    /// A SCSI host adapter: every command is queued, the flush too.
    Scsi,
    /// `NVMe` over PCI Express: a deep queue, in which the flush is a command like others.
    Nvme,
}

impl Choice for Controller {
    const WHAT: &'static str = "controller";
    const NAMES: &'static [(&'static str, Self)] =
        &[("ide", Self::Ide), ("ahci", Self::Ahci), ("scsi", Self::Scsi), ("nvme", Self::Nvme)];
}
choice_as_text!(Controller);

/// The rules of the wire: tags, and commands that must not overlap.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    pool: TagPool,
    /// Flush and trim are not queued on ATA: they wait for an empty wire and occupy it alone.
    flush_alone: bool,
    alone: bool,
    pub(crate) max_in_use: usize,
}

impl Wire {
    pub(crate) fn new(dispatch: Dispatch, tags: usize, flush_alone: bool) -> Self {
        Self { pool: TagPool::new(dispatch, tags), flush_alone, alone: false, max_in_use: 0 }
    }

    pub(crate) fn tags(&self) -> usize {
        self.pool.tags()
    }

    /// Commands that hold a tag.
    #[inline]
    pub(crate) fn in_use(&self) -> usize {
        self.pool.in_use()
    }

    #[inline]
    pub(crate) fn next(&self, waiting: Waiting) -> Option<Class> {
        if self.alone { None } else { self.pool.next(waiting) }
    }

    /// Returns true if a command of this kind may join those on the wire: NCQ and non-NCQ commands
    /// never overlap (AHCI 1.3.1, section 5.5.1; Serial ATA 2.6, section 13.6.2).
    #[inline]
    pub(crate) fn may_join(&self, op: Op) -> bool {
        op.transfers() || !self.flush_alone || self.pool.in_use() == 0
    }

    #[inline]
    pub(crate) fn take(&mut self, op: Op) {
        debug_assert!(!self.alone, "a command joins one that shares the wire with none");
        self.alone = self.flush_alone && !op.transfers();
        self.pool.take(op.into());
        self.max_in_use = self.max_in_use.max(self.pool.in_use());
        debug_assert!(self.pool.in_use() <= self.pool.tags(), "more commands than tags");
    }

    #[inline]
    pub(crate) fn release(&mut self, op: Op) {
        debug_assert!(self.pool.in_use() > 0, "a tag is released twice");
        debug_assert!(
            !self.alone || self.pool.in_use() == 1,
            "a flush did not have the wire alone"
        );
        self.alone = false;
        self.pool.release(op.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_ata_a_flush_waits_for_an_empty_wire_and_keeps_it() {
        let mut wire = Wire::new(Dispatch::Shared, 32, true);
        wire.take(Op::Read);
        assert!(!wire.may_join(Op::Flush) && wire.may_join(Op::Write));
        wire.release(Op::Read);
        assert!(wire.may_join(Op::Flush));
        wire.take(Op::Flush);
        let waiting = Waiting { reads: 1, writes: 0, head: Some(Class::Read) };
        assert_eq!(wire.next(waiting), None);
        wire.release(Op::Flush);
        assert_eq!(wire.next(waiting), Some(Class::Read));
    }

    #[test]
    fn on_scsi_a_flush_is_a_command_like_others() {
        let mut wire = Wire::new(Dispatch::Shared, 32, false);
        wire.take(Op::Read);
        assert!(wire.may_join(Op::Flush));
        wire.take(Op::Flush);
        let waiting = Waiting { reads: 1, writes: 0, head: Some(Class::Read) };
        assert_eq!(wire.next(waiting), Some(Class::Read));
    }
}
