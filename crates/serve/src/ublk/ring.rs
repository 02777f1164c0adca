//! The ring for commands to the driver, and the memory in which it describes requests.
//!
//! The only module of this crate with `unsafe`, built only with the feature `ublk`. It is sound
//! because no command names memory of ours except [`Ring::exchange`], which returns its buffer only
//! after the kernel did; and the descriptors are copied, never referenced.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::ptr;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::wire::{self, Descriptor};

/// The token of an answer: that of [`Ring::exchange`].
const EXCHANGE: u64 = u64::MAX;

/// A ring with entries of 128 bytes, as the driver's control device requires.
pub(super) struct Ring {
    uring: IoUring<squeue::Entry128>,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").finish_non_exhaustive()
    }
}

impl Ring {
    pub(super) fn new(entries: u32) -> io::Result<Self> {
        // We enter the kernel all the time: it need not interrupt us to announce an answer.
        let uring = IoUring::builder().setup_coop_taskrun().build(entries)?;
        Ok(Self { uring })
    }

    /// Queues a command about a device; its answer has the number `token`.
    pub(super) fn control(&mut self, file: BorrowedFd<'_>, op: u32, bytes: [u8; 80], token: u64) {
        self.push(&opcode::UringCmd80::new(Fd(file.as_raw_fd()), op).cmd(bytes).build(), token);
    }

    /// Queues a command about a tag; its answer has the number `token`.
    pub(super) fn io(&mut self, file: BorrowedFd<'_>, op: u32, bytes: [u8; 16], token: u64) {
        let entry = opcode::UringCmd16::new(Fd(file.as_raw_fd()), op).cmd(bytes).build();
        self.push(&entry.into(), token);
    }

    /// Queues a command that names no memory.
    fn push(&mut self, entry: &squeue::Entry128, token: u64) {
        let entry = entry.clone().user_data(token);
        // SAFETY: the entry carries its whole command; the address in it is zero, so the kernel
        // touches no memory of ours, however long it keeps the command.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        pushed.expect("there is room for every tag and a few commands more");
    }

    /// Lets the driver read and write `buffer`, and waits for it; other answers that arrive
    /// meanwhile are dropped.
    pub(super) fn exchange(
        &mut self,
        file: BorrowedFd<'_>,
        op: u32,
        device: u32,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        let length = u16::try_from(buffer.len()).expect("a small structure");
        let mut shared = buffer.to_vec().into_boxed_slice();
        let bytes = wire::control_with_buffer(device, shared.as_mut_ptr().addr() as u64, length, 0);
        let entry = opcode::UringCmd80::new(Fd(file.as_raw_fd()), op)
            .cmd(bytes)
            .build()
            .user_data(EXCHANGE);
        // SAFETY: `shared` is of the length that the command names, is not touched while the
        // kernel has it, and is freed only below, after the kernel answered.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        pushed.expect("there is room for every tag and a few commands more");
        let result = 'answered: loop {
            if let Err(error) = self.wait(Timespec::new().sec(3600)) {
                // The kernel may still have it.
                std::mem::forget(shared);
                return Err(error);
            }
            while let Some((token, result)) = self.next() {
                if token == EXCHANGE {
                    break 'answered result;
                }
            }
        };
        if result < 0 {
            return Err(io::Error::from_raw_os_error(-result));
        }
        buffer.copy_from_slice(&shared);
        Ok(())
    }

    pub(super) fn submit(&mut self) -> io::Result<()> {
        if self.uring.submission().is_empty() {
            return Ok(());
        }
        passing(self.uring.submit().map(|_| ()))
    }

    /// Submits the queue and waits for an answer, at most this long.
    pub(super) fn wait(&mut self, most: Timespec) -> io::Result<()> {
        let arguments = SubmitArgs::new().timespec(&most);
        passing(self.uring.submitter().submit_with_args(1, &arguments).map(|_| ()))
    }

    /// The next answer: its token, and its result.
    pub(super) fn next(&mut self) -> Option<(u64, i32)> {
        self.uring.completion().next().map(|entry| (entry.user_data(), entry.result()))
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring owns the descriptor and keeps it open for as long as it is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.uring.as_raw_fd()) }
    }
}

/// The time is up, a signal came, or answers must be taken first: not a failure, the caller checks.
fn passing(result: io::Result<()>) -> io::Result<()> {
    use rustix::io::Errno;
    let passes = [Errno::TIME, Errno::INTR, Errno::BUSY, Errno::AGAIN];
    match result {
        Err(error)
            if passes.iter().any(|code| error.raw_os_error() == Some(code.raw_os_error())) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// The driver's description of the request of each tag: memory that it writes and we read.
#[derive(Debug)]
pub(super) struct Descriptors {
    base: *mut Descriptor,
    length: usize,
    tags: u16,
}

impl Descriptors {
    /// The descriptors of the only queue of `device`, which has this number of tags.
    pub(super) fn new(device: BorrowedFd<'_>, tags: u16) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let length = (usize::from(tags) * size_of::<Descriptor>()).next_multiple_of(page);
        // SAFETY: the kernel chooses where the mapping goes, so that it replaces nothing that this
        // process has.
        let base = unsafe {
            let flags = MapFlags::SHARED | MapFlags::POPULATE;
            mmap(ptr::null_mut(), length, ProtFlags::READ, flags, device, 0)
        }?;
        Ok(Self { base: base.cast(), length, tags })
    }

    /// The description of a tag, after the driver reported that it has a request.
    pub(super) fn get(&self, tag: u16) -> Descriptor {
        assert!(tag < self.tags, "the driver uses the tags that it was given");
        let at = self.base.wrapping_add(usize::from(tag));
        // SAFETY: the tag lies within the mapping, as was just checked, which begins at a page, so
        // that every descriptor is aligned, and any bytes are one (`FromBytes`); the driver writes
        // a tag's descriptor before it reports the tag and not again until the tag is handed back.
        unsafe { ptr::read_volatile(at) }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: the mapping is as long as it was made, and no reference into it exists, since
        // `get` gives copies.
        let _ = unsafe { munmap(self.base.cast(), self.length) };
    }
}
