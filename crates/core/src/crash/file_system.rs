//! The file system of a crash test.

use crate::choice_as_text;
use crate::config::Choice;
use crate::units::Bytes;

/// A file system that guests know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystemKind {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// None: the workload uses the disk itself.
    None,
}

impl Choice for FileSystemKind {
    const WHAT: &'static str = "file system";
    const NAMES: &'static [(&'static str, Self)] =
        &[("ext4", Self::Ext4), ("xfs", Self::Xfs), ("btrfs", Self::Btrfs), ("none", Self::None)];
}

/// The times at which `fsck` checks a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fsck {
    /// Never.
    None,
    /// Before it is mounted, as a boot does: it may repair.
    Before,
    /// After the user's check: it must find nothing.
    After,
    /// Both.
    Both,
}

impl Choice for Fsck {
    const WHAT: &'static str = "time of fsck";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("before", Self::Before),
        ("after", Self::After),
        ("both", Self::Both),
    ];
}
choice_as_text!(FileSystemKind, Fsck);

/// A file system, with its `mkfs` and mount options and its checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// The kind.
    pub kind: FileSystemKind,
    /// Its size; the rest of the drive stays unused.
    pub size: Bytes,
    /// Options of the program that makes it.
    pub mkfs: String,
    /// Mount options.
    pub mount: String,
    /// The times at which `fsck` runs.
    pub fsck: Fsck,
}
