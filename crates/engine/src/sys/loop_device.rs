//! The file behind a loop device: the only query of ours for which there is no safe call.
//!
//! Sysfs reports a path, which another mount namespace, a renamed parent folder or a deleted name
//! make worthless; the driver itself knows the file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

const GET_STATUS: libc::c_ulong = 0x4C05;
/// Length of its `struct loop_info64` in words of eight bytes: 232 bytes.
const WORDS: usize = 29;

/// The device and inode numbers of the file behind the loop device that is open as `file`, and the
/// device that this file represents, if any: all as `stat` reports them.
///
/// # Errors
/// It is not a loop device, or has no file.
pub(crate) fn behind(file: &File) -> io::Result<[u64; 3]> {
    let mut info = [0_u64; WORDS];
    // SAFETY: the kernel writes 232 bytes to where we point, `info` is as long, aligned to eight,
    // and ours alone until the call returns.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), GET_STATUS, info.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok([info[0], info[1], info[2]])
}
