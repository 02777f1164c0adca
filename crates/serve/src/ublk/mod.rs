//! The drive as a block device of the kernel's, through its ublk driver.
//!
//! The driver (`Documentation/block/ublk.rst` in the kernel's sources) gives each request a tag and
//! describes it in memory that it shares with us; commands on an `io_uring` hand tags back and
//! forth, and data is read from and written to `/dev/ublkcN`. Why by hand and not by a library, is
//! in docs/internals/ublk.md.

mod disk;
#[expect(unsafe_code, reason = "commands on a ring, and memory shared with the driver")]
mod ring;
mod wire;

use std::io;

use drivelab_core::Sectors;
use thiserror::Error;

pub(crate) use disk::Disk;

/// What the kernel is told of the drive, besides its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// What it writes as a whole: a power of two.
    pub physical_sector: Sectors,
    /// Whether it is a spinning disk.
    pub rotational: bool,
    /// Whether what it acknowledges can be lost until it is flushed.
    pub volatile_cache: bool,
}

/// Why the drive does not become a block device.
#[derive(Debug, Error)]
pub enum Unavailable {
    /// The module is not loaded, or the kernel was built without it.
    #[error("the ublk driver is not loaded: {CONTROL} does not exist")]
    NoDriver,
    /// The driver lets only root in.
    #[error("only root may create a block device: no permission for {CONTROL}")]
    NotRoot,
    /// It cannot copy data as we do.
    #[error("the ublk driver is older than Linux 6.5, the minimum")]
    TooOld,
    /// The ring that the driver is talked to by.
    #[error("the ublk driver needs io_uring, which this host does not provide")]
    NoRing(#[source] io::Error),
    /// The driver answers a command with an error.
    #[error("the kernel's ublk driver did not {what}")]
    Refused {
        /// What it was to do.
        what: &'static str,
        /// What it says.
        source: io::Error,
    },
    /// The server could not go on.
    #[error("cannot serve the drive")]
    Serving(#[from] io::Error),
}

/// Where devices are made.
const CONTROL: &str = "/dev/ublk-control";

impl Unavailable {
    /// What to type next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoDriver => {
                "load it with `modprobe ublk_drv` (Linux 6.5 or later with CONFIG_BLK_DEV_UBLK), \
                 or use --nbd, or --fuse with a loop device"
            }
            Self::NotRoot => "run it with sudo; without root, use --nbd or --fuse",
            Self::TooOld => "use --nbd, or --fuse with a loop device",
            Self::NoRing(_) => {
                "check `sysctl kernel.io_uring_disabled` and the container's seccomp profile; or \
                 use --nbd or --fuse"
            }
            Self::Refused { .. } | Self::Serving(_) => {
                "see `dmesg`; or use --nbd, or --fuse with a loop device"
            }
        }
    }
}
