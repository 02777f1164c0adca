//! A file through Linux AIO (`io_submit`, `io_getevents`): fio's `libaio`, without the library.
//!
//! As with a ring, a buffer that the kernel may touch belongs to an entry of the in-flight table,
//! and [`Aio`] neither reads, writes nor frees it before the event of that entry was fetched. Only
//! direct I/O is asynchronous: with the page cache, `io_submit` itself waits for each request.

use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr;

use drivelab_core::request::{Completion, IoError, Op, Request, RequestId, ServedBy};
use drivelab_core::target::{Rejected, Target, TargetError};
use drivelab_core::units::{Bytes, Span, Time};

use crate::file::buffers::Buffers;
use crate::file::contents::Contents;
use crate::file::{TargetSetup, check_moved, check_range, psync, to_move};

/// The kernel's `struct iocb` (`include/uapi/linux/aio_abi.h`).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Control {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: u32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}

/// The kernel's `struct io_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    data: u64,
    control: u64,
    result: i64,
    result_2: i64,
}

/// `IOCB_CMD_*`.
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;

/// A file behind a context of Linux AIO. Belongs to the thread that created it.
#[derive(Debug)]
pub struct Aio {
    context: Context,
    job: TargetSetup,
    buffers: Buffers,
    contents: Contents,
    /// One for each slot: never moved while requests are in flight.
    controls: Vec<Control>,
    in_flight: Vec<Flight>,
    free: Vec<u32>,
    /// Slots that are to be submitted, and from where on.
    queued: Vec<u32>,
    pointers: Vec<*mut Control>,
    events: Vec<Event>,
    /// Completions that did not need an event.
    done: Vec<Completion>,
}

/// A slot, and the data kept about its request.
#[derive(Debug, Clone, Copy, Default)]
struct Flight {
    id: RequestId,
    to_move: Bytes,
    /// The kernel has it, and may access its buffers.
    out: bool,
}

/// Time that the kernel may take to answer outstanding requests when the file is closed.
const PATIENCE: Span = Span::from_ms(200);

impl Aio {
    /// A target for `job`.
    ///
    /// # Errors
    /// The system has no Linux AIO, or `fs.aio-max-nr` requests are reserved already (EAGAIN).
    pub fn new(job: TargetSetup) -> io::Result<Self> {
        let depth = job.iodepth as usize;
        Ok(Self {
            context: Context::new(job.iodepth)?,
            buffers: Buffers::new(&job),
            contents: Contents::new(&job),
            job,
            controls: vec![Control::default(); depth],
            in_flight: vec![Flight::default(); depth],
            free: (0..u32::try_from(depth).expect("it was 32 bits")).rev().collect(),
            queued: Vec::with_capacity(depth),
            pointers: Vec::with_capacity(depth),
            events: vec![Event::default(); depth],
            done: Vec::with_capacity(depth),
        })
    }

    /// Requests in slots, submitted or not.
    fn outstanding(&self) -> usize {
        self.in_flight.len() - self.free.len()
    }

    /// Describes `request` to the kernel, with the buffer of `slot`.
    fn describe(&mut self, slot: u32, request: &Request) {
        let number = slot as usize;
        let bytes = request.sectors.bytes().get();
        let file = u32::try_from(self.job.file.as_raw_fd()).expect("an open file");
        let offset = i64::try_from(request.lba.byte_offset().get()).expect("within the file");
        let common = Control { data: u64::from(slot), file, offset, ..Control::default() };
        self.controls[number] = match request.op {
            Op::Read => {
                let buffer = self.address(number);
                Control { opcode: PREAD, buffer, length: bytes, ..common }
            }
            Op::Write => {
                let number = self.buffers.to_write(number);
                let begin = self.buffers.at(number);
                let end = begin + usize::try_from(bytes).expect("a block is at most 1 GiB");
                self.contents.write(request, &mut self.buffers.memory()[begin..end]);
                let rw_flags = if request.fua { libc::RWF_DSYNC.cast_unsigned() } else { 0 };
                let buffer = self.address(number);
                Control { opcode: PWRITE, buffer, length: bytes, rw_flags, ..common }
            }
            Op::Flush => {
                self.contents.flush(request);
                let opcode = if self.job.flush_data_only { FDSYNC } else { FSYNC };
                Control { opcode, offset: 0, ..common }
            }
            Op::Trim => unreachable!("a trim has no command here"),
        };
    }

