//! The page in which the kernel of a guest of `drivelab-guest` keeps the virtual time.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::ptr::{self, NonNull};

const PAGE_BYTES: usize = 4096;

/// A mapping that lasts as long as the process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimePage(NonNull<u64>);

// SAFETY: the mapping is never removed, and `ns` only reads it.
unsafe impl Send for TimePage {}
// SAFETY: as above; another process writes to it, which a volatile read of eight aligned bytes
// allows for.
unsafe impl Sync for TimePage {}

impl TimePage {
    /// The nanoseconds since the guest started.
    ///
    /// A volatile read and not an atomic one: an `AtomicU64` must lie in memory that may be
    /// written.
    #[inline]
    pub(crate) fn ns(self) -> u64 {
        // SAFETY: `map` made the pointer from a mapping that is aligned, long enough and never
        // removed.
        unsafe { self.0.read_volatile() }
    }
}

/// Maps the page behind `file` for as long as this process lives; `None` where it has none.
pub(crate) fn map(file: &File) -> Option<TimePage> {
    let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
    // SAFETY: a null hint without MAP_FIXED lets the kernel choose a free address range, so the new
    // mapping replaces no memory that this process uses.
    let page =
        unsafe { libc::mmap(ptr::null_mut(), PAGE_BYTES, read, shared, file.as_raw_fd(), 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // It begins at a page boundary and is longer than eight bytes, and nothing removes it. Only the
    // guest's kernel writes to it, eight bytes at once.
    NonNull::new(page.cast()).map(TimePage)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_written_to_the_file_is_read_in_the_page() {
        let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = File::from(file);
        file.set_len(PAGE_BYTES as u64).unwrap();
        let page = map(&file).unwrap();
        assert_eq!(page.ns(), 0);
        file.write_all(&77_u64.to_ne_bytes()).unwrap();
        assert_eq!(page.ns(), 77);
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(map(&File::from(std::os::fd::OwnedFd::from(reader))).is_none());
    }
}
