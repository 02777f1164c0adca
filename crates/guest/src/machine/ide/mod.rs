//! An IDE controller with one channel of one or two drives, in native mode, in front of a [`Disk`]
//! each: the task file of ATA/ATAPI-7 and the bus master of SFF-8038i.
//!
//! The guest writes a command register by register, names a table of memory to the bus master, and
//! starts it; the channel takes one command at a time and its drive raises a line at the end. The
//! time of a command and its data on the link comes from the model of the drive; the controller
//! adds the cost of the registers to the processor.

mod function;
mod master;
mod registers;

use std::collections::VecDeque;
use std::io;

use drivelab_core::disk::{Answer, Disk};
use drivelab_core::{Lba, Op, Sectors, Span, Time};

use super::ahci::REGISTER_READ;
use super::ata::{
    ABORTED, Action, Ata, AtaConfig, FAILED, MediumCommand, READY, SECTOR_BYTES, UNCORRECTABLE,
};
use super::chain::Segment;
use super::trace_entry::TraceEntry;
use crate::memory::Memory;
use master::{Master, Table};
use registers::Registers;

/// Time that a processor waits for a register: reads and writes of I/O ports both wait for their
/// completion (PCI Express Base Specification 3.0, section 2.1.1.2: I/O requests are not posted).
pub const ACCESS: Span = REGISTER_READ;

/// `DRQ`: data is to be moved.
const DATA_REQUEST: u8 = 1 << 3;
/// EXECUTE DEVICE DIAGNOSTIC: the only command that ends with the signature.
const DIAGNOSTIC: u8 = 0x90;

/// A command that was written, and its action.
#[derive(Debug)]
struct PendingCommand {
    /// The drive that was selected.
    drive: usize,
    action: Action,
    /// The line of the trace, as far as it is known.
    line: TraceEntry,
    /// Time at which it reaches the drive; `None` while it waits for the start of the bus master.
    at: Option<Time>,
}

/// A command that the drive has.
#[derive(Debug)]
struct Running {
    drive: usize,
    command: MediumCommand,
    /// The remaining ranges of a list, which are trimmed before it is answered.
    rest: VecDeque<MediumCommand>,
    segments: Vec<Segment>,
    /// True if the table ends with the command's data.
    is_exact: bool,
    line: TraceEntry,
}

/// Data for the host by programmed I/O.
#[derive(Debug, Default)]
struct DataIn {
    bytes: Vec<u8>,
    taken: usize,
}

/// A drive of the channel, by what it does not share.
#[derive(Debug)]
struct Drive<D> {
    disk: D,
    ata: Ata,
    registers: Registers,
}

/// The controller.
#[derive(Debug)]
pub struct Ide<D> {
    /// One or two.
    drives: Vec<Drive<D>>,
    master: Master,
    /// Time until which the processor waits for registers.
    processor: Time,
    given: Option<PendingCommand>,
    running: Option<Running>,
    data: DataIn,
    /// `INTRQ`: the line of the drive that ended a command, which the control register may keep in
    /// the drive.
    line: bool,
    /// Time at which an interrupt leaves the controller: never while the guest runs.
    interrupt: Option<Time>,
    answers: Vec<Answer>,
}

impl<D: Disk> Ide<D> {
    /// A controller with one or two drives, each with its description.
    pub fn new(first: (D, AtaConfig), second: Option<(D, AtaConfig)>) -> Self {
        let drives = [Some(first), second].into_iter().flatten().enumerate();
        let drives = drives.map(|(number, (disk, config))| Drive {
            disk,
            ata: Ata::new(config),
            registers: Registers::new(number == 1),
        });
        Self {
            drives: drives.collect(),
            master: Master::default(),
            processor: Time::ZERO,
            given: None,
            running: None,
            data: DataIn::default(),
            line: false,
            interrupt: None,
            answers: Vec::new(),
        }
    }

    /// The disks, once no guest uses the controller.
    pub fn into_disks(self) -> Vec<D> {
        self.drives.into_iter().map(|drive| drive.disk).collect()
    }

    /// The first disk, while the channel has no command.
    pub(super) fn idle_disk(&mut self) -> Option<&mut D> {
        let is_idle = self.given.is_none() && self.running.is_none();
        is_idle.then_some(&mut self.drives[0].disk)
    }

    /// Returns the number of the selected drive; the first answers for a second that is not there.
    fn selected(&self) -> usize {
        self.drives.iter().position(|drive| drive.registers.is_selected()).unwrap_or(0)
    }

    /// Adds an access to the time for which the processor waits.
    fn add_access(&mut self, now: Time) {
        self.processor = self.processor.max(now) + ACCESS;
    }