    /// The address of the buffer with that index.
    fn address(&mut self, number: usize) -> u64 {
        let begin = self.buffers.at(number);
        self.buffers.memory()[begin..].as_mut_ptr() as u64
    }

    /// Submits what is queued, as far as the kernel takes it.
    fn hand_in(&mut self) -> io::Result<()> {
        let mut from = 0;
        while from < self.queued.len() {
            let controls = self.controls.as_mut_ptr();
            self.pointers.clear();
            self.pointers.extend(
                self.queued[from..].iter().map(|slot| controls.wrapping_add(*slot as usize)),
            );
            // SAFETY: each pointer is to the control block of a slot that the in-flight table owns
            // until its event is fetched, and so is the buffer that the block names.
            let taken = unsafe { self.context.submit(&mut self.pointers) };
            match taken {
                Ok(taken) => {
                    for slot in &self.queued[from..from + taken] {
                        self.in_flight[*slot as usize].out = true;
                    }
                    from += taken;
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // The kernel has no room: completions make some.
                    Some(libc::EAGAIN) if self.in_flight.iter().any(|flight| flight.out) => break,
                    Some(errno) if errno != libc::EAGAIN => {
                        // It is about the first of them.
                        self.fail(self.queued[from], errno)?;
                        from += 1;
                    }
                    _ => return Err(error),
                },
            }
        }
        self.queued.drain(..from);
        Ok(())
    }

    /// Completes a request that the kernel refused.
    fn fail(&mut self, slot: u32, errno: i32) -> io::Result<()> {
        let id = self.in_flight[slot as usize].id;
        self.free.push(slot);
        let (at, served_by) = (self.job.clock.now(), ServedBy::Unknown);
        self.done.push(Completion { id, at, result: Err(IoError::Os(errno)), served_by });
        self.contents.done(id, false)
    }

    /// Fetches events: at least `min` of them unless the time is up.
    fn fetch(&mut self, min: usize, time: Span, completed: &mut Vec<Completion>) -> io::Result<()> {
        let count = self.context.events(min, time, &mut self.events)?;
        if count == 0 {
            return Ok(());
        }
        let at = self.job.clock.now();
        let mut account = Ok(());
        for event in &self.events[..count] {
            let slot = u32::try_from(event.data).expect("we numbered the slots");
            let flight = &mut self.in_flight[slot as usize];
            assert!(flight.out, "the kernel completes a request once");
            flight.out = false;
            let Flight { id, to_move, .. } = *flight;
            self.free.push(slot);
            let result = match u64::try_from(event.result) {
                Ok(moved) => check_moved(to_move, moved),
                Err(_) => Err(IoError::Os(i32::try_from(-event.result).unwrap_or_default())),
            };
            if let Err(error) = self.contents.done(id, result.is_ok()) {
                account = Err(error);
            }
            completed.push(Completion { id, at, result, served_by: ServedBy::Unknown });
        }
        account
    }
}

impl Target for Aio {
    fn holds_back(&self) -> bool {
        true
    }

    fn now(&mut self) -> Time {
        self.job.clock.now()
    }

