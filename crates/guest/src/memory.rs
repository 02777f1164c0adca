//! Memory of a guest as a device sees it: bytes at addresses, copied in and out.

use thiserror::Error;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An access to an address range that the guest did not share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{length} bytes at {address:#x} lie outside the shared memory")]
pub struct Outside {
    /// The first byte.
    pub address: u64,
    /// The number of bytes.
    pub length: usize,
}

/// Bytes that another program may change at any time, so that they are only copied.
pub trait Memory {
    /// Fills `into` from `address` on.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Outside>;

    /// Writes `from` at `address`.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Outside>;
}

/// Copies the structure at `address`.
pub(crate) fn get<T: FromBytes + IntoBytes>(
    memory: &(impl Memory + ?Sized),
    address: u64,
) -> Result<T, Outside> {
    let mut value = T::new_zeroed();
    memory.read(address, value.as_mut_bytes())?;
    Ok(value)
}

/// Writes a structure to `address`.
pub(crate) fn put(
    memory: &mut (impl Memory + ?Sized),
    address: u64,
    value: &(impl IntoBytes + Immutable),
) -> Result<(), Outside> {
    memory.write(address, value.as_bytes())
}

/// Ordinary bytes from address 0 on: the memory of tests.
impl Memory for Vec<u8> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Outside> {
        let outside = Outside { address, length: into.len() };
        let start = usize::try_from(address).map_err(|_| outside)?;
        let range = start..start.checked_add(into.len()).ok_or(outside)?;
        into.copy_from_slice(self.get(range).ok_or(outside)?);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Outside> {
        let outside = Outside { address, length: from.len() };
        let start = usize::try_from(address).map_err(|_| outside)?;
        let range = start..start.checked_add(from.len()).ok_or(outside)?;
        self.get_mut(range).ok_or(outside)?.copy_from_slice(from);
        Ok(())
    }
}