    /// Writes the command register for the processor.
    fn command(&mut self, now: Time, code: u8) {
        let drive = self.selected();
        // A drive that is not there takes no command, and a channel with a busy drive no other.
        let is_busy = self.drives.iter().any(|drive| drive.registers.is_busy());
        if !self.drives[drive].registers.is_selected() || is_busy {
            return;
        }
        // A new command withdraws the interrupt of the one before (ATA/ATAPI-7, volume 2).
        (self.line, self.interrupt, self.data) = (false, None, DataIn::default());
        let Drive { ata, registers, .. } = &mut self.drives[drive];
        let task = registers.task(code);
        let action = match ata.decode(&task) {
            // Queued commands are those of another interface.
            Action::Medium(MediumCommand { tag: Some(_), .. }) => Action::Refused(ABORTED),
            action => action,
        };
        let (lba, sectors) = match &action {
            Action::Medium(command) => (command.lba, command.sectors),
            _ => (Lba::new(task.lba), Sectors::ZERO),
        };
        let kind = u32::from(code);
        let disk = u16::try_from(drive).expect("one of two");
        let line = TraceEntry { disk, submitted: now, at: now, kind, lba, sectors, status: 0 };
        debug_assert!(self.running.is_none(), "the drive is busy until its command ends");
        registers.begin();
        self.given = Some(PendingCommand { drive, action, line, at: None });
        self.hand_over(now);
    }

    /// Sets the time at which the written command reaches the drive, once the bus master is started
    /// if it moves data.
    fn hand_over(&mut self, now: Time) {
        let Some(given) = &mut self.given else { return };
        let moves = match &given.action {
            Action::Medium(command) => command.op.transfers(),
            action => matches!(action, Action::Trim { .. }),
        };
        if given.at.is_none() && (!moves || self.master.is_started()) {
            given.at = Some(self.processor.max(now));
        }
    }

    /// Writes the control register for the processor.
    fn control(&mut self, now: Time, value: u8) -> io::Result<()> {
        let registers = &self.drives[0].registers;
        let (was_reset, was_silent) = (registers.is_reset(), registers.is_silent());
        self.drives.iter_mut().for_each(|drive| drive.registers.set_control(value));
        match (was_reset, self.drives[0].registers.is_reset()) {
            (false, true) => self.reset()?,
            (true, false) => self.drives.iter_mut().for_each(|drive| drive.registers.sign()),
            _ => {}
        }
        // An interrupt that `nIEN` held back leaves when it is cleared.
        if was_silent && self.line {
            self.raise(now);
        }
        Ok(())
    }

    /// Drops the command, which is never answered.
    fn reset(&mut self) -> io::Result<()> {
        (self.given, self.line, self.interrupt) = (None, false, None);
        self.data = DataIn::default();
        for drive in &mut self.drives {
            drive.ata.reset();
            drive.registers.hold();
        }
        match self.running.take() {
            Some(running) => self.drives[running.drive].disk.reset(),
            None => Ok(()),
        }
    }

    /// Raises the drive's interrupt line.
    fn raise(&mut self, now: Time) {
        self.line = true;
        if !self.drives[0].registers.is_silent() {
            self.master.interrupted();
            self.interrupt = Some(now);
        }
    }

    /// Reads the status for the processor, which clears the interrupt.
    fn status(&mut self) -> u8 {
        let registers = &self.drives[self.selected()].registers;
        // The status of a second drive that does not exist clears nothing.
        if registers.is_selected() {
            (self.line, self.interrupt) = (false, None);
        }
        registers.read(registers::STATUS)
    }

    /// Reads the data register for the processor.
    fn take_data(&mut self, now: Time, into: &mut [u8]) {
        for byte in into {
            *byte = self.data.bytes.get(self.data.taken).copied().unwrap_or(0);
            self.data.taken = (self.data.taken + 1).min(self.data.bytes.len());
        }
        let DataIn { bytes, taken } = &self.data;
        if bytes.is_empty() || !(*taken as u64).is_multiple_of(SECTOR_BYTES) {
            return;
        }
        if *taken < bytes.len() {
            // The next block is available at once.
            self.raise(now);
        } else {
            self.data = DataIn::default();
            let drive = self.selected();
            self.drives[drive].registers.status = READY;
        }
    }

