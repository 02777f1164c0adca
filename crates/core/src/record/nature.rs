//! The nature of a number, and the rules by which it is recognised: the same for runs of this
//! program and for results of others.

use crate::config::Choice;
use crate::{Bytes, choice_as_text};

/// The thing that a number measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nature {
    /// The medium and the path to it.
    Disk,
    /// The drive's own cache.
    DriveCache,
    /// The host's memory.
    PageCache,
    /// Writing the file system's journal, and what `sync` waits for.
    JournalSync,
    /// The processor.
    Cpu,
    /// The network path to another machine.
    Network,
}

impl Choice for Nature {
    const WHAT: &'static str = "nature of a figure";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("disk", Self::Disk),
        ("drive-cache", Self::DriveCache),
        ("page-cache", Self::PageCache),
        ("journal-sync", Self::JournalSync),
        ("cpu", Self::Cpu),
        ("network", Self::Network),
    ];
}

choice_as_text!(Nature);

/// From this share of the wall time on, the processor was the limit and not the disk.
const CPU_BOUND_PERCENT: f64 = 90.0;

impl Nature {
    /// The nature of a transfer during which the processor was busy for this share of the time.
    pub fn of_transfer(cpu_percent: f64) -> Self {
        if cpu_percent >= CPU_BOUND_PERCENT { Self::Cpu } else { Self::Disk }
    }
}

/// Reads of files that were written shortly before.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadBack {
    /// They were dropped from memory in between.
    pub is_dropped: bool,
    /// The size of all of them, if known.
    pub bytes: Option<Bytes>,
    /// The memory of the host, if known.
    pub memory: Option<Bytes>,
}

impl ReadBack {
    /// The reason why such reads measure memory.
    pub const WHY: &'static str = "the files were just written and are read back from memory";

    /// Only what was dropped from memory, or does not fit into it, is read from the disk. What is
    /// unknown counts as in memory: a disk must not appear faster than it is.
    pub fn nature(self) -> Nature {
        let is_larger = self.bytes.zip(self.memory).is_some_and(|(bytes, memory)| bytes > memory);
        if self.is_dropped || is_larger { Nature::Disk } else { Nature::PageCache }
    }
}

/// Files that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenFiles {
    /// Each is synced inside the measured time.
    Synced,
    /// None is.
    NotSynced,
}

impl WrittenFiles {
    /// The reason why files that are not synced measure memory.
    pub const NOT_SYNCED: &'static str = "nothing is synced: the files may still be in memory";

    /// A sync waits for the journal; without one, the writes end in memory.
    pub fn nature(self) -> Nature {
        match self {
            Self::Synced => Nature::JournalSync,
            Self::NotSynced => Nature::PageCache,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_that_is_busy_throughout_is_the_limit() {
        assert_eq!(Nature::of_transfer(89.9), Nature::Disk);
        assert_eq!(Nature::of_transfer(90.0), Nature::Cpu);
    }

    #[test]
    fn only_what_left_memory_or_never_fitted_is_read_from_the_disk() {
        let check = |is_dropped, bytes: Option<u64>, memory: Option<u64>, expected| {
            let (bytes, memory) = (bytes.map(Bytes::gib), memory.map(Bytes::gib));
            let read = ReadBack { is_dropped, bytes, memory };
            assert_eq!(read.nature(), expected, "{read:?}");
        };
        check(false, Some(2), Some(2), Nature::PageCache);
        check(false, Some(3), Some(2), Nature::Disk);
        check(false, Some(3), None, Nature::PageCache);
        check(false, None, Some(2), Nature::PageCache);
        check(true, None, None, Nature::Disk);
    }
}
