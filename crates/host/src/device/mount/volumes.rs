//! File systems and swap space, as the kernel reports them by the name of a block device.

use std::collections::BTreeMap;

use super::unescaped;
use crate::root::{Root, TABLE_BYTES_MAX};

/// The first kernel that names the processes of journals (`fs/ext4/sysfs.c`).
const JOURNAL_TASK: (u32, u32) = (5, 1);

/// The record that an ext4 file system keeps in its superblock, and its journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ext4 {
    /// Number of errors since the last check.
    pub(crate) errors: u64,
    /// False if it has no journal; `None` if the kernel is too old to say.
    pub(crate) journal: Option<bool>,
}

/// The file systems and swap spaces of a machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Volumes {
    ext4: BTreeMap<String, Ext4>,
    swaps: BTreeMap<String, u64>,
}

impl Volumes {
    /// Reads those of a machine with this version of the kernel.
    pub(crate) fn read(root: &Root, kernel: Option<(u32, u32)>) -> Self {
        let swaps = root.text("proc/swaps", TABLE_BYTES_MAX).unwrap_or_default();
        Self { ext4: file_systems(root, kernel), swaps: swap_spaces(&swaps) }
    }

    /// The ext4 file system on a partition or disk.
    pub(crate) fn ext4(&self, name: &str) -> Option<Ext4> {
        self.ext4.get(name).copied()
    }

    /// Bytes of memory that were swapped to a partition or disk; `None` if it is no swap space.
    pub(crate) fn swapped(&self, name: &str) -> Option<u64> {
        self.swaps.get(name).copied()
    }
}

fn file_systems(root: &Root, kernel: Option<(u32, u32)>) -> BTreeMap<String, Ext4> {
    let knows_journals = kernel.is_some_and(|version| version >= JOURNAL_TASK);
    let Some(all) = root.node("sys/fs/ext4") else { return BTreeMap::new() };
    // `features` lists what the driver can do.
    let names = all.folders().into_iter().filter(|name| name != "features");
    let read = names.filter_map(|name| {
        let node = all.child(&name)?;
        let errors = node.number("errors_count")?;
        // `journal_task` is the process of the journal, and absent without one;
        // `lifetime_write_kbytes` shows that the folder is complete.
        let is_whole = node.text("lifetime_write_kbytes").is_some();
        let has_task = node.text("journal_task").is_some();
        let journal = (has_task || is_whole && knows_journals).then_some(has_task);
        Some((name, Ext4 { errors, journal }))
    });
    read.collect()
}

/// Reads `/proc/swaps`: name, kind, size, used kibibytes, priority.
fn swap_spaces(text: &str) -> BTreeMap<String, u64> {
    let spaces = text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace();
        let path = unescaped(fields.next()?);
        let used: u64 = fields.nth(2)?.parse().ok()?;
        let name = path.strip_prefix("/dev/")?.to_owned();
        Some((name, used.saturating_mul(1024)))
    });
    spaces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_spaces_are_named_by_their_devices() {
        let text = "Filename\tType\tSize\tUsed\tPriority\n\
                    /dev/sda3 partition 8388604 500 -2\n/swapfile file 2097148 1000 -3\n/dev/x\n";
        let spaces = swap_spaces(text);
        assert_eq!(spaces.into_iter().collect::<Vec<_>>(), [("sda3".to_owned(), 512_000)]);
        assert!(swap_spaces("").is_empty());
    }
}
