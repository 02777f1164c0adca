//! A PCI device at the end of virtio: the guest's accesses as messages (Linux,
//! `include/uapi/linux/virtio_pcidev.h`).

use std::io;

use drivelab_core::Time;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromZeros as _, Immutable, IntoBytes, KnownLayout};

use super::block::BlockError;
use super::chain::{self, Chain};
use super::pci::{Configuration, Interrupt};
use super::queue::Queue;
use super::trace_entry::TraceEntry;
use crate::memory::Memory;

/// The queue of the guest's accesses.
const COMMANDS: u16 = 0;
/// The queue of buffers for interrupts.
pub(super) const INTERRUPTS: u16 = 1;

#[derive(zerocopy::FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Header {
    op: u8,
    bar: u8,
    reserved: [u8; 2],
    size: U32,
    address: U64,
}

const HEADER_BYTES: u64 = size_of::<Header>() as u64;

const CONFIG_READ: u8 = 1;
const CONFIG_WRITE: u8 = 2;
const MEMORY_READ: u8 = 3;
const MEMORY_WRITE: u8 = 4;
const LINE: u8 = 6;
const MESSAGE: u8 = 7;
/// The first of the four interrupt lines.
const LINE_A: u64 = 1;

/// The most bytes of one access.
const ACCESS_MAX: usize = 64;

/// The registers of a PCI device behind its configuration space.
pub trait Function {
    /// Fills `into` from byte `at` of the registers behind base address `bar`.
    fn read(&mut self, now: Time, bar: u8, at: u64, into: &mut [u8]);

    /// Writes `from` to byte `at` of the registers behind base address `bar`.
    fn write(&mut self, now: Time, bar: u8, at: u64, from: &[u8]) -> io::Result<()>;

    /// Returns the time of its next event.
    fn next_event(&self) -> Option<Time>;

    /// Carries out the events that are due at `now`; returns whether the guest must be interrupted.
    fn advance(
        &mut self,
        now: Time,
        memory: &mut impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> io::Result<bool>;
}

/// A device on a bus whose accesses are messages.
#[derive(Debug)]
pub struct PciDevice<F> {
    configuration: Configuration,
    function: F,
}

impl<F: Function> PciDevice<F> {
    /// A device that shows `configuration` in front of `function`.
    pub(super) fn new(configuration: Configuration, function: F) -> Self {
        Self { configuration, function }
    }

    /// The function, once no guest uses the device.
    pub(super) fn into_function(self) -> F {
        self.function
    }

    pub(super) fn function(&self) -> &F {
        &self.function
    }

    pub(super) fn function_mut(&mut self) -> &mut F {
        &mut self.function
    }

    /// Returns the time of the next event of the device.
    pub fn next_event(&self) -> Option<Time> {
        self.function.next_event()
    }

    /// Carries out the accesses in a queue.
    pub fn kick(
        &mut self,
        now: Time,
        index: u16,
        queue: &mut Queue,
        memory: &mut impl Memory,
    ) -> Result<(), BlockError> {
        // The other queue only offers buffers, which are taken when an interrupt needs one.
        if index != COMMANDS {
            return Ok(());
        }
        while let Some(chain) = queue.pop(memory)? {
            let written = self.access(now, &chain, memory)?;
            queue.push(memory, chain.head, written)?;
        }
        Ok(())
    }

    /// Carries out one access; returns the number of bytes that it read.
    fn access(
        &mut self,
        now: Time,
        chain: &Chain,
        memory: &mut impl Memory,
    ) -> Result<u32, BlockError> {
        let (readable, writable) = (chain::length(&chain.readable), chain::length(&chain.writable));
        if readable < HEADER_BYTES {
            return Err(BlockError::Malformed { readable, writable });
        }
        let mut header = Header::new_zeroed();
        chain::gather(memory, &chain.readable, 0, header.as_mut_bytes())?;
        let (size, at) = (header.size.get() as usize, header.address.get());
        let reads = matches!(header.op, CONFIG_READ | MEMORY_READ);
        let room = if reads { writable } else { readable - HEADER_BYTES };
        // Both sizes come from the guest.
        if size > ACCESS_MAX || room < size as u64 {
            return Err(BlockError::Malformed { readable, writable });
        }
        let mut data = [0; ACCESS_MAX];
        let data = &mut data[..size];
        if !reads {
            chain::gather(memory, &chain.readable, HEADER_BYTES, data)?;
        }
        match header.op {
            CONFIG_READ => self.configuration.read(at, data),
            CONFIG_WRITE => self.configuration.write(at, data),
            MEMORY_READ => self.function.read(now, header.bar, at, data),
            MEMORY_WRITE => self.function.write(now, header.bar, at, data)?,
            _ => {}
        }
        if reads {
            chain::scatter(memory, &chain.writable, 0, data)?;
            return Ok(header.size.get());
        }
        Ok(0)
    }

    /// Carries out the events that are due at `now`; returns whether the guest must be interrupted.
    pub fn advance(
        &mut self,
        now: Time,
        interrupts: &mut Queue,
        memory: &mut impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> Result<bool, BlockError> {
        if !self.function.advance(now, memory, done)? {
            return Ok(false);
        }
        let Some(interrupt) = self.configuration.interrupt() else { return Ok(false) };
        // Without a buffer the interrupt is lost, as if the guest had masked it.
        let Some(chain) = interrupts.pop(memory)? else { return Ok(false) };
        let (op, address, data) = match &interrupt {
            Interrupt::Message(address, data) => (MESSAGE, *address, &data[..]),
            Interrupt::Line => (LINE, LINE_A, &[][..]),
        };
        let header = Header {
            op,
            bar: 0,
            reserved: [0; 2],
            size: u32::try_from(data.len()).expect("at most two").into(),
            address: address.into(),
        };
        let message = [header.as_bytes(), data].concat();
        if chain::length(&chain.writable) < message.len() as u64 {
            let (readable, writable) = (0, chain::length(&chain.writable));
            return Err(BlockError::Malformed { readable, writable });
        }
        debug_assert!(message.len() as u64 <= HEADER_BYTES + 2, "a header and two bytes of data");
        chain::scatter(memory, &chain.writable, 0, &message)?;
        let written = u32::try_from(message.len()).expect("a few bytes");
        interrupts.push(memory, chain.head, written)?;
        Ok(true)
    }
}
