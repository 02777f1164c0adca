//! Why a target cannot be measured.

use std::io;
use std::path::PathBuf;

use drivelab_core::units::Bytes;

use super::layout::LayoutError;
use crate::guard::GuardError;

/// Why a path cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing, and no size to make it with.
    #[error("{} does not exist", .path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// Something that holds no blocks.
    #[error("{} is a {kind}, which has no blocks to read or write", .path.display())]
    NoBlocks {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// Nothing to read.
    #[error("{} is empty: there is nothing to read", .path.display())]
    Empty {
        /// The path.
        path: PathBuf,
    },
    /// A device that has less room than was asked for.
    #[error("{} holds {held}, and `--size` asks for {size}", .path.display())]
    TooSmall {
        /// The device.
        path: PathBuf,
        /// What was asked for.
        size: Bytes,
        /// What it holds.
        held: Bytes,
    },
    /// The file system keeps its files in memory.
    #[error("{} is on {file_system}, in memory: O_DIRECT has no disk to reach",
        .path.display())]
    InMemory {
        /// The path.
        path: PathBuf,
        /// Its file system.
        file_system: &'static str,
    },
    /// The file system does not take `O_DIRECT`.
    #[error("{file_system} does not support O_DIRECT on {}",
        .path.display())]
    NoDirect {
        /// The path.
        path: PathBuf,
        /// Its file system.
        file_system: &'static str,
    },
    /// Direct I/O must be aligned, and this is not.
    #[error("`{option}` is {value}, but direct I/O on {} goes in multiples of {align} bytes",
        .path.display())]
    Unaligned {
        /// The path.
        path: PathBuf,
        /// The option.
        option: &'static str,
        /// Its value.
        value: Bytes,
        /// What it must be a multiple of.
        align: Bytes,
    },
    /// Completions cannot be looked for, as `hipri` asks.
    #[error("completions of {} cannot be polled: {why}", .path.display())]
    NoPolling {
        /// The path.
        path: PathBuf,
        /// Why.
        why: String,
        /// What to do instead.
        instead: String,
    },
    /// A trim of a block device is a discard, and this one has none.
    #[error("{} cannot be trimmed: {why}", .path.display())]
    NoDiscard {
        /// The path.
        path: PathBuf,
        /// Why.
        why: String,
        /// What to do instead.
        instead: String,
    },
    /// Data would be lost.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The file could not be laid out.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The system refused.
    #[error("cannot {operation} {}", .path.display())]
    System {
        /// What was being done.
        operation: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl OpenError {
    /// What to type next, where we know.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
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
            Self::NoPolling { instead, .. } | Self::NoDiscard { instead, .. } => instead.clone(),
            Self::Guard(error) => error.hint(),
            Self::Layout(error) => return error.hint(),
            Self::System { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "your user may not do this: change the permissions or run as root".into()
            }
            Self::System { .. } => return None,
        })
    }
}
