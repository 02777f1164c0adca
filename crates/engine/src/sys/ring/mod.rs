//! A file through `io_uring`: many requests outstanding, one system call to submit and to reap.
//!
//! Everything that makes it sound is in one module: a buffer that the kernel may touch belongs to
//! an entry of the in-flight table, and [`Ring`] neither reads, writes nor frees it before the
//! completion of that entry was reaped.

mod enter;
mod entry;
pub(super) mod setup;

pub(crate) use setup::probe;

use std::io;

use drivelab_core::request::{Completion, IoError, Op, Request, RequestId, ServedBy};
use drivelab_core::target::{Rejected, Target, TargetError};
use drivelab_core::units::{Bytes, Span, Time};
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring};

use crate::file::buffers::Buffers;
use crate::file::contents::Contents;
use crate::file::{TargetSetup, check_moved, check_range, to_move};
use enter::{Counts, RingEnter};

/// A file behind a ring. Belongs to the thread that created it.
pub struct Ring {
    uring: IoUring,
    enter: RingEnter,
    job: TargetSetup,
    buffers: Buffers,
    /// The start of the buffers' memory, which is accessed only through this pointer from now on.
    base: *mut u8,
    /// The kernel has pinned the buffers, which saves it doing so for each request.
    registered: bool,
    /// Buffers in a registered piece of memory, as a power of two.
    piece: u32,
    contents: Contents,
    in_flight: Vec<Flight>,
    free: Vec<u32>,
    /// Entries in the submission queue that the kernel has not accepted yet.
    queued: u32,
    /// Completions that did not need the kernel.
    refused: Vec<Completion>,
    read: Time,
}

/// A slot, and the data kept about its request.
///
/// No more than that: a whole request would be copied in one piece before its parts have reached
/// the cache, which stalls the processor.
#[derive(Debug, Clone, Copy, Default)]
struct Flight {
    id: RequestId,
    to_move: Bytes,
    /// The kernel has it, and may access its buffers.
    out: bool,
}

/// The purpose of a system call, in addition to submitting requests.
#[derive(Debug, Clone, Copy)]
enum Ask {
    /// Nothing else.
    Nothing,
    /// To fetch completions.
    Look,
    /// To fetch completions, and to wait if there are none.
    WaitUntil(Time),
}

/// The largest registered buffer that the kernel accepts (`io_uring_register(2)`).
const PIECE_MAX: usize = 1 << 30;

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { job, registered, .. } = self;
        f.debug_struct("Ring").field("job", job).field("registered", registered).finish()
    }
}

impl Ring {
    /// A ring for `job`, to be used only on this thread.
    ///
    /// # Errors
    /// The system does not provide `io_uring` to this process, or cannot register the file.
    pub fn new(job: TargetSetup) -> io::Result<Self> {
        let uring = setup::ring(job.iodepth.next_power_of_two(), job.polling)?;
        let enter = RingEnter::new(&uring);
        let mut buffers = Buffers::new(&job);
        let base = buffers.memory().as_mut_ptr();
        let depth = job.iodepth;
        let mut ring = Self {
            uring,
            enter,
            contents: Contents::new(&job),
            job,
            buffers,
            base,
            registered: false,
            piece: 0,
            in_flight: vec![Flight::default(); depth as usize],
            free: (0..depth).rev().collect(),
            queued: 0,
            refused: Vec::with_capacity(depth as usize),
            read: Time::ZERO,
        };
        ring.register()?;
        Ok(ring)
    }

    fn register(&mut self) -> io::Result<()> {
        use std::os::fd::AsRawFd as _;
        self.uring.submitter().register_files(&[self.job.file.as_raw_fd()])?;
        // As few pieces as possible: the kernel looks up the piece for every request.
        self.piece = (PIECE_MAX / self.buffers.stride()).max(1).ilog2();
        let vectors: Vec<libc::iovec> = self
            .buffers
            .pieces(self.piece)
            .map(|(at, iov_len)| libc::iovec {
                iov_base: self.base.wrapping_add(at).cast(),
                iov_len,
            })
            .collect();
        // SAFETY: every vector lies within the memory of `self.buffers`, which is never moved or
        // freed while `self.uring` lives: `Drop` waits for the kernel and the ring closes first.
        let registered = unsafe { self.uring.submitter().register_buffers(&vectors) };
        // Beyond the limit for locked memory (ENOMEM) the kernel accepts none; requests then carry
        // plain addresses.
        self.registered = registered.is_ok();
        Ok(())
    }

