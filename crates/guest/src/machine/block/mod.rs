//! A virtio block device in front of a [`Disk`] (Virtual I/O Device 1.2, section 5.2.6).

use std::collections::{BTreeMap, VecDeque};
use std::io;

use drivelab_core::disk::{Answer, Command, Data, Disk};
use drivelab_core::{Bytes, Lba, Op, Sectors, Time};
use thiserror::Error;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros as _, Immutable, IntoBytes, KnownLayout};

use super::chain::{self, Chain};
use super::queue::{Queue, QueueError};
use super::trace_entry::TraceEntry;
use crate::memory::{Memory, Outside};

/// The reason to end a guest: it broke the protocol, or its drive failed.
#[derive(Debug, Error)]
pub enum BlockError {
    /// The queue is broken.
    #[error("virtio: {0}")]
    Queue(#[from] QueueError),
    /// A request without a header, or without room for its status.
    #[error("virtio: a request of {readable} readable and {writable} writable bytes")]
    Malformed {
        /// Bytes for the device.
        readable: u64,
        /// Bytes of the device.
        writable: u64,
    },
    /// The guest used a descriptor again before its request was answered.
    #[error("virtio: descriptor {0} is still in use")]
    InUse(u16),
    /// A queue is used that was not set up.
    #[error("the guest used its drive before it had set it up")]
    Early,
    /// The store of the drive's bytes failed.
    #[error("the drive's data cannot be kept")]
    Disk(#[from] io::Error),
}

impl From<Outside> for BlockError {
    fn from(outside: Outside) -> Self {
        Self::Queue(outside.into())
    }
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Header {
    kind: U32,
    reserved: U32,
    sector: U64,
}

/// The range of a discard or write zeroes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Range {
    sector: U64,
    sectors: U32,
    flags: U32,
}

const HEADER_BYTES: u64 = 16;
const IN: u32 = 0;
const OUT: u32 = 1;
const FLUSH: u32 = 4;
const GET_ID: u32 = 8;
const DISCARD: u32 = 11;
const WRITE_ZEROES: u32 = 13;

const OK: u8 = 0;
const IO_ERROR: u8 = 1;
const UNSUPPORTED: u8 = 2;

const SECTOR_BYTES: u64 = 512;
/// Largest accepted transfer, far above what any driver requests; a larger one fails.
const REQUEST_MAX: Bytes = Bytes::mib(64);
/// `VIRTIO_BLK_ID_BYTES`.
const SERIAL: [u8; 20] = *b"drivelab\0\0\0\0\0\0\0\0\0\0\0\0";

#[derive(Debug)]
struct Pending {
    chain: Chain,
    done: TraceEntry,
}

impl Pending {
    /// The bytes that the guest expects, without the status.
    fn wanted_bytes(&self) -> u64 {
        let writable = chain::length(&self.chain.writable);
        debug_assert!(writable > 0, "a request without space for its status is malformed");
        writable - 1
    }

    /// Sets the status of a request that does not reach the disk.
    fn refused(&mut self, status: u8) -> Option<Command> {
        self.done.status = status;
        None
    }
}

/// The device: it takes chains from a queue, and returns them when the disk has answered.
#[derive(Debug)]
pub struct Block<D> {
    disk: D,
    write_cache: bool,
    pending: BTreeMap<u16, Pending>,
    /// Requests that do not reach the disk, with the times of their answers.
    ready: VecDeque<(Time, u16)>,
    answers: Vec<Answer>,
}

impl<D: Disk> Block<D> {
    /// A device in front of `disk`.
    pub fn new(disk: D, write_cache: bool) -> Self {
        let (pending, ready, answers) = (BTreeMap::new(), VecDeque::new(), Vec::new());
        Self { disk, write_cache, pending, ready, answers }
    }

    /// The disk behind it.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// The disk, once no guest uses the device.
    pub fn into_disk(self) -> D {
        self.disk
    }

    /// The disk, while it has no request.
    pub(super) fn idle_disk(&mut self) -> Option<&mut D> {
        self.pending.is_empty().then_some(&mut self.disk)
    }

    /// Switches the write cache: without it a write is answered when it is durable.
    pub fn set_write_cache(&mut self, on: bool) {
        self.write_cache = on;
    }

    /// Returns the time of the next event of the device.
    pub fn next_event(&self) -> Option<Time> {
        let ready = self.ready.front().map(|(at, _)| *at);
        self.disk.next_event().into_iter().chain(ready).min()
    }

    /// Takes all requests that the guest has made available.
    pub fn kick(
        &mut self,
        now: Time,
        queue: &mut Queue,
        memory: &impl Memory,
    ) -> Result<(), BlockError> {
        while let Some(chain) = queue.pop(memory)? {
            self.submit(now, memory, chain)?;
        }
        Ok(())
    }

    fn submit(&mut self, now: Time, memory: &impl Memory, chain: Chain) -> Result<(), BlockError> {
        let (readable, writable) = (chain::length(&chain.readable), chain::length(&chain.writable));
        if readable < HEADER_BYTES || writable == 0 {
            return Err(BlockError::Malformed { readable, writable });
        }
        let head = chain.head;
        // The head names the request in the used ring, so two in flight would be one answer.
        if self.pending.contains_key(&head) {
            return Err(BlockError::InUse(head));
        }
        let mut header = Header::new_zeroed();
        // The header may be split over descriptors in any way (section 2.7.4).
        chain::gather(memory, &chain.readable, 0, header.as_mut_bytes())?;
        let (kind, lba) = (header.kind.get(), Lba::new(header.sector.get()));
        let done = TraceEntry {
            disk: 0,
            submitted: now,
            at: now,
            kind,
            lba,
            sectors: Sectors::ZERO,
            status: OK,
        };
        let mut pending = Pending { chain, done };
        match self.command(memory, &mut pending)? {
            Some(command) => self.disk.submit(now, command)?,
            None => self.ready.push_back((now, head)),
        }
        self.pending.insert(head, pending);
        Ok(())
    }

    /// Returns the command for the disk; `None` if the answer is known already.
    fn command(
        &self,
        memory: &impl Memory,
        pending: &mut Pending,
    ) -> Result<Option<Command>, BlockError> {
        debug_assert!(chain::length(&pending.chain.readable) >= HEADER_BYTES, "checked before");
        let out_bytes = chain::length(&pending.chain.readable) - HEADER_BYTES;
        let in_bytes = pending.wanted_bytes();
        let (op, lba, bytes) = match pending.done.kind {
            IN => (Op::Read, pending.done.lba, in_bytes),
            OUT => (Op::Write, pending.done.lba, out_bytes),
            FLUSH => (Op::Flush, Lba::ZERO, 0),
            DISCARD | WRITE_ZEROES if out_bytes == size_of::<Range>() as u64 => {
                let mut range = Range::new_zeroed();
                chain::gather(memory, &pending.chain.readable, HEADER_BYTES, range.as_mut_bytes())?;
                let op = if pending.done.kind == DISCARD { Op::Trim } else { Op::Write };
                let bytes = u64::from(range.sectors.get()) * SECTOR_BYTES;
                (op, Lba::new(range.sector.get()), bytes)
            }
            DISCARD | WRITE_ZEROES => return Ok(pending.refused(IO_ERROR)),
            GET_ID => return Ok(None),
            _ => return Ok(pending.refused(UNSUPPORTED)),
        };
        let sectors = Sectors::new(bytes / SECTOR_BYTES);
        (pending.done.lba, pending.done.sectors) = (lba, sectors);
        let moves_data = matches!(pending.done.kind, IN | OUT);
        let is_too_large = moves_data && bytes > REQUEST_MAX.get();
        let end = lba.get().checked_add(sectors.get());
        let is_inside = end.is_some_and(|end| end <= self.disk.capacity().get());
        // The standard leaves requests for no sectors undefined; Linux sends none.
        let is_empty = sectors == Sectors::ZERO && op != Op::Flush;
        if !bytes.is_multiple_of(SECTOR_BYTES) || !is_inside || is_too_large || is_empty {
            return Ok(pending.refused(IO_ERROR));
        }
        let data = match pending.done.kind {
            OUT => {
                let length = usize::try_from(bytes).expect("at most the largest request");
                let mut data = vec![0; length].into_boxed_slice();
                chain::gather(memory, &pending.chain.readable, HEADER_BYTES, &mut data)?;
                Some(Data::Bytes(data))
            }
            WRITE_ZEROES => Some(Data::Zeros(sectors)),
            _ => None,
        };
        // virtio has no FUA: without the cache every write is durable when it is answered.
        let fua = op == Op::Write && !self.write_cache;
        let token = u64::from(pending.chain.head);
        Ok(Some(Command { token, op, lba, sectors, fua, submitter: 0, data }))
    }

    /// Answers the requests that are due at `now`; returns whether the guest must be interrupted.
    pub fn advance(
        &mut self,
        now: Time,
        queue: &mut Queue,
        memory: &mut impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> Result<bool, BlockError> {
        let before = done.len();
        while self.ready.front().is_some_and(|(at, _)| *at <= now) {
            let (_, head) = self.ready.pop_front().expect("the loop checked it");
            done.push(self.finish(now, head, queue, memory)?);
        }
        let mut answers = std::mem::take(&mut self.answers);
        self.disk.advance(now, &mut answers)?;
        for answer in answers.drain(..) {
            let head = u16::try_from(answer.token).expect("a token is a head");
            let pending = self.pending.get_mut(&head).expect("the disk answers once");
            match answer.result {
                Err(_) => pending.done.status = IO_ERROR,
                Ok(()) if answer.op == Op::Read => {
                    let length = usize::try_from(pending.wanted_bytes()).expect("it was checked");
                    let mut data = vec![0; length];
                    self.disk.take_read(&answer, &mut data)?;
                    chain::scatter(memory, &pending.chain.writable, 0, &data)?;
                }
                Ok(()) => {}
            }
            done.push(self.finish(now, head, queue, memory)?);
        }
        self.answers = answers;
        Ok(done.len() > before && queue.wants_interrupt(memory)?)
    }

    fn finish(
        &mut self,
        now: Time,
        head: u16,
        queue: &mut Queue,
        memory: &mut impl Memory,
    ) -> Result<TraceEntry, BlockError> {
        let pending = self.pending.remove(&head).expect("it was submitted");
        let (wanted, status) = (pending.wanted_bytes(), pending.done.status);
        let mut written = if pending.done.kind == IN && status == OK { wanted } else { 0 };
        if pending.done.kind == GET_ID {
            let length = SERIAL.len().min(usize::try_from(wanted).unwrap_or(usize::MAX));
            chain::scatter(memory, &pending.chain.writable, 0, &SERIAL[..length])?;
            written = length as u64;
        }
        // The status is the last byte of the last buffer.
        chain::scatter(memory, &pending.chain.writable, wanted, &[status])?;
        // The status counts as written, too.
        let written = u32::try_from(written + 1).expect("at most the largest request");
        queue.push(memory, head, written)?;
        Ok(TraceEntry { at: now, ..pending.done })
    }
}

#[cfg(test)]
mod tests;
