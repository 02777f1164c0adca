//! The memory that a guest shares, by guest-physical addresses.

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
        let map = |(region, file): (Region, OwnedFd)| {
            let mapping =
                Mapping::new(file.as_fd(), region.file_offset.saturating_add(region.length))?;
            Ok((region, mapping))
        };
        let regions: io::Result<Vec<_>> = regions.into_iter().zip(files).map(map).collect();
        regions.map(Self)
    }

    /// The place in the file of the region that holds all of `length` bytes at `address`.
    fn find(&self, address: u64, length: usize) -> Result<(usize, u64), Outside> {
        let within = |(number, (region, _)): (usize, &(Region, Mapping))| {
            let at = address.checked_sub(region.guest_address)?;
            let fits = at.checked_add(length as u64).is_some_and(|end| end <= region.length);
            fits.then(|| (number, region.file_offset + at))
        };
        self.0.iter().enumerate().find_map(within).ok_or(Outside { address, length })
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
