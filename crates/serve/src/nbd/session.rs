//! One connection: handshake, requests, replies, and the limits on them.

use drivelab_core::disk::Extent;

use super::handshake::{Agreed, Export, Handshake, Step};
use super::input::Input;
use super::meta::CONTEXT_ID;
use super::request::{self, Kind, Request, Taken};
use super::wire::{put_chunk, put_simple};
use super::{BYTES_MAX, Ended, WireError};

mod chunk {
    pub(super) const NONE: u16 = 0;
    pub(super) const OFFSET_DATA: u16 = 1;
    pub(super) const BLOCK_STATUS: u16 = 5;
    pub(super) const ERROR: u16 = 0x8001;
    pub(super) const ERROR_OFFSET: u16 = 0x8002;
}

/// `NBD_STATE_HOLE | NBD_STATE_ZERO`.
const HOLE_AND_ZERO: u32 = 3;

/// Limits on what one connection may have in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests.
    pub requests: usize,
    /// Bytes of requests in progress and of replies that the client has not read.
    pub bytes: usize,
    /// Bytes that it may hold without a loan.
    pub reserved: usize,
}

impl Default for Limits {
    /// 256 requests are more than any known client sends; two of the largest transfers fit, and a
    /// third that waits to be read.
    fn default() -> Self {
        let most = BYTES_MAX as usize;
        Self { requests: 256, bytes: 2 * most, reserved: 4 * most }
    }
}

#[derive(Debug)]
enum Phase {
    Handshake(Handshake),
    Transmission(Agreed),
}

/// The server's side of one connection.
#[derive(Debug)]
pub struct Session {
    export: Export,
    phase: Phase,
    limits: Limits,
    input: Input,
    out: Vec<u8>,
    /// Bytes of `out` that the client has read.
    taken: usize,
    requests: usize,
    bytes: usize,
    /// Bytes lent to it beyond the reserved ones.
    lent: usize,
}

impl Session {
    /// A new connection; its first output is the server's greeting.
    pub fn new(export: Export, limits: Limits) -> Self {
        let mut out = Vec::new();
        let phase = Phase::Handshake(Handshake::new(export.clone(), &mut out));
        let input = Input::default();
        Self { export, phase, limits, input, out, taken: 0, requests: 0, bytes: 0, lent: 0 }
    }

    /// Returns whether the handshake is over.
    pub(crate) fn is_serving(&self) -> bool {
        matches!(self.phase, Phase::Transmission(_))
    }

    /// Returns the number of bytes that it accepts from the client now; 0 while too much is in
    /// progress.
    pub fn appetite(&self) -> usize {
        if !self.has_room() || self.shortage() > 0 {
            return 0;
        }
        let room = (self.limits.reserved + self.lent).saturating_sub(self.held());
        // Reading the header of a request needs no extra memory.
        let header = request::HEADER.saturating_sub(self.input.len());
        (BYTES_MAX as usize + 1024).saturating_sub(self.input.len()).min(room.max(header))
    }

    /// Bytes of its memory: received, in progress, and not yet read by the client.
    pub fn held(&self) -> usize {
        self.input.len() + self.bytes + self.output().len()
    }

    /// Memory missing to accept the next request; none of it is read before.
    pub fn shortage(&self) -> usize {
        if self.has_room() {
            self.claim().saturating_sub(self.limits.reserved + self.lent)
        } else {
            0
        }
    }

    /// Memory for its present contents and for the next request with its data.
    fn claim(&self) -> usize {
        let next = match self.phase {
            Phase::Transmission(agreed) => request::cost(self.input.peek(), &self.export, agreed),
            Phase::Handshake(_) => None,
        };
        let (message, weight) = next.unwrap_or((0, 0));
        self.bytes + self.output().len() + self.input.len().max(message) + weight
    }

    /// Lends it memory.
    pub fn lend(&mut self, bytes: usize) {
        self.lent += bytes;
    }

    /// The memory lent to it.
    pub fn lent(&self) -> usize {
        self.lent
    }

    /// Gives lent memory that is not needed now back, and returns its size.
    pub fn surplus(&mut self) -> usize {
        let needed = if self.has_room() { self.claim() } else { self.held() };
        let kept = self.lent.min(needed.saturating_sub(self.limits.reserved));
        let surplus = self.lent - kept;
        self.lent = kept;
        surplus
    }

    fn has_room(&self) -> bool {
        self.requests < self.limits.requests && self.bytes + self.output().len() < self.limits.bytes
    }