    fn outstanding(&self) -> usize {
        self.in_flight.len() - self.free.len()
    }

    /// Submits the queued entries, and fetches completions according to `ask`.
    fn enter(&mut self, ask: Ask) -> io::Result<()> {
        let until = match ask {
            Ask::WaitUntil(until) => Some(until),
            Ask::Nothing | Ask::Look => None,
        };
        let mut flags = EnterFlags::empty();
        flags.set(EnterFlags::GETEVENTS, !matches!(ask, Ask::Nothing));
        if self.job.polling.submissions {
            if self.uring.submission().need_wakeup() {
                flags |= EnterFlags::SQ_WAKEUP;
            } else if until.is_none() {
                // The kernel's thread is polling, and takes the entries.
                self.queued = 0;
                return Ok(());
            }
        }
        debug_assert!(self.queued as usize <= self.outstanding(), "each entry has a slot");
        let ns = until.map_or(0, |until| until.since(self.read).ns());
        let nanos = u32::try_from(ns % 1_000_000_000).expect("below a second");
        let timeout = Timespec::new().sec(ns / 1_000_000_000).nsec(nanos);
        let arguments = until.map(|_| SubmitArgs::new().timespec(&timeout));
        flags.set(EnterFlags::EXT_ARG, arguments.is_some());
        // A wait for more than is outstanding would never end.
        let most = u32::try_from(self.outstanding()).expect("at most the depth of the queue");
        let wait_for =
            if arguments.is_some() { self.job.complete_min.clamp(1, most.max(1)) } else { 0 };
        let counts = Counts { submit: self.queued, wait_for };
        // SAFETY: `queued` entries lie in the submission queue, each with a buffer that the
        // in-flight table owns.
        match unsafe { self.enter.enter(counts, flags, arguments.as_ref()) } {
            Ok(taken) => {
                self.queued = self.queued.saturating_sub(taken);
                Ok(())
            }
            Err(error) => match error.raw_os_error() {
                // The time is up, a signal came, or completions must be reaped first: continue.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => {
                    // The kernel may have taken some of them before it failed.
                    self.queued = u32::try_from(self.uring.submission().len())
                        .expect("at most the depth of the queue");
                    Ok(())
                }
                _ => Err(error),
            },
        }
    }

    /// Takes over everything that the kernel has completed.
    fn reap(&mut self, completed: &mut Vec<Completion>) -> io::Result<()> {
        let mut account = Ok(());
        let entries = self.uring.completion();
        if entries.is_empty() {
            return Ok(());
        }
        // All of them are done by now. A stamp for each would add to the later ones the time that
        // the loop takes over the earlier ones.
        let at = self.job.clock.now();
        self.read = at;
        for entry in entries {
            let slot = u32::try_from(entry.user_data()).expect("we numbered the slots");
            let flight = &mut self.in_flight[slot as usize];
            assert!(flight.out, "the kernel completes a request once");
            flight.out = false;
            let Flight { id, to_move, .. } = *flight;
            self.free.push(slot);
            let result = match u64::try_from(entry.result()) {
                Ok(moved) => check_moved(to_move, moved),
                Err(_) => Err(IoError::Os(-entry.result())),
            };
            if let Err(error) = self.contents.done(id, result.is_ok()) {
                account = Err(error);
            }
            let served_by = ServedBy::Unknown;
            // Separate, because a value that is assembled on the stack and copied at once stalls
            // the processor: here the usual answer is written where it stays.
            completed.push(match result {
                Ok(()) => Completion { id, at, result: Ok(()), served_by },
                Err(_) => Completion { id, at, result, served_by },
            });
        }
        account
    }

    fn now(&mut self) -> Time {
        self.read = self.job.clock.now();
        self.read
    }
}

