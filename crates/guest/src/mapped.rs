//! Files that are mapped into memory and shared with a guest: the only `unsafe` of this crate.
//!
//! It is sound because a mapping is only copied from and to, by raw pointers within its bounds; no
//! reference into it exists, because the guest may write to it at any time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::memory::{Memory, Outside};

/// The beginning of a file, mapped shared.
#[derive(Debug)]
pub struct Mapping {
    base: *mut u8,
    length: usize,
}

impl Mapping {
    /// Maps the first `length` bytes of `file`, which must be at least that long.
    ///
    /// A file that is made shorter afterwards raises SIGBUS on access, as for every program that
    /// maps files: a guest never truncates its own memory.
    pub fn new(file: BorrowedFd<'_>, length: u64) -> io::Result<Self> {
        let found = u64::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(0);
        let fits =
            usize::try_from(length).ok().filter(|length| *length > 0 && found >= *length as u64);
        // Access beyond the end of the file would raise SIGBUS.
        let Some(length) = fits else {
            let what = format!("a file of {found} bytes cannot be mapped over {length} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint without MAP_FIXED lets the kernel choose a free address range, so
        // the new mapping replaces no memory that this process uses.
        let base = unsafe { mmap(ptr::null_mut(), length, protection, MapFlags::SHARED, file, 0) }?;
        Ok(Self { base: base.cast(), length })
    }

    /// The address of `length` bytes from `at` on, if they lie within the mapping.
    fn address(&self, at: u64, length: usize) -> Result<*mut u8, Outside> {
        let outside = Outside { address: at, length };
        let start = usize::try_from(at).map_err(|_| outside)?;
        let end = start.checked_add(length).ok_or(outside)?;
        if end > self.length {
            return Err(outside);
        }
        Ok(self.base.wrapping_add(start))
    }
}

impl Memory for Mapping {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Outside> {
        let from = self.address(address, into.len())?;
        // SAFETY: `address` checked that the source lies within the mapping, which lives as long as
        // `self`; `into` is borrowed exclusively and cannot overlap a mapping without references.
        unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Outside> {
        let into = self.address(address, from.len())?;
        // SAFETY: `address` checked that the destination lies within the mapping, which is writable
        // and lives as long as `self`; `from` cannot overlap it, as no reference into it exists.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), into, from.len()) };
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and length are those that mmap returned, the mapping is unmapped only here,
        // and no reference into it was ever given away.
        let _ = unsafe { munmap(self.base.cast(), self.length) };
    }
}

/// Zeroed memory of this process that can be shared with a guest.
#[derive(Debug)]
pub struct SharedMemory {
    mapping: Mapping,
    file: OwnedFd,
}

impl SharedMemory {
    /// Allocates `length` bytes.
    pub fn new(name: &str, length: u64) -> io::Result<Self> {
        let file = memfd_create(name, MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&file, length)?;
        Ok(Self { mapping: Mapping::new(file.as_fd(), length)?, file })
    }
}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Memory for SharedMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Outside> {
        self.mapping.read(address, into)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Outside> {
        self.mapping.write(address, from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_of_a_file_share_bytes_and_nothing_lies_outside() {
        let mut ours = SharedMemory::new("test", 8192).unwrap();
        let theirs = Mapping::new(ours.as_fd(), 8192).unwrap();
        ours.write(4094, &[1, 2, 3, 4]).unwrap();
        let mut found = [0; 4];
        theirs.read(4094, &mut found).unwrap();
        assert_eq!(found, [1, 2, 3, 4]);
        for (address, length) in [(8190, 4), (u64::MAX, 1), (8192, 1), (0, 8193)] {
            let mut bytes = vec![0; length];
            assert_eq!(theirs.read(address, &mut bytes), Err(Outside { address, length }));
            assert!(ours.write(address, &bytes).is_err(), "{address}");
        }
    }

    #[test]
    fn a_file_that_is_too_short_is_not_mapped() {
        let file = memfd_create("short", MemfdFlags::CLOEXEC).unwrap();
        for length in [4096, 0] {
            let error = Mapping::new(file.as_fd(), length).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }
}
