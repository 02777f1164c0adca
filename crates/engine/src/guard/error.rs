//! Why a target is refused for writing.

use std::fmt;
use std::path::{Path, PathBuf};

use drivelab_core::usage::Process;

use super::signature::Membership;

/// Why a target is refused for writing. It was not opened for writing.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    #[error("{} is a block device{}: writing it would destroy what it holds",
        .path.display(), .what.as_ref().map(|what| format!(" ({what})")).unwrap_or_default())]
    BlockDevice {
        path: PathBuf,
        /// Its kind, if the name does not show it: `/dev/sda1, a partition of /dev/sda`.
        what: Option<String>,
        named: Vec<PathBuf>,
    },
    #[error("refusing to write {}: {device} is read-only", .path.display())]
    ReadOnly {
        path: PathBuf,
        /// The target, or the disk that it is on.
        device: String,
    },
    #[error("refusing to write {}: {device} {by}", .path.display())]
    InUse {
        path: PathBuf,
        /// The part of it that is in use: the target itself, a partition, the disk that it is on.
        device: String,
        by: Use,
    },
    #[error("refusing to write {}: cannot find out whether it is in use", .path.display())]
    Unknown {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("refusing to write {}: {} has it locked", .path.display(),
        .by.as_ref().map_or_else(|| "another process".into(), ToString::to_string))]
    Locked { path: PathBuf, by: Option<Process> },
    #[error("{} contains data that drivelab did not write, which would be overwritten",
        .path.display())]
    SomebodysData { path: PathBuf },
}

/// A user of a device or a file.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    Mounted {
        at: String,
        /// A process in whose mount namespace it is, if that is not ours.
        seen_by: Option<Process>,
    },
    Swap,
    /// Another device is built on it.
    Holder {
        /// Its name and kind: `dm-0 (LVM volume vg-root)`.
        name: String,
    },
    /// A loop device uses it.
    Loop {
        name: String,
    },
    /// It carries the signature of a volume that spans devices.
    Member {
        kind: Membership,
    },
    /// A process has it open, but not exclusively.
    Open {
        by: Process,
    },
    /// A process or the kernel has it open exclusively.
    Exclusive {
        /// A process that has it open, if one is visible.
        by: Option<Process>,
    },
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { at, seen_by: None } => write!(f, "is mounted at {at}"),
            Self::Mounted { at, seen_by: Some(process) } => {
                write!(f, "is mounted at {at} in the mount namespace of {process}")
            }
            Self::Swap => write!(f, "is in use as swap"),
            Self::Holder { name } => write!(f, "is held by {name}"),
            Self::Loop { name } => write!(f, "is in use by {name}"),
            Self::Member { kind } => write!(f, "is a member of {kind}"),
            Self::Open { by } => write!(f, "is open in {by}"),
            Self::Exclusive { by: Some(by) } => write!(f, "is open exclusively; {by} has it open"),
            Self::Exclusive { by: None } => {
                write!(f, "is open exclusively, by the kernel or by a process that is not visible")
            }
        }
    }
}

impl GuardError {
    /// Returns the next command to type.
    pub fn hint(&self) -> String {
        match self {
            Self::BlockDevice { path, named, .. } => block_device(path, named),
            Self::ReadOnly { device, .. } => {
                format!(
                    "make it writable with `blockdev --setrw {device}`; set a loop device up again \
                     without `-r`"
                )
            }
            Self::InUse { device, by, .. } => remedy(device, by),
            Self::Unknown { .. } => "run it as root, with /proc and /sys mounted".into(),
            Self::Locked { .. } => {
                "wait until that run ends, or name another file: a verified run, and `durability`, \
                 are the only writers of theirs"
                    .into()
            }
            Self::SomebodysData { .. } => {
                "name a new file with `--size`, or add `--overwrite` to destroy its contents".into()
            }
        }
    }
}

fn block_device(path: &Path, named: &[PathBuf]) -> String {
    let others: Vec<String> = named.iter().map(|name| format!("`{}`", name.display())).collect();
    let others = match others.len() {
        0 => String::new(),
        _ => format!("`--allow-destructive` names {}; ", others.join(", ")),
    };
    format!(
        "{others}to destroy everything on it, repeat its name: `--allow-destructive {}`; otherwise \
         give a file, or a reading workload (`--rw randread`)",
        path.display()
    )
}

fn remedy(device: &str, by: &Use) -> String {
    match by {
        Use::Mounted { at, .. } => format!("if it is the right device, `umount {at}` first"),
        Use::Swap => format!("if it is the right device, `swapoff {device}` first"),
        Use::Loop { name } => format!("if nothing needs it, `losetup -d /dev/{name}` first"),
        Use::Holder { .. } => "if nothing needs it, dismantle what is built on it first".into(),
        Use::Member { kind } => format!(
            "if the volume is no longer needed, erase its signature: `wipefs --all --types {} \
             {device}`",
            kind.wipefs
        ),
        Use::Open { .. } | Use::Exclusive { by: Some(_) } => {
            "end the process that has it open, and try again".into()
        }
        Use::Exclusive { by: None } => {
            format!(
                "`lsblk {device}` shows what is built on it; it may back a file system mounted in \
                 another namespace, or hold an external journal{}",
                if super::sees_all_processes() {
                    ""
                } else {
                    "; processes of other users are visible to root only"
                }
            )
        }
    }
}
