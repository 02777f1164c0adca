//! Why a drive is not served.

use std::io;
use std::path::PathBuf;

use super::Endpoint;

/// Why a server does not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A socket cannot be had.
    #[error("cannot listen at {endpoint}")]
    Listen {
        /// Where.
        endpoint: Endpoint,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file cannot be mounted.
    #[error("cannot mount the drive on {}", .path.display())]
    Mount {
        /// The mount point.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// No descriptor is left for a client.
    #[error("no file descriptor is left for a client")]
    Descriptors(#[source] io::Error),
    /// Something else of the system's.
    #[error("cannot begin to serve")]
    System(#[from] io::Error),
}

impl ServeError {
    /// What to type next, where we know.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("another server listens there: end it, or name another place")
            }
            Self::Listen { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                Some("remove it if nobody needs it, or name another path")
            }
            Self::Listen { .. } => Some("the folder of the socket must exist and be writable"),
            Self::Mount { source, .. } if source.kind() == io::ErrorKind::ResourceBusy => {
                Some("end the server that has it, or name another place")
            }
            Self::Mount { source, .. } if source.kind() == io::ErrorKind::NotConnected => {
                Some("`umount` it, or without root `fusermount3 -u` it, and try again")
            }
            Self::Mount { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                Some("name a regular file, or a path where there is none")
            }
            Self::Mount { .. } => Some(
                "it needs /dev/fuse, and without root fusermount3 (package fuse3); --nbd needs \
                 neither",
            ),
            Self::Descriptors(_) => Some("raise the limit: ulimit -n 1024"),
            Self::System(_) => None,
        }
    }
}
