//! The page in which the kernel of a guest of `drivelab-lab` keeps the virtual time.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::ptr;
use std::sync::atomic::AtomicU64;

const PAGE_BYTES: usize = 4096;

/// Maps the page behind `file` for as long as this process lives; `None` where it has none.
///
/// It holds the nanoseconds since the guest started, and is to be read by relaxed loads only: it
/// cannot be written.
pub(crate) fn map(file: &File) -> Option<&'static AtomicU64> {
    let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
    // SAFETY: a null hint without MAP_FIXED lets the kernel choose a free address range, so the new
    // mapping replaces no memory that this process uses.
    let page =
        unsafe { libc::mmap(ptr::null_mut(), PAGE_BYTES, read, shared, file.as_raw_fd(), 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping begins at a page boundary, is longer than eight bytes and is never
    // removed. Only the guest's kernel writes to it, eight bytes at once. Relaxed loads of eight
    // bytes from memory that cannot be written are allowed (`std::sync::atomic`, "Atomic accesses
    // to read-only memory").
    Some(unsafe { AtomicU64::from_ptr(page.cast()) })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_is_written_to_the_file_is_read_in_the_page() {
        let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = File::from(file);
        file.set_len(PAGE_BYTES as u64).unwrap();
        let page = map(&file).unwrap();
        assert_eq!(page.load(Ordering::Relaxed), 0);
        file.write_all(&77_u64.to_ne_bytes()).unwrap();
        assert_eq!(page.load(Ordering::Relaxed), 77);
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(map(&File::from(std::os::fd::OwnedFd::from(reader))).is_none());
    }
}
