//! Requests of the transmission phase.

use super::handshake::{Agreed, Export};
use super::input::{Input, Reader};
use super::{BLOCK_BYTES, Ended, MOST_BYTES, WireError};

const REQUEST_MAGIC: u32 = 0x2560_9513;
pub(super) const HEADER: usize = 28;

/// Zeros are written in pieces of this size at most.
pub(super) const ZERO_PIECE: usize = 4 << 20;

mod flag {
    pub(super) const FUA: u16 = 1;
    pub(super) const NO_HOLE: u16 = 2;
    pub(super) const DF: u16 = 4;
    pub(super) const REQ_ONE: u16 = 8;
}

/// What a request wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Data.
    Read,
    /// These bytes written.
    Write(Box<[u8]>),
    /// The range zeroed.
    WriteZeroes {
        /// A hole will do.
        hole: bool,
    },
    /// Everything completed so far durable.
    Flush,
    /// The range freed.
    Trim,
    /// Which parts of the range hold data; with `one` only the first stretch.
    BlockStatus {
        /// A single extent is enough.
        one: bool,
    },
}

/// A request that can be carried out: aligned and within the export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The client's name for it.
    pub cookie: u64,
    /// What to do.
    pub kind: Kind,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// How many bytes; 0 for a flush.
    pub length: u32,
    /// Not done before it is durable.
    pub fua: bool,
}

/// What was taken from the input.
#[derive(Debug)]
pub(super) enum Taken {
    NeedsInput,
    Request(Request),
    Refused { cookie: u64, error: WireError },
}

/// Takes one request, if it is there.
pub(super) fn take(input: &mut Input, export: &Export, agreed: Agreed) -> Result<Taken, Ended> {
    let Some(header) = Header::read(input.peek()) else { return Ok(Taken::NeedsInput) };
    let Header { magic, kind, length, .. } = header;
    if magic != REQUEST_MAGIC {
        return Err(Ended::Broken("a request has the wrong magic number"));
    }
    if kind == command::DISC {
        return Err(Ended::Disconnected);
    }
    let payload = if kind == command::WRITE { length } else { 0 };
    if payload > MOST_BYTES {
        return Err(Ended::Broken("a write is larger than the largest block"));
    }
    let payload = usize::try_from(payload).expect("at most 32 MiB");
    let Some(message) = input.take(HEADER + payload) else { return Ok(Taken::NeedsInput) };
    let refused = header.refusal(export, agreed);
    let cookie = header.cookie;
    if let Some(error) = refused {
        return Ok(Taken::Refused { cookie, error });
    }
    let one = header.flags & flag::REQ_ONE != 0;
    let kind = match kind {
        command::READ => Kind::Read,
        command::WRITE => Kind::Write(message[HEADER..].into()),
        command::FLUSH => Kind::Flush,
        command::TRIM => Kind::Trim,
        command::WRITE_ZEROES => Kind::WriteZeroes { hole: header.flags & flag::NO_HOLE == 0 },
        _ => Kind::BlockStatus { one },
    };
    let flush = kind == Kind::Flush;
    let (offset, length) = if flush { (0, 0) } else { (header.offset, length) };
    let fua = header.flags & flag::FUA != 0;
    Ok(Taken::Request(Request { cookie, kind, offset, length, fua }))
}

/// What the request at the front of the input needs: bytes of its message, and of memory beside it
/// once it is taken. `None` while its header is not there.
pub(super) fn cost(input: &[u8], export: &Export, agreed: Agreed) -> Option<(usize, usize)> {
    let header = Header::read(input)?;
    let length = usize::try_from(header.length.min(MOST_BYTES)).ok()?;
    let refused = header.magic != REQUEST_MAGIC || header.refusal(export, agreed).is_some();
    match header.kind {
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

#[derive(Debug, Clone, Copy)]
struct Header {
    magic: u32,
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: u64,
    length: u32,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        Some(Self {
            magic: reader.u32()?,
            flags: reader.u16()?,
            kind: reader.u16()?,
            cookie: reader.u64()?,
            offset: reader.u64()?,
            length: reader.u32()?,
        })
    }

    /// Why it cannot be carried out, if it cannot.
    fn refusal(&self, export: &Export, agreed: Agreed) -> Option<WireError> {
        let allowed = match self.kind {
            command::READ if agreed.structured => flag::DF | flag::FUA,
            command::READ | command::WRITE | command::TRIM | command::FLUSH => flag::FUA,
            command::WRITE_ZEROES => flag::FUA | flag::NO_HOLE,
            command::BLOCK_STATUS if agreed.block_status => flag::REQ_ONE | flag::FUA,
            _ => return Some(WireError::Invalid),
        };
        if self.flags & !allowed != 0 {
            return Some(WireError::Invalid);
        }
        if self.kind == command::FLUSH {
            return None;
        }
        let block = u64::from(BLOCK_BYTES);
        let aligned = self.offset.is_multiple_of(block) && self.length.is_multiple_of(BLOCK_BYTES);
        if self.length == 0 || !aligned {
            return Some(WireError::Invalid);
        }
        if self.kind == command::READ && self.length > MOST_BYTES {
            return Some(WireError::Overflow);
        }
        let writes = matches!(self.kind, command::WRITE | command::WRITE_ZEROES);
        match self.offset.checked_add(u64::from(self.length)) {
            Some(end) if end <= export.bytes => None,
            _ if writes => Some(WireError::NoSpace),
            _ => Some(WireError::Invalid),
        }
    }
}
