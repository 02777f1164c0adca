//! The system call that enters a ring.

use std::ffi::{c_long, c_void};
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
use std::ptr;

use io_uring::types::SubmitArgs;
use io_uring::{EnterFlags, IoUring};

/// The way in which a ring is entered: by its file descriptor, or by the index at which this thread
/// registered it, which saves the kernel a lookup in a table that threads share.
///
/// The library keeps such a registration only as long as one borrow of the ring, so it is made
/// here.
#[derive(Debug)]
pub(super) struct RingEnter {
    descriptor: RawFd,
    registered: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub(super) submit: u32,
    pub(super) wait_for: u32,
}

/// The kernel's `struct io_uring_rsrc_update` (`include/uapi/linux/io_uring.h`).
#[repr(C)]
struct Update {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// `IORING_REGISTER_RING_FDS` and `IORING_UNREGISTER_RING_FDS`, Linux 5.18.
const REGISTER: u32 = 20;
const UNREGISTER: u32 = 21;

impl RingEnter {
    /// The way into `uring`, for the calling thread only.
    pub(super) fn new(uring: &IoUring) -> Self {
        let descriptor = uring.as_raw_fd();
        // Any free index. Older kernels have none, and a thread has 16 of them.
        let data = u64::try_from(descriptor).expect("an open descriptor is not negative");
        let mut update = Update { offset: u32::MAX, reserved: 0, data };
        let registered = register(descriptor, REGISTER, &mut update).then_some(update.offset);
        Self { descriptor, registered }
    }

    /// Submits entries, and waits for completions according to `flags` and `arguments`; returns how
    /// many entries the kernel accepted.
    ///
    /// # Safety
    /// The entries are in the ring's queue, and the memory they point to belongs to the kernel
    /// until they are answered.
    pub(super) unsafe fn enter(
        &self,
        counts: Counts,
        flags: EnterFlags,
        arguments: Option<&SubmitArgs<'_, '_>>,
    ) -> io::Result<u32> {
        let (number, flags) = match self.registered {
            Some(index) => (c_long::from(index), flags | EnterFlags::REGISTERED_RING),
            None => (c_long::from(self.descriptor), flags),
        };
        let arguments = arguments.map_or(ptr::null(), ptr::from_ref).cast::<c_void>();
        // SAFETY: the caller vouches for the entries; `arguments` is null, with which the kernel
        // ignores the size, or what EXT_ARG announces, of the size that the library gives it.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                number,
                counts.submit,
                counts.wait_for,
                flags.bits(),
                arguments,
                size_of::<SubmitArgs<'_, '_>>(),
            )
        };
        u32::try_from(taken).map_err(|_| io::Error::last_os_error())
    }

    /// Releases the index: it would keep the ring open as long as the thread lives.
    pub(super) fn close(&mut self) {
        if let Some(offset) = self.registered.take() {
            let mut update = Update { offset, reserved: 0, data: 0 };
            // It was registered by this thread, so nothing can refuse it.
            register(self.descriptor, UNREGISTER, &mut update);
        }
    }
}

/// Applies `operation` to `update`, which then contains the index; returns whether the kernel did
/// so.
fn register(descriptor: RawFd, operation: u32, update: &mut Update) -> bool {
    // SAFETY: `update` is one entry of the kind that both operations take, and outlives the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            c_long::from(descriptor),
            operation,
            ptr::from_mut(update),
            1_u32,
        )
    };
    done == 1
}
