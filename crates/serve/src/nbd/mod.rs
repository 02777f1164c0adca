//! The NBD protocol as a state machine: bytes in, requests out, replies in, bytes out.
//!
//! Fixed newstyle with structured replies, after the NBD project's protocol description
//! (`doc/proto.md`); constants have the names used there. There are no sockets here: all of it is
//! fuzzed.

mod handshake;
mod input;
mod meta;
mod request;
mod session;
mod wire;

pub use handshake::Export;
pub use request::{Kind, Request};
pub use session::{Limits, Session, weight};

/// The largest transfer that is accepted, advertised as maximum block size.
pub const BYTES_MAX: u32 = 32 << 20;

/// The smallest transfer, and the alignment of every request.
pub const BLOCK_BYTES: u32 = 512;

/// The reason why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// The client disconnected in order.
    #[error("the client disconnected")]
    Disconnected,
    /// The client broke the protocol.
    #[error("the client broke the protocol: {0}")]
    Broken(&'static str),
}

/// Errors on the wire (`NBD_EIO` and so on).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WireError {
    /// The medium failed.
    Io = 5,
    /// The request is invalid.
    Invalid = 22,
    /// A write beyond the end.
    NoSpace = 28,
    /// The reply would be too long.
    Overflow = 75,
}
