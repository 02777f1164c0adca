//! The shared memory of a guest, by guest-physical addresses.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use crate::mapped::Mapping;
use crate::memory::{Memory, Outside};
use crate::vhost::Region;

#[derive(Debug, Default)]
pub(super) struct GuestMemory(Vec<(Region, Mapping)>);

impl GuestMemory {
    /// Maps the files of the regions.
    pub(super) fn new(regions: Vec<Region>, files: Vec<OwnedFd>) -> io::Result<Self> {
        assert_eq!(regions.len(), files.len(), "the protocol checked that each region has a file");
        let mut mapped = Vec::with_capacity(regions.len());
        for (region, file) in regions.into_iter().zip(files) {
            // From the start of the file: an offset into it need not be a multiple of a page.
            let end = region.file_offset.saturating_add(region.length);
            mapped.push((region, Mapping::new(file.as_fd(), end)?));
        }
        Ok(Self(mapped))
    }

    /// Returns the region that contains all of `length` bytes at `address`, and their offset in its
    /// file.
    fn find(&self, address: u64, length: usize) -> Result<(usize, u64), Outside> {
        for (number, (region, _)) in self.0.iter().enumerate() {
            let Some(at) = address.checked_sub(region.guest_address) else { continue };
            if at.checked_add(length as u64).is_some_and(|end| end <= region.length) {
                return Ok((number, region.file_offset + at));
            }
        }
        Err(Outside { address, length })
    }
}

impl Memory for GuestMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Outside> {
        let (number, at) = self.find(address, into.len())?;
        self.0[number].1.read(at, into)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Outside> {
        let (number, at) = self.find(address, from.len())?;
        self.0[number].1.write(at, from)
    }
}
