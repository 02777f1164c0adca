//! The drive as a block device of the kernel's, through its ublk driver.
//!
//! The driver (`Documentation/block/ublk.rst` in the kernel's sources) gives each request a tag and
//! describes it in memory that it shares with us; commands on an `io_uring` hand tags back and
//! forth, and data is read from and written to `/dev/ublkcN`. Why by hand and not by a library, is
//! in docs/internals/ublk.md.

mod request;
#[expect(unsafe_code, reason = "commands on a ring, and memory shared with the driver")]
mod ring;
mod session;
mod unavailable;
mod wire;

use drivelab_core::Sectors;

pub(crate) use session::Disk;
pub(crate) use unavailable::refused;

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

const CONTROL: &str = "/dev/ublk-control";
