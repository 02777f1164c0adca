//! The controller behind its configuration space: byte registers at three base addresses.

use std::io;

use drivelab_core::Time;
use drivelab_core::disk::Disk;

use super::Ide;
use super::registers as at;
use crate::machine::pci_device::Function;
use crate::machine::trace_entry::TraceEntry;
use crate::memory::Memory;

/// The number of the base address of the command block.
pub(super) const COMMANDS: u8 = 0;
/// The number of the base address of the control block.
pub(super) const CONTROLS: u8 = 1;
/// Offset of the control register in it; a read returns the status and keeps the interrupt.
pub(super) const CONTROL: u64 = 2;
/// The number of the base address of the bus master.
pub(super) const MASTER: u8 = 4;

impl<D: Disk> Function for Ide<D> {
    fn read(&mut self, now: Time, bar: u8, offset: u64, into: &mut [u8]) {
        self.add_access(now);
        if (bar, offset) == (COMMANDS, at::DATA) {
            return self.take_data(now, into);
        }
        for (index, byte) in (0..).zip(into) {
            let offset = offset.wrapping_add(index);
            *byte = match (bar, offset) {
                (COMMANDS, at::STATUS) => self.status(),
                (COMMANDS, _) => self.drives[self.selected()].registers.read(offset),
                (CONTROLS, CONTROL) => self.drives[self.selected()].registers.read(at::STATUS),
                (MASTER, _) => self.master.read(offset),
                _ => 0,
            };
        }
    }

    fn write(&mut self, now: Time, bar: u8, offset: u64, from: &[u8]) -> io::Result<()> {
        self.add_access(now);
        if (bar, offset) == (COMMANDS, at::DATA) {
            // No command here takes data by programmed I/O.
            return Ok(());
        }
        for (index, byte) in (0..).zip(from.iter().copied()) {
            let offset = offset.wrapping_add(index);
            match (bar, offset) {
                (COMMANDS, at::STATUS) => self.command(now, byte),
                // Both drives of a channel take what is written.
                (COMMANDS, _) => {
                    self.drives.iter_mut().for_each(|drive| drive.registers.write(offset, byte));
                }
                (CONTROLS, CONTROL) => self.control(now, byte)?,
                (MASTER, _) => {
                    self.master.write(offset, byte);
                    self.hand_over(now);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        let given = self.given.as_ref().and_then(|given| given.at);
        let disks = self.drives.iter().filter_map(|drive| drive.disk.next_event());
        disks.chain(self.interrupt).chain(given).min()
    }

    fn advance(
        &mut self,
        now: Time,
        memory: &mut impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> io::Result<bool> {
        if let Some(given) = self.given.take_if(|given| given.at.is_some_and(|at| at <= now)) {
            self.carry_out(now, given, memory, done)?;
        }
        let mut answers = std::mem::take(&mut self.answers);
        for drive in &mut self.drives {
            drive.disk.advance(now, &mut answers)?;
        }
        for answer in answers.drain(..) {
            self.answered(now, &answer, memory, done)?;
        }
        self.answers = answers;
        Ok(self.interrupt.take_if(|at| *at <= now).is_some())
    }
}
