//! The drive as a block device of the kernel, through its ublk driver.
//!
//! The driver (`Documentation/block/ublk.rst` in the kernel's sources) gives each request a tag and
//! describes it in memory that it shares with us. Commands on an `io_uring` hand tags back and
//! forth, and data is read from and written to `/dev/ublkcN`. For why this is not done by a library
//! see docs/internals/ublk.md.

mod request;
#[expect(unsafe_code, reason = "commands on a ring, and memory shared with the driver")]
mod ring;
mod session;
mod unavailable;
mod wire;

pub(crate) use session::Disk;
pub(crate) use unavailable::refused;

const CONTROL: &str = "/dev/ublk-control";
