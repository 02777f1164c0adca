//! The NBD protocol as a state machine: bytes in, requests out, replies in, bytes out.
//!
//! Fixed newstyle with structured replies, after the protocol description that the NBD project
//! keeps (`doc/proto.md`); constants carry its names. No sockets here: the whole of it is fuzzed.

mod handshake;
mod input;
mod meta;
mod request;
mod session;
mod wire;

pub use handshake::Export;
pub use request::{Kind, Request};
pub use session::{Limits, Session, weight};

/// The largest transfer we take, advertised as maximum block size.
pub const MOST_BYTES: u32 = 32 << 20;

/// The least transfer, and what every request is aligned to.
pub const BLOCK_BYTES: u32 = 512;

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// The client said good-bye.
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
    /// The request makes no sense.
    Invalid = 22,
    /// A write beyond the end.
    NoSpace = 28,
    /// The reply would be too long.
    Overflow = 75,
}
