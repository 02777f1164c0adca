//! Why a target cannot be measured.

use std::io;
use std::path::{Path, PathBuf};

use drivelab_core::units::Bytes;

use super::unmade::LayoutError;
use crate::guard::GuardError;

/// Why a path cannot be measured.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} does not exist", .path.display())]
    Missing { path: PathBuf },
    #[error("{} does not exist, and no file is laid out among the devices", .path.display())]
    AmongDevices { path: PathBuf },
    #[error("{} is a {kind}, which has no blocks to read or write", .path.display())]
    NoBlocks { path: PathBuf, kind: &'static str },
    #[error("{} is empty: there is nothing to read", .path.display())]
    Empty { path: PathBuf },
    #[error("{} does not exist, and `--size` asks for a file of 0 bytes", .path.display())]
    NothingToLayOut { path: PathBuf },
    #[error("{} holds {held}, and `--size` asks for {size}", .path.display())]
    TooSmall { path: PathBuf, size: Bytes, held: Bytes },
    #[error("{} is on {file_system}, in memory: O_DIRECT has no disk to reach",
        .path.display())]
    InMemory { path: PathBuf, file_system: &'static str },
    #[error("{file_system} does not support O_DIRECT on {}",
        .path.display())]
    NoDirect { path: PathBuf, file_system: &'static str },
    #[error("`{option}` is {value}, but direct I/O on {} goes in multiples of {align} bytes",
        .path.display())]
    Unaligned { path: PathBuf, option: &'static str, value: Bytes, align: Bytes },
    #[error("completions of {} cannot be polled: {why}", .path.display())]
    NoPolling { path: PathBuf, why: &'static str, instead: &'static str },
    #[error("{} cannot be trimmed: the device has no discard (TRIM, UNMAP, Deallocate)",
        .path.display())]
    NoDiscard { path: PathBuf },
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error("cannot {operation} {}", .path.display())]
    System {
        operation: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl OpenError {
    pub(super) fn system(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::System { operation, path: path.into(), source }
    }

    /// Returns the next command to type, if there is one.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::AmongDevices { .. } => {
                "check the name: `drivelab inspect` lists the drives; or name a file on a disk"
                    .into()
            }
            Self::Missing { path } if path.starts_with("/dev") => {
                "check the name: `drivelab inspect` lists the drives".into()
            }
            Self::NothingToLayOut { .. } => "give the size of the file: `--size 1G`".into(),
            Self::Missing { .. } => {
                "check the name, or add `--size 1G` to lay out a file of that size".into()
            }
            Self::NoBlocks { .. } => "give a regular file or a block device".into(),
            Self::Empty { path } => format!(
                "remove it and add `--size 1G`: `rm {0} && drivelab run {0} --size 1G`",
                path.display()
            ),
            Self::TooSmall { held, .. } => format!("give at most `--size {held}`"),
            Self::InMemory { .. } => {
                "give a file on a disk, or add `--direct=0` to measure memory".into()
            }
            Self::NoDirect { .. } => {
                "add `--direct=0` to use the page cache; the result will say so".into()
            }
            Self::Unaligned { option, align, .. } => {
                format!("make `--{option}` a multiple of {align}, or add `--direct=0`")
            }
            Self::NoPolling { instead, .. } => (*instead).into(),
            Self::NoDiscard { .. } => {
                "`queue/discard_max_bytes` of the device in /sys/block must be above 0".into()
            }
            Self::Guard(error) => error.hint(),
            Self::Layout(error) => return error.hint(),
            Self::System { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "your user may not do this: change the permissions or run as root".into()
            }
            Self::System { .. } => return None,
        })
    }
}
