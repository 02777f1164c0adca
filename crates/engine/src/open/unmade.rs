//! Why a file could not be laid out.

use std::io;
use std::path::PathBuf;

use drivelab_core::units::Bytes;

/// Why a file could not be laid out. No part of it remains.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("no space for a file of {size} at {} ({written} were written)", .path.display())]
    Full {
        path: PathBuf,
        size: Bytes,
        written: Bytes,
        #[source]
        source: io::Error,
    },
    #[error("laying out {} was interrupted; the unfinished file was removed", .path.display())]
    Stopped { path: PathBuf },
    #[error("{} contains data that drivelab did not write and would be overwritten by the layout",
        .path.display())]
    SomebodysData { path: PathBuf },
    #[error("cannot write {}", .path.display())]
    System {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl LayoutError {
    /// Returns the next command to type, if known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Full { .. } => Some("free some space, or lower `--size`".into()),
            Self::SomebodysData { .. } => Some("move it away, or name another target".into()),
            Self::Stopped { .. } | Self::System { .. } => None,
        }
    }
}
