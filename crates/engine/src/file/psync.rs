//! `pread` and `pwrite`, or a variant of them: one request at a time.

use std::io::{ErrorKind, IoSlice, IoSliceMut};

use drivelab_core::IoEngine;
use drivelab_core::request::{Completion, IoError, Op, Request, ServedBy};
use drivelab_core::target::{Rejected, Target, TargetError};
use drivelab_core::units::{Bytes, Time};
use rustix::fs::FallocateFlags;
use rustix::io::ReadWriteFlags;

use super::buffers::Buffers;
use super::contents::Contents;
use super::{TargetSetup, Trim, check_moved, check_range, to_move};
use crate::sys::discard::discard;

/// A file that is read and written with one system call per request.
///
/// Submitting *is* the I/O: the request is done when it has been submitted, and the next wait
/// reports it. A second request is refused until then.
#[derive(Debug)]
pub struct Psync {
    job: TargetSetup,
    calls: Calls,
    buffers: Buffers,
    contents: Contents,
    done: Option<Completion>,
}

/// The system calls that do the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// `pread`, `pwrite`.
    Plain,
    /// `preadv`, `pwritev`.
    Vectored,
    /// `preadv2`, `pwritev2`.
    Flagged,
}

impl Calls {
    /// The calls of `engine`; plain ones for an engine that is not synchronous.
    pub fn of(engine: IoEngine) -> Self {
        match engine {
            IoEngine::Pvsync => Self::Vectored,
            IoEngine::Pvsync2 => Self::Flagged,
            _ => Self::Plain,
        }
    }
}

impl Psync {
    /// A target for `job`.
    pub fn new(job: TargetSetup) -> Self {
        Self::with(job, Calls::Plain)
    }

    /// A target for `job`, reached by these `calls`.
    pub fn with(job: TargetSetup, calls: Calls) -> Self {
        let job = TargetSetup { iodepth: 1, ..job };
        let (buffers, contents) = (Buffers::new(&job), Contents::new(&job));
        Self { buffers, contents, job, calls, done: None }
    }

    fn perform(&mut self, request: &Request) -> Result<(), IoError> {
        check_range(request, self.job.capacity)?;
        self.prepare(request);
        // The handle is cloned: the call below borrows all of this target.
        let lock = self.job.lock.clone();
        let _held = lock.as_ref().map(|lock| lock.hold(request.op));
        loop {
            match self.call(request) {
                Ok(moved) => return check_moved(to_move(request), moved as u64),
                // A signal may end the call before anything was moved (`man 7 signal`): repeat it.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(IoError::Os(error.raw_os_error().unwrap_or_default())),
            }
        }
    }

    /// Done once, however often the call is interrupted.
    fn prepare(&mut self, request: &Request) {
        match request.op {
            Op::Write => {
                let (begin, length) = (self.buffers.at(self.buffers.to_write(0)), length(request));
                let data = &mut self.buffers.memory()[begin..begin + length];
                self.contents.write(request, data);
            }
            Op::Flush => self.contents.flush(request),
            Op::Read | Op::Trim => {}
        }
    }

    fn call(&mut self, request: &Request) -> std::io::Result<usize> {
        let (file, offset) = (&self.job.file, request.lba.byte_offset().get());
        let moved = length(request);
        debug_assert!(moved as u64 <= self.job.largest.get(), "a buffer holds the largest request");
        match request.op {
            Op::Read => {
                let begin = self.buffers.at(0);
                let into = &mut self.buffers.memory()[begin..begin + moved];
                // Not the C library's calls, which first check for a cancellation of this thread.
                Ok(match self.calls {
                    Calls::Plain => rustix::io::pread(file, into, offset)?,
                    Calls::Vectored => {
                        rustix::io::preadv(file, &mut [IoSliceMut::new(into)], offset)?
                    }
                    Calls::Flagged => {
                        let (into, none) = (&mut [IoSliceMut::new(into)], ReadWriteFlags::empty());
                        rustix::io::preadv2(file, into, offset, none)?
                    }
                })
            }
            Op::Write => {
                let begin = self.buffers.at(self.buffers.to_write(0));
                let data = &self.buffers.memory()[begin..begin + moved];
                // Where the drive has FUA, Linux sends a direct RWF_DSYNC write with it
                // (fs/iomap/direct-io.c).
                if request.fua {
                    let data = [IoSlice::new(data)];
                    return Ok(rustix::io::pwritev2(file, &data, offset, ReadWriteFlags::DSYNC)?);
                }
                Ok(match self.calls {
                    Calls::Plain => rustix::io::pwrite(file, data, offset)?,
                    Calls::Vectored => rustix::io::pwritev(file, &[IoSlice::new(data)], offset)?,
                    Calls::Flagged => {
                        let (data, none) = (&[IoSlice::new(data)], ReadWriteFlags::empty());
                        rustix::io::pwritev2(file, data, offset, none)?
                    }
                })
            }
            Op::Flush if self.job.flush_data_only => file.sync_data().map(|()| 0),
            Op::Flush => file.sync_all().map(|()| 0),
            Op::Trim => trim(&self.job, request).map(|()| 0),
        }
    }
}

/// Trims a block, and waits until that is done.
pub(crate) fn trim(job: &TargetSetup, request: &Request) -> std::io::Result<()> {
    let (offset, bytes) = (request.lba.byte_offset().get(), request.sectors.bytes().get());
    if job.trim == Trim::Discard {
        return discard(&job.file, offset, bytes);
    }
    // PUNCH_HOLE is accepted only together with KEEP_SIZE (`man 2 fallocate`).
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(&job.file, punch, offset, bytes)?)
}

fn length(request: &Request) -> usize {
    usize::try_from(request.sectors.bytes().get()).expect("a block is at most 1 GiB")
}

impl Target for Psync {
    #[inline]
    fn now(&mut self) -> Time {
        self.job.clock.now()
    }

    fn capacity(&self) -> Bytes {
        self.job.capacity
    }

    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        if self.done.is_some() {
            return Err(Rejected::Full(request));
        }
        let result = self.perform(&request);
        let account = self.contents.done(request.id, result.is_ok());
        account.map_err(|source| {
            Rejected::Broken(TargetError { operation: "write the verify state", source })
        })?;
        let (id, at, served_by) = (request.id, self.job.clock.now(), ServedBy::Unknown);
        self.done = Some(Completion { id, at, result, served_by });
        Ok(())
    }

    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        match self.done.take() {
            Some(done) => completed.push(done),
            None => self.job.clock.sleep_until(until),
        }
        Ok(())
    }
}
