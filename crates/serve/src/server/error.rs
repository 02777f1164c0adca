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
    #[error("out of file descriptors for clients")]
    Descriptors(#[source] io::Error),
    /// Something else of the system's.
    #[error("cannot start serving")]
    System(#[from] io::Error),
}

impl ServeError {
    /// What to type next, where we know.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("another server listens there: end it, or name another endpoint")
            }
            Self::Listen { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                Some("remove it if it is not needed, or name another path")
            }
            Self::Listen { .. } => Some("the folder of the socket must exist and be writable"),
            Self::Mount { source, .. } if source.kind() == io::ErrorKind::ResourceBusy => {
                Some("end the server that uses it, or name another path")
            }
            Self::Mount { source, .. } if source.kind() == io::ErrorKind::NotConnected => {
                Some("`umount` it, or without root `fusermount3 -u` it, and try again")
            }
            Self::Mount { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                Some("name a regular file, or a new path")
            }
            Self::Mount { .. } => Some(
                "install fuse3 (fusermount3) or run as root, with /dev/fuse present; or use --nbd, \
                 which needs neither",
            ),
            Self::Descriptors(_) => Some("raise the limit: ulimit -n 1024"),
            Self::System(_) => None,
        }
    }
}