    /// Carries out a command that is due.
    fn carry_out(
        &mut self,
        now: Time,
        given: PendingCommand,
        memory: &impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> io::Result<()> {
        let PendingCommand { drive, action, line, .. } = given;
        let line = TraceEntry { at: now, ..line };
        match action {
            Action::Medium(command) => return self.submit(now, drive, command, line, memory),
            Action::Trim { blocks } => {
                return self.trim(now, (drive, blocks), line, memory, done);
            }
            Action::DataIn(bytes) => {
                self.data = DataIn { bytes, taken: 0 };
                self.drives[drive].registers.status = READY | DATA_REQUEST;
                done.push(line);
            }
            Action::Done { lba, count } => {
                self.drives[drive].registers.end(READY, 0, lba, count);
                done.push(line);
            }
            Action::Refused(_) if line.kind == u32::from(DIAGNOSTIC) => {
                // It is a command to both drives.
                self.drives.iter_mut().for_each(|drive| drive.registers.sign());
                done.push(line);
            }
            Action::Refused(error) => {
                self.drives[drive].registers.end(READY | FAILED, error, line.lba.get(), 0);
                done.push(TraceEntry { status: 1, ..line });
            }
        }
        self.raise(now);
        Ok(())
    }

    /// Hands a command to the disk.
    fn submit(
        &mut self,
        now: Time,
        drive: usize,
        command: MediumCommand,
        line: TraceEntry,
        memory: &impl Memory,
    ) -> io::Result<()> {
        let table = match command.op {
            Op::Read | Op::Write => {
                self.find(drive, command.op == Op::Read, command.bytes(), memory)
            }
            _ => Some(Table::default()),
        };
        let Some(Table { segments, bytes }) = table else { return Ok(()) };
        let Ok(request) = command.gathered(0, &segments, memory) else {
            self.unreachable(drive);
            return Ok(());
        };
        debug_assert!(self.running.is_none(), "the drive takes one command at a time");
        self.drives[drive].disk.submit(now, request)?;
        let (is_exact, rest) = (bytes == command.bytes(), VecDeque::new());
        self.running = Some(Running { drive, command, rest, segments, is_exact, line });
        Ok(())
    }

    /// Reads a list of ranges and hands the first to the disk.
    fn trim(
        &mut self,
        now: Time,
        (drive, blocks): (usize, u16),
        line: TraceEntry,
        memory: &impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> io::Result<()> {
        let bytes = u64::from(blocks) * SECTOR_BYTES;
        let Some(table) = self.find(drive, false, bytes, memory) else { return Ok(()) };
        let Ok(ranges) = self.drives[drive].ata.ranges(blocks, &table.segments, memory) else {
            self.unreachable(drive);
            return Ok(());
        };
        // A longer table leaves the bus master active, as SFF-8038i specifies.
        if table.bytes == bytes {
            self.master.finished();
        }
        let (command, rest) = match ranges.map(|mut it| (it.pop_front(), it)) {
            Ok((Some(command), rest)) => (command, rest),
            nothing => {
                let error = nothing.err().unwrap_or(0);
                let status = if error == 0 { READY } else { READY | FAILED };
                self.drives[drive].registers.end(status, error, line.lba.get(), 0);
                done.push(TraceEntry { status: u8::from(error != 0), ..line });
                self.raise(now);
                return Ok(());
            }
        };
        let request = command.gathered(0, &[], memory).expect("it moves no data");
        self.drives[drive].disk.submit(now, request)?;
        let line = TraceEntry { lba: command.lba, sectors: command.sectors, ..line };
        let segments = Vec::new();
        self.running = Some(Running { drive, command, rest, segments, is_exact: true, line });
        Ok(())
    }

    /// Returns the table for `bytes` of data; `None` if the drive now waits for ever.
    fn find(
        &mut self,
        drive: usize,
        to_memory: bool,
        bytes: u64,
        memory: &impl Memory,
    ) -> Option<Table> {
        // A bus master that moves the other way reaches nothing.
        let table = self.master.table(memory).ok();
        let Some(table) = table.filter(|_| self.master.is_to_memory() == to_memory) else {
            self.unreachable(drive);
            return None;
        };
        if table.bytes < bytes {
            // The table ends before the data: the bus master stops.
            self.master.finished();
            self.drives[drive].registers.status = READY | DATA_REQUEST;
            return None;
        }
        Some(table)
    }

    /// Stops the bus master because memory cannot be reached; the drive waits for ever.
    fn unreachable(&mut self, drive: usize) {
        self.master.failed();
        self.drives[drive].registers.status = READY | DATA_REQUEST;
    }

    fn answered(
        &mut self,
        now: Time,
        answer: &Answer,
        memory: &mut impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> io::Result<()> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        if answer.result.is_ok()
            && let Some(next) = running.rest.pop_front()
        {
            let request = next.gathered(0, &[], memory).expect("it moves no data");
            let drive = running.drive;
            self.running = Some(running);
            return self.drives[drive].disk.submit(now, request);
        }
        let Running { drive, command, segments, is_exact, line, .. } = running;
        let Drive { disk, registers, .. } = &mut self.drives[drive];
        let line = TraceEntry { at: now, ..line };
        if let Err(error) = answer.result {
            let at = error.lba.unwrap_or(command.lba).get();
            registers.end(READY | FAILED, UNCORRECTABLE, at, 0);
            done.push(TraceEntry { status: 1, ..line });
            self.raise(now);
            return Ok(());
        }
        let moves = command.op.transfers();
        if moves && !self.master.is_started() {
            // Software stopped the bus master: the data has no destination, and the drive waits for
            // ever.
            registers.status = READY | DATA_REQUEST;
            return Ok(());
        }
        if command.scattered(disk, answer, &segments, memory)?.is_err() {
            self.master.failed();
        } else if moves && is_exact {
            self.master.finished();
        }
        registers.end(READY, 0, command.lba.get(), 0);
        done.push(line);
        self.raise(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
