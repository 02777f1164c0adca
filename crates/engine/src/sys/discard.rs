//! Discards of a block device, by a blocking call and by the ring.
//!
//! Punching a hole in a block device is not a discard: the kernel writes zeroes there, which is
//! another command to the drive and takes another time (Linux, `block/fops.c`, `blkdev_fallocate`).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use drivelab_core::Polling;
use io_uring::opcode::UringCmd16;
use io_uring::squeue::Entry;
use io_uring::types::{Fd, Fixed};

use super::ring::setup;

/// `BLKDISCARD` (`include/uapi/linux/fs.h`).
const DISCARD: libc::Ioctl = libc::_IO(0x12, 119);
/// `BLOCK_URING_CMD_DISCARD` (`include/uapi/linux/blkdev.h`), Linux 6.12.
const RING_DISCARD: u32 = 0x1200;

/// Discards `length` bytes from `start` of the block device that is open as `file`.
///
/// # Errors
/// EOPNOTSUPP: the device has no discard. EINVAL: the range is not whole blocks of it.
pub(crate) fn discard(file: &File, start: u64, length: u64) -> io::Result<()> {
    let range = [start, length];
    // SAFETY: the kernel reads two numbers of eight bytes from where we point, where `range` holds
    // them until the call returns; on anything but a block device the call does nothing.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), DISCARD, range.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The entry that discards `length` bytes from `start` of the registered file.
pub(super) fn entry(file: Fixed, start: u64, length: u64) -> Entry {
    UringCmd16::new(file, RING_DISCARD).addr(Some(start)).cmd(length_of(length)).build()
}

/// The length is in the entry's `addr3`, where the bytes of a command begin.
fn length_of(length: u64) -> [u8; 16] {
    let mut command = [0; 16];
    command[..8].copy_from_slice(&length.to_ne_bytes());
    command
}

/// Returns true if rings can discard blocks of the device that is open as `file`, tested by a
/// discard of a range that is not whole blocks: a kernel that supports the command detects that,
/// any other rejects the command.
pub(crate) fn ring_discards(file: &File) -> bool {
    probe(file).is_ok_and(|result| result == -libc::EINVAL)
}

fn probe(file: &File) -> io::Result<i32> {
    let mut ring = setup::ring(2, Polling::default())?;
    let file = Fd(file.as_raw_fd());
    let entry = UringCmd16::new(file, RING_DISCARD).addr(Some(1)).cmd(length_of(512)).build();
    // SAFETY: the entry names no memory, and the file stays open until it is answered below.
    let pushed = unsafe { ring.submission().push(&entry) };
    pushed.expect("a new queue has room");
    ring.submit_and_wait(1)?;
    let answer = ring.completion().next();
    answer.map(|answer| answer.result()).ok_or_else(|| io::Error::from_raw_os_error(libc::EIO))
}