impl Target for Ring {
    fn holds_back(&self) -> bool {
        true
    }

    #[inline]
    fn now(&mut self) -> Time {
        Ring::now(self)
    }

    fn capacity(&self) -> Bytes {
        self.job.capacity
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a call would hand the request over through memory, in parts that are read as one"
    )]
    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        if let Err(error) = check_range(&request, self.job.capacity) {
            if self.refused.len() == self.in_flight.len() {
                return Err(Rejected::Full(request));
            }
            let (id, at, served_by) = (request.id, self.now(), ServedBy::Unknown);
            self.refused.push(Completion { id, at, result: Err(error), served_by });
            return Ok(());
        }
        if !self.contents.ready(&request) {
            return Err(Rejected::Full(request));
        }
        let Some(slot) = self.free.pop() else { return Err(Rejected::Full(request)) };
        // This keeps every transfer inside its slot's own buffer.
        assert!(request.sectors.bytes() <= self.job.largest, "a request fits its buffer");
        assert!(request.op != Op::Read || self.job.reads, "a job that reads has said so");
        assert!(request.op != Op::Write || self.job.writes, "a job that writes has said so");
        debug_assert!(!self.in_flight[slot as usize].out, "a free slot is not in flight");
        self.in_flight[slot as usize] =
            Flight { id: request.id, to_move: to_move(&request), out: true };
        self.queue(slot, &request);
        Ok(())
    }

    fn hand_over(&mut self) -> Result<usize, TargetError> {
        let broken = |source| TargetError { operation: "io_uring_enter", source };
        self.enter(Ask::Nothing).map_err(broken)?;
        Ok(self.uring.completion().len())
    }

    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = completed.len();
        let spin = self.job.clock.spin();
        let broken = |source| TargetError { operation: "io_uring_enter", source };
        completed.append(&mut self.refused);
        loop {
            if self.outstanding() == 0 {
                if completed.len() == before {
                    self.job.clock.sleep_until(until);
                }
                return Ok(());
            }
            let left = until.since(self.now());
            // Available completions are taken. Shortly before `until` the kernel's timer would wake
            // us too late, so the last stretch is polled. If completions raise no interrupt,
            // nothing would wake us at all.
            let interrupts = !self.job.polling.completions;
            let sleep = completed.len() == before && left > spin && interrupts;
            let wake = Time::from_ns(until.ns() - spin.ns().min(until.ns()));
            let ask = if sleep { Ask::WaitUntil(wake) } else { Ask::Look };
            self.enter(ask).map_err(broken)?;
            let unkept = |source| TargetError { operation: "write the verify state", source };
            self.reap(completed).map_err(unkept)?;
            if completed.len() > before || self.now() >= until {
                return Ok(());
            }
        }
    }
}

/// Time that the kernel may take to answer outstanding requests when a ring is closed. The load
/// loop has already waited: requests outstanding now were abandoned, or the run has failed.
const PATIENCE: Span = Span::from_ms(200);

impl Drop for Ring {
    fn drop(&mut self) {
        let mut completed = Vec::with_capacity(self.in_flight.len());
        let mut last = self.now();
        while self.outstanding() > 0 {
            let later = last + PATIENCE;
            // If completions raise no interrupt, a wait would end only with the next one.
            let polls = self.job.polling.completions;
            let ask = if polls { Ask::Look } else { Ask::WaitUntil(later) };
            if self.now() >= later || self.enter(ask).is_err() {
                // The kernel may still write into the buffers, so they can never be freed; and the
                // file belongs to it until then.
                self.buffers.leak();
                self.enter.close();
                return;
            }
            let before = completed.len();
            // If the account cannot be kept, the run has already ended.
            let _ = self.reap(&mut completed);
            if completed.len() > before {
                last = self.read;
            }
        }
        self.enter.close();
        // Closing the ring would release the file some time later, and a device that is open
        // exclusively would stay unavailable to the next run. If this fails, closing the ring does
        // it.
        let _ = self.uring.submitter().unregister_files();
    }
}
