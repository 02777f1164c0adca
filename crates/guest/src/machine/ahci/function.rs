//! The adapter behind its configuration space: 32-bit registers at one base address.

use std::io;

use drivelab_core::Time;
use drivelab_core::disk::Disk;
use zerocopy::FromBytes as _;

use super::{Ahci, REGISTER_READ, registers};
use crate::machine::pci::{ABAR_BYTES, ABAR_NUMBER};
use crate::machine::pci_device::Function;
use crate::machine::trace_entry::TraceEntry;
use crate::memory::Memory;
use crate::mirror::{Mirror, MirroredRegister, Write};

/// The registers that Linux reads at an interrupt, and the effects of writes (AHCI 1.3.1, sections
/// 3.1.3 and 3.3.5).
const MIRRORED: [(u64, Write); Mirror::COUNT] = [
    (registers::IS, Write::ClearsAndRepeats),
    (registers::PORT + registers::PXIS, Write::Clears),
    (registers::PORT + registers::SACT, Write::Acts),
    (registers::PORT + registers::CI, Write::Acts),
];

impl<D: Disk> Ahci<D> {
    /// Returns the registers that the guest may read without a message, and the time until which
    /// the processor waits for registers.
    pub fn mirror(&self) -> (Mirror, Time) {
        let is_plain = self.port.is_cleared_by_writes();
        let registers = MIRRORED.map(|(at, write)| MirroredRegister {
            at: u32::try_from(at).expect("an offset into the registers"),
            value: self.port.read(at),
            write: if is_plain { write } else { Write::Acts },
        });
        (Mirror { bar: ABAR_NUMBER, read: REGISTER_READ, registers }, self.processor)
    }

    /// Takes that time from the guest, which adds each read of a mirrored register to it.
    pub fn wait_until(&mut self, waits: Time) {
        // A wait never gets shorter, even if a guest writes an earlier time to the page.
        self.processor = self.processor.max(waits);
    }
}

impl<D: Disk> Function for Ahci<D> {
    /// Reads registers; a part of one is the part of its bytes.
    fn read(&mut self, now: Time, bar: u8, at: u64, into: &mut [u8]) {
        let mut at = at;
        let mut rest = into;
        while !rest.is_empty() {
            // Configuration accesses may cover a part of a register, or several.
            let within = usize::try_from(at & 3).expect("below 4");
            let (now_read, later) = rest.split_at_mut(rest.len().min(4 - within));
            let is_present = bar == ABAR_NUMBER && at < u64::from(ABAR_BYTES);
            let value = if is_present { self.read_register(now, at) } else { 0 };
            now_read.copy_from_slice(&value.to_le_bytes()[within..within + now_read.len()]);
            at = at.saturating_add(now_read.len() as u64);
            rest = later;
        }
    }

    /// Writes registers, which are written as a whole.
    fn write(&mut self, now: Time, bar: u8, at: u64, from: &[u8]) -> io::Result<()> {
        if bar != ABAR_NUMBER {
            return Ok(());
        }
        for (at, value) in (at..u64::from(ABAR_BYTES)).step_by(4).zip(from.chunks_exact(4)) {
            // Linux writes registers as aligned double words.
            let value = u32::read_from_bytes(value).expect("four bytes");
            self.write_register(now, at, u32::from_le(value))?;
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.next_event()
    }

    fn advance(
        &mut self,
        now: Time,
        memory: &mut impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> io::Result<bool> {
        self.advance(now, memory, done)
    }
}
