//! Requests of the transmission phase.

use zerocopy::FromBytes as _;

use super::handshake::{Agreed, Export};
use super::input::Input;
use super::wire::{REQUEST, RequestHeader};
use super::{BLOCK_BYTES, BYTES_MAX, Ended, WireError};

pub(super) const HEADER: usize = size_of::<RequestHeader>();

/// Zeros are written in pieces of at most this size.
pub(super) const ZERO_PIECE: usize = 4 << 20;

mod flag {
    pub(super) const FUA: u16 = 1;
    pub(super) const NO_HOLE: u16 = 2;
    pub(super) const DF: u16 = 4;
    pub(super) const REQ_ONE: u16 = 8;
}

/// The operation of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Read data.
    Read,
    /// Write these bytes.
    Write(Box<[u8]>),
    /// Write zeros.
    WriteZeroes {
        /// True if the range may become a hole.
        hole: bool,
    },
    /// Make everything completed so far durable.
    Flush,
    /// Free the range.
    Trim,
    /// Report the data and holes of the range.
    BlockStatus {
        /// True if the client wants only the first extent.
        one: bool,
    },
}

/// A valid request: aligned and within the export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The client's id for it.
    pub cookie: u64,
    /// The operation.
    pub kind: Kind,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// Number of bytes; 0 for a flush.
    pub length: u32,
    /// Force unit access: completes only when it is durable.
    pub fua: bool,
}

#[derive(Debug)]
pub(super) enum Taken {
    NeedsInput,
    Request(Request),
    Refused { cookie: u64, error: WireError },
}

pub(super) fn take(input: &mut Input, export: &Export, agreed: Agreed) -> Result<Taken, Ended> {
    let Some(header) = read_header(input.peek()) else { return Ok(Taken::NeedsInput) };
    let (kind, length) = (header.kind.get(), header.length.get());
    let (flags, cookie) = (header.flags.get(), header.cookie.get());
    if header.magic != REQUEST {
        return Err(Ended::Broken("a request has the wrong magic number"));
    }
    if kind == command::DISC {
        return Err(Ended::Disconnected);
    }
    let payload = if kind == command::WRITE { length } else { 0 };
    if payload > BYTES_MAX {
        return Err(Ended::Broken("a write is larger than the largest block"));
    }
    let payload = usize::try_from(payload).expect("at most 32 MiB");
    let Some(message) = input.take(HEADER + payload) else { return Ok(Taken::NeedsInput) };
    // Refused only now: the payload of a bad write must be skipped to find the next request.
    if let Some(error) = header.refusal(export, agreed) {
        return Ok(Taken::Refused { cookie, error });
    }
    let kind = match kind {
        command::READ => Kind::Read,
        command::WRITE => Kind::Write(message[HEADER..].into()),
        command::FLUSH => Kind::Flush,
        command::TRIM => Kind::Trim,
        command::WRITE_ZEROES => Kind::WriteZeroes { hole: flags & flag::NO_HOLE == 0 },
        _ => Kind::BlockStatus { one: flags & flag::REQ_ONE != 0 },
    };
    // A flush covers the whole export, so clients may send any range with it.
    let flush = kind == Kind::Flush;
    let (offset, length) = if flush { (0, 0) } else { (header.offset.get(), length) };
    let fua = flags & flag::FUA != 0;
    Ok(Taken::Request(Request { cookie, kind, offset, length, fua }))
}

/// Returns the cost of the request at the front of the input: bytes of its message, and additional
/// memory once it is accepted. `None` while its header is incomplete.
pub(super) fn cost(input: &[u8], export: &Export, agreed: Agreed) -> Option<(usize, usize)> {
    let header = read_header(input)?;
    let length = usize::try_from(header.length.get().min(BYTES_MAX)).ok()?;
    let refused = header.magic != REQUEST || header.refusal(export, agreed).is_some();
    match header.kind.get() {
        // The payload of a refused write is received before the error is sent.
        _ if refused && header.kind != command::WRITE => Some((HEADER, 0)),
        command::WRITE => Some((HEADER + length, 0)),
        command::READ => Some((HEADER, length)),
        command::WRITE_ZEROES => Some((HEADER, length.min(ZERO_PIECE))),
        _ => Some((HEADER, 0)),
    }
}

mod command {
    pub(super) const READ: u16 = 0;
    pub(super) const WRITE: u16 = 1;
    pub(super) const DISC: u16 = 2;
    pub(super) const FLUSH: u16 = 3;
    pub(super) const TRIM: u16 = 4;
    pub(super) const WRITE_ZEROES: u16 = 6;
    pub(super) const BLOCK_STATUS: u16 = 7;
}

fn read_header(input: &[u8]) -> Option<RequestHeader> {
    Some(RequestHeader::read_from_prefix(input).ok()?.0)
}

impl RequestHeader {
    fn refusal(&self, export: &Export, agreed: Agreed) -> Option<WireError> {
        let allowed = match self.kind.get() {
            command::READ if agreed.structured => flag::DF | flag::FUA,
            command::READ | command::WRITE | command::TRIM | command::FLUSH => flag::FUA,
            command::WRITE_ZEROES => flag::FUA | flag::NO_HOLE,
            command::BLOCK_STATUS if agreed.block_status => flag::REQ_ONE | flag::FUA,
            _ => return Some(WireError::Invalid),
        };
        if self.flags.get() & !allowed != 0 {
            return Some(WireError::Invalid);
        }
        if self.kind.get() == command::FLUSH {
            return None;
        }
        let block = u64::from(BLOCK_BYTES);
        // The minimum block size was announced, so a client must not send anything smaller.
        let aligned = self.offset.get().is_multiple_of(block)
            && self.length.get().is_multiple_of(BLOCK_BYTES);
        if self.length.get() == 0 || !aligned {
            return Some(WireError::Invalid);
        }
        if self.kind.get() == command::READ && self.length.get() > BYTES_MAX {
            return Some(WireError::Overflow);
        }
        let writes = matches!(self.kind.get(), command::WRITE | command::WRITE_ZEROES);
        match self.offset.get().checked_add(u64::from(self.length.get())) {
            // Beyond the end: the protocol asks for ENOSPC on writes and EINVAL on everything else.
            Some(end) if end <= export.bytes => None,
            _ if writes => Some(WireError::NoSpace),
            _ => Some(WireError::Invalid),
        }
    }
}