    /// Takes bytes from the client, at most its appetite.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.input.push(bytes);
    }

    /// The bytes to send.
    pub fn output(&self) -> &[u8] {
        &self.out[self.taken..]
    }

    /// Removes `count` bytes of the output, which the client has read.
    pub fn sent(&mut self, count: usize) {
        debug_assert!(count <= self.output().len(), "a socket accepts at most what it was given");
        self.taken += count;
        if self.taken == self.out.len() {
            self.out.clear();
            self.taken = 0;
            // A large reply must not occupy its memory for the life of the connection.
            self.out.shrink_to(1 << 20);
        } else if self.taken > self.out.len() / 2 {
            self.out.drain(..self.taken);
            self.taken = 0;
        }
    }

    /// The next request, if there is one and there is space for it.
    pub fn next_request(&mut self) -> Result<Option<Request>, Ended> {
        while self.has_room() {
            // A client may send requests right after its last option, in one packet.
            let agreed = match &mut self.phase {
                Phase::Transmission(agreed) => *agreed,
                Phase::Handshake(handshake) => {
                    match handshake.step(&mut self.input, &mut self.out)? {
                        Step::NeedsInput => return Ok(None),
                        Step::Again => {}
                        Step::Transmission(agreed) => self.phase = Phase::Transmission(agreed),
                    }
                    continue;
                }
            };
            if self.shortage() > 0 {
                return Ok(None);
            }
            match request::take(&mut self.input, &self.export, agreed)? {
                Taken::NeedsInput => return Ok(None),
                Taken::Refused { cookie, error } => self.put_error(cookie, error),
                Taken::Request(request) => {
                    self.requests += 1;
                    self.bytes += weight(&request);
                    return Ok(Some(request));
                }
            }
        }
        Ok(None)
    }

    /// Number of requests in progress.
    pub fn in_flight(&self) -> usize {
        self.requests
    }

    /// Bytes of data of the requests in progress.
    pub(crate) fn in_flight_bytes(&self) -> usize {
        self.bytes
    }

    /// Answers a request that needs no data.
    pub fn reply_done(&mut self, request: &Request) {
        self.settle(request);
        if self.is_structured() {
            put_chunk(&mut self.out, request.cookie, chunk::NONE, 0);
        } else {
            put_simple(&mut self.out, request.cookie, 0);
        }
    }

    /// Answers a request that failed; for a read with the first byte that failed, if known.
    pub fn reply_error(&mut self, request: &Request, error: WireError, first_bad: Option<u64>) {
        self.settle(request);
        let range = request.offset..request.offset + u64::from(request.length);
        match first_bad.filter(|byte| range.contains(byte)) {
            Some(byte) if self.is_structured() && request.kind == Kind::Read => {
                // Error, length of the (absent) message, and the offset: 4 + 2 + 8 bytes.
                put_chunk(&mut self.out, request.cookie, chunk::ERROR_OFFSET, 14);
                self.out.extend((error as u32).to_be_bytes());
                self.out.extend([0, 0]);
                self.out.extend(byte.to_be_bytes());
            }
            _ => self.put_error(request.cookie, error),
        }
    }

    /// Answers a read: returns the buffer for the data.
    pub fn reply_read(&mut self, request: &Request) -> &mut [u8] {
        self.settle(request);
        if self.is_structured() {
            put_chunk(&mut self.out, request.cookie, chunk::OFFSET_DATA, 8 + request.length);
            self.out.extend(request.offset.to_be_bytes());
        } else {
            put_simple(&mut self.out, request.cookie, 0);
        }
        // Filled by the caller in the buffer, which saves a copy of the data.
        let start = self.out.len();
        self.out.resize(start + request.length as usize, 0);
        &mut self.out[start..]
    }

    /// Answers a block status request.
    pub fn reply_extents(&mut self, request: &Request, extents: &[Extent]) {
        self.settle(request);
        let count = u32::try_from(extents.len()).expect("few extents are asked for");
        put_chunk(&mut self.out, request.cookie, chunk::BLOCK_STATUS, 4 + 8 * count);
        self.out.extend(CONTEXT_ID.to_be_bytes());
        for extent in extents {
            let bytes = extent.sectors.bytes().get();
            let length = u32::try_from(bytes).expect("within the length that was asked for");
            self.out.extend(length.to_be_bytes());
            self.out.extend((if extent.hole { HOLE_AND_ZERO } else { 0 }).to_be_bytes());
        }
    }

    /// Removes an answered request from the account.
    fn settle(&mut self, request: &Request) {
        debug_assert!(self.requests > 0, "a request is answered once");
        self.requests -= 1;
        debug_assert!(self.bytes >= weight(request), "its bytes were counted when it came");
        self.bytes -= weight(request);
    }

    fn is_structured(&self) -> bool {
        matches!(self.phase, Phase::Transmission(Agreed { structured: true, .. }))
    }

    fn put_error(&mut self, cookie: u64, error: WireError) {
        if self.is_structured() {
            // Error, and the length of the message, which is absent.
            put_chunk(&mut self.out, cookie, chunk::ERROR, 6);
            self.out.extend((error as u32).to_be_bytes());
            self.out.extend([0, 0]);
        } else {
            put_simple(&mut self.out, cookie, error as u32);
        }
    }
}

/// Bytes of data that a request occupies in memory.
pub fn weight(request: &Request) -> usize {
    match request.kind {
        Kind::Read | Kind::Write(_) => request.length as usize,
        Kind::WriteZeroes { hole: false } => (request.length as usize).min(request::ZERO_PIECE),
        Kind::WriteZeroes { hole: true } | Kind::Flush | Kind::Trim | Kind::BlockStatus { .. } => 0,
    }
}