    fn capacity(&self) -> Bytes {
        self.job.capacity
    }

    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        if self.done.len() == self.in_flight.len() || !self.contents.ready(&request) {
            return Err(Rejected::Full(request));
        }
        let refused = check_range(&request, self.job.capacity).err();
        if refused.is_some() || request.op == Op::Trim {
            // Linux AIO has no trim: as in fio, it is done here and now.
            let result = match refused {
                Some(error) => Err(error),
                None => psync::trim(&self.job, &request)
                    .map_err(|error| IoError::Os(error.raw_os_error().unwrap_or_default())),
            };
            let (id, at, served_by) = (request.id, self.job.clock.now(), ServedBy::Unknown);
            self.done.push(Completion { id, at, result, served_by });
            return Ok(());
        }
        let Some(slot) = self.free.pop() else { return Err(Rejected::Full(request)) };
        // This keeps every transfer inside its slot's own buffer.
        assert!(request.sectors.bytes() <= self.job.largest, "a request fits its buffer");
        assert!(request.op != Op::Read || self.job.reads, "a job that reads has said so");
        assert!(request.op != Op::Write || self.job.writes, "a job that writes has said so");
        debug_assert!(!self.in_flight[slot as usize].out, "a free slot is not in flight");
        self.in_flight[slot as usize] =
            Flight { id: request.id, to_move: to_move(&request), out: false };
        self.describe(slot, &request);
        self.queued.push(slot);
        Ok(())
    }

    fn hand_over(&mut self) -> Result<usize, TargetError> {
        self.hand_in().map_err(|source| TargetError { operation: "io_submit", source })?;
        Ok(self.done.len())
    }

    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = completed.len();
        let spin = self.job.clock.spin();
        loop {
            self.hand_over()?;
            completed.append(&mut self.done);
            if self.outstanding() == 0 {
                if completed.len() == before {
                    self.job.clock.sleep_until(until);
                }
                return Ok(());
            }
            let left = until.since(self.job.clock.now());
            // Shortly before `until` the kernel's timer would wake us too late.
            let sleeps = completed.len() == before && left > spin;
            let (min, time) = if sleeps {
                let most = self.outstanding() - self.queued.len();
                ((self.job.complete_min as usize).clamp(1, most.max(1)), left.saturating_sub(spin))
            } else {
                (0, Span::ZERO)
            };
            self.fetch(min, time, completed)
                .map_err(|source| TargetError { operation: "io_getevents", source })?;
            if completed.len() > before || self.job.clock.now() >= until {
                return Ok(());
            }
        }
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        let mut completed = Vec::with_capacity(self.in_flight.len());
        let mut last = self.job.clock.now();
        while self.in_flight.iter().any(|flight| flight.out) {
            let before = completed.len();
            // If the account cannot be kept, the run has already ended.
            let fetched = self.fetch(1, PATIENCE, &mut completed);
            let now = self.job.clock.now();
            if completed.len() > before {
                last = now;
            } else if fetched.is_err() || now >= last + PATIENCE {
                // The kernel may still write into the buffers, so they can never be freed, and
                // closing the context would wait for it.
                self.buffers.leak();
                self.context.leak();
                return;
            }
        }
    }
}

/// The kernel's `aio_context_t`.
#[derive(Debug)]
struct Context(u64);

impl Context {
    fn new(depth: u32) -> io::Result<Self> {
        let mut context = 0_u64;
        // SAFETY: the kernel writes one number of eight bytes to `context`, which must be 0 before
        // and outlives the call.
        let result = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) };
        if result == 0 { Ok(Self(context)) } else { Err(io::Error::last_os_error()) }
    }

    /// Submits requests; returns how many the kernel took, from the first on.
    ///
    /// # Safety
    /// Each pointer is to a control block that stays as it is, and whose buffer belongs to the
    /// kernel, until its event was fetched.
    unsafe fn submit(&self, controls: &mut [*mut Control]) -> io::Result<usize> {
        // SAFETY: the caller vouches for the control blocks; the list of them outlives the call,
        // during which alone the kernel reads it.
        let taken = unsafe {
            libc::syscall(libc::SYS_io_submit, self.0, controls.len(), controls.as_mut_ptr())
        };
        usize::try_from(taken).map_err(|_| io::Error::last_os_error())
    }

    /// Fetches events, at least `min` unless `time` is over before, or a signal comes.
    fn events(&self, min: usize, time: Span, into: &mut [Event]) -> io::Result<usize> {
        let seconds = i64::try_from(time.ns() / 1_000_000_000).expect("at most 584 years");
        let nanoseconds = i64::try_from(time.ns() % 1_000_000_000).expect("below a second");
        let time = [seconds, nanoseconds];
        debug_assert!(min <= into.len(), "no more is outstanding");
        // SAFETY: the kernel writes at most as many events as `into` holds, which are plain
        // numbers, and reads two numbers of eight bytes as the time.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.0,
                min,
                into.len(),
                into.as_mut_ptr(),
                ptr::from_ref(&time),
            )
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error());
        match count {
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => Ok(0),
            count => count,
        }
    }

    /// Leaves it to the end of the process.
    fn leak(&mut self) {
        self.0 = 0;
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.0 != 0 {
            // SAFETY: the context is ours, and nothing is in flight in it: its owner has fetched
            // every event, or has leaked it.
            unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
        }
    }
}
