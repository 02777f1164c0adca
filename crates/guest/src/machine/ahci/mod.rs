//! An AHCI host bus adapter with one port, in front of a [`Disk`] (AHCI 1.3.1, Serial ATA 3.0).
//!
//! The guest writes commands into its memory and names their slots in a register; the adapter
//! hands them to the drive, puts the drive's frames into memory, and interrupts. What a command and
//! its data take on the link is the drive model's affair; the adapter adds what the registers cost
//! the processor.

mod fis;
mod function;
mod list;
mod port;
mod registers;

use std::collections::{BTreeMap, VecDeque};
use std::io;

use drivelab_core::disk::{Answer, Disk};
use drivelab_core::{Lba, Sectors, Span, Time};

use super::ata::{
    ABORTED, Action, Ata, AtaConfig, BUSY, FAILED, MediumCommand, READY, UNCORRECTABLE,
};
use super::chain::{self, Segment};
use super::trace_entry::TraceEntry;
use crate::memory::{Memory, Outside};
use fis::{FromHost, Registers};
use port::{Port, PortRequest};

/// Time that a processor waits for a register to be read: a PCI Express round trip of 64 bytes had
/// a median of 547 ns (Neugebauer et al., Understanding `PCIe` performance for end host networking,
/// SIGCOMM 2018, section 6.2). Writes are posted, so it does not wait for them.
pub const REGISTER_READ: Span = Span::from_ns(547);

/// A command that the drive has.
#[derive(Debug)]
struct Running {
    segments: Vec<Segment>,
    command: MediumCommand,
    /// The remaining ranges of a list, which are trimmed before it is answered.
    rest: VecDeque<MediumCommand>,
    done: TraceEntry,
}

/// A slot that the guest issued in a register, and the time at which its command reaches the drive.
#[derive(Debug, Clone, Copy)]
struct Issued {
    slot: u8,
    written: Time,
    at: Time,
}

/// The adapter.
#[derive(Debug)]
pub struct Ahci<D> {
    disk: D,
    port: Port,
    ata: Ata,
    /// Time until which the processor waits for registers that it has read.
    processor: Time,
    issued: VecDeque<Issued>,
    running: BTreeMap<u8, Running>,
    /// Slot of the command that is not queued: the drive takes no other with it.
    alone: Option<u8>,
    /// True after a failed command: no other is taken before the guest stops the port.
    halted: bool,
    /// Queued commands that completed in this instant: one frame names all.
    finished: u32,
    answers: Vec<Answer>,
}

impl<D: Disk> Ahci<D> {
    /// An adapter with a drive that `config` describes.
    pub fn new(disk: D, config: AtaConfig) -> Self {
        Self {
            disk,
            port: Port::new(config.link),
            ata: Ata::new(config),
            processor: Time::ZERO,
            issued: VecDeque::new(),
            running: BTreeMap::new(),
            alone: None,
            halted: false,
            finished: 0,
            answers: Vec::new(),
        }
    }

    /// The disk, once no guest uses the adapter.
    pub fn into_disk(self) -> D {
        self.disk
    }

    /// The disk, while it has no command.
    pub(super) fn idle_disk(&mut self) -> Option<&mut D> {
        let is_idle = self.issued.is_empty() && self.running.is_empty();
        is_idle.then_some(&mut self.disk)
    }

    /// Returns the time of the next event of the adapter.
    pub fn next_event(&self) -> Option<Time> {
        let issued = self.issued.front().filter(|_| self.takes_commands()).map(|it| it.at);
        [self.port.next_event(), issued, self.disk.next_event()].into_iter().flatten().min()
    }

    fn takes_commands(&self) -> bool {
        self.alone.is_none() && !self.halted && self.port.is_ready()
    }

    /// Reads the register at `offset` for the processor.
    pub fn read_register(&mut self, now: Time, offset: u64) -> u32 {
        self.processor = self.processor.max(now) + REGISTER_READ;
        // Registers have 32 bits; a narrower access reads the one that contains it.
        self.port.read(offset & !3)
    }

    /// Writes to the register at `offset` for the processor.
    pub fn write_register(&mut self, now: Time, offset: u64, value: u32) -> io::Result<()> {
        match self.port.write(now, offset & !3, value) {
            PortRequest::Nothing => {}
            PortRequest::Commands(slots) => {
                // The processor may still wait for a register that it read: its write leaves after
                // that.
                let at = self.processor.max(now);
                let slots = (0..32).filter(|slot| slots & 1 << slot != 0);
                self.issued.extend(slots.map(|slot| Issued { slot, written: now, at }));
            }
            PortRequest::Stop => self.drop_commands()?,
            PortRequest::Reset => {
                self.drop_commands()?;
                self.ata.reset();
            }
        }
        Ok(())
    }

    /// Drops every command; the drive answers none of them.
    fn drop_commands(&mut self) -> io::Result<()> {
        self.issued.clear();
        (self.alone, self.halted, self.finished) = (None, false, 0);
        // A drive without a command has nothing to abort, and keeps its state.
        if self.running.is_empty() {
            return Ok(());
        }
        self.running.clear();
        self.disk.reset()
    }

    /// Carries out the events that are due at `now`; returns whether the guest must be interrupted.
    pub fn advance(
        &mut self,
        now: Time,
        memory: &mut impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> io::Result<bool> {
        // The drive sends its signature as soon as the link is up.
        if self.port.connect(now) {
            self.receive(memory, fis::REGISTER_AT, &fis::register(SIGNATURE, false));
        }
        self.start_due(now, memory, done)?;
        let mut answers = std::mem::take(&mut self.answers);
        self.disk.advance(now, &mut answers)?;
        for answer in answers.drain(..) {
            self.answered(now, &answer, memory, done)?;
        }
        self.answers = answers;
        self.report_finished(memory);
        // A command that has just completed may be the one that kept others waiting.
        self.start_due(now, memory, done)?;
        self.port.interrupt_if_pending(now, false);
        let is_due = self.port.interrupt.is_some_and(|at| at <= now);
        if is_due {
            self.port.interrupt = None;
        }
        Ok(is_due)
    }

    /// Starts the commands that are due.
    fn start_due(
        &mut self,
        now: Time,
        memory: &mut impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> io::Result<()> {
        while self.takes_commands()
            && let Some(issued) = self.issued.front().copied().filter(|it| it.at <= now)
        {
            self.issued.pop_front();
            if self.start(now, issued, memory, done)?.is_err() {
                // A command list or a buffer is not in memory: a fatal error, after which software
                // must restart the port (AHCI 1.3.1, section 6.2.2).
                self.halted = true;
                self.port.status |= registers::BUS_ERROR;
            }
        }
        Ok(())
    }

    fn start(
        &mut self,
        now: Time,
        issued: Issued,
        memory: &mut impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> io::Result<Result<(), Outside>> {
        let Issued { slot, written, .. } = issued;
        let listed = match list::read(memory, self.port.command_list, slot) {
            Ok(listed) => listed,
            Err(outside) => return Ok(Err(outside)),
        };
        let task = match fis::from_host(&listed.fis) {
            FromHost::Command(task) => task,
            FromHost::Control { reset } => return self.soft_reset(slot, reset, memory).map(Ok),
            FromHost::Unknown => {
                self.refuse(slot, ABORTED, 0, memory);
                return Ok(Ok(()));
            }
        };
        let (kind, lba) = (u32::from(task.command), Lba::new(task.lba));
        let (submitted, sectors) = (written, Sectors::ZERO);
        let entry = TraceEntry { disk: 0, submitted, at: now, kind, lba, sectors, status: 0 };
        // A command that is not queued, or with a tag in use, aborts all queued ones (ATA8-ACS).
        let is_new = !self.running.contains_key(&slot);
        let action = match self.ata.decode(&task) {
            Action::Medium(MediumCommand { tag: Some(tag), .. }) if tag != slot => {
                Action::Refused(ABORTED)
            }
            action @ Action::Medium(MediumCommand { tag: Some(_), .. }) if is_new => action,
            _ if !self.running.is_empty() => {
                self.running.clear();
                self.disk.reset()?;
                Action::Refused(ABORTED)
            }
            action => action,
        };
        match action {
            Action::Medium(command) => {
                let entry = TraceEntry { lba: command.lba, sectors: command.sectors, ..entry };
                let (segments, rest) = (listed.segments, VecDeque::new());
                let running = Running { segments, command, rest, done: entry };
                return self.submit(now, slot, running, memory);
            }
            Action::Trim { blocks } => match self.ata.ranges(blocks, &listed.segments, memory) {
                Ok(ranges) => return self.trim(now, slot, entry, ranges, memory).map(Ok),
                Err(outside) => return Ok(Err(outside)),
            },
            Action::DataIn(data) => {
                let moved = self.data_in(slot, &listed.segments, &data, memory);
                done.push(entry);
                return Ok(moved);
            }
            Action::Done { lba, count } => {
                self.complete(slot, Registers { status: READY, error: 0, lba, count }, memory);
                done.push(entry);
            }
            Action::Refused(error) => {
                self.refuse(slot, error, task.lba, memory);
                done.push(TraceEntry { status: 1, ..entry });
            }
        }
        Ok(Ok(()))
    }

    /// Hands the first range of a list to the disk.
    fn trim(
        &mut self,
        now: Time,
        slot: u8,
        line: TraceEntry,
        ranges: Result<VecDeque<MediumCommand>, u8>,
        memory: &mut impl Memory,
    ) -> io::Result<()> {
        match ranges.map(|mut ranges| (ranges.pop_front(), ranges)) {
            Ok((Some(command), rest)) => {
                let done = TraceEntry { lba: command.lba, sectors: command.sectors, ..line };
                let running = Running { segments: Vec::new(), command, rest, done };
                let submitted = self.submit(now, slot, running, memory)?;
                submitted.expect("it moves no data");
            }
            Ok((None, _)) => {
                self.complete(slot, Registers { status: READY, ..Registers::default() }, memory);
            }
            Err(error) => self.refuse(slot, error, line.lba.get(), memory),
        }
        Ok(())
    }

    /// Hands a command to the disk.
    fn submit(
        &mut self,
        now: Time,
        slot: u8,
        running: Running,
        memory: &mut impl Memory,
    ) -> io::Result<Result<(), Outside>> {
        let gathered = running.command.gathered(u64::from(slot), &running.segments, memory);
        let command = match gathered {
            Ok(command) => command,
            Err(outside) => return Ok(Err(outside)),
        };
        if running.command.tag.is_some() {
            // The drive has it, and the link is free for others.
            let accepted = Registers { status: READY, error: 0, lba: command.lba.get(), count: 0 };
            self.receive(memory, fis::REGISTER_AT, &fis::register(accepted, false));
            self.port.task_file = u32::from(READY);
            self.port.issued &= !(1 << slot);
        } else {
            self.port.task_file = u32::from(BUSY);
            self.alone = Some(slot);
        }
        self.disk.submit(now, command)?;
        let before = self.running.insert(slot, running);
        debug_assert!(before.is_none(), "a slot holds one command");
        Ok(Ok(()))
    }

    fn answered(
        &mut self,
        now: Time,
        answer: &Answer,
        memory: &mut impl Memory,
        done: &mut Vec<TraceEntry>,
    ) -> io::Result<()> {
        // Queued commands carry the slot as their tag, so one number names both.
        let slot = u8::try_from(answer.token).expect("a token is a slot");
        // Commands that a failed one aborted are not answered.
        let Some(mut running) = self.running.remove(&slot) else { return Ok(()) };
        if answer.result.is_ok()
            && let Some(next) = running.rest.pop_front()
        {
            let request = next.gathered(answer.token, &[], memory).expect("it moves no data");
            self.running.insert(slot, running);
            return self.disk.submit(now, request);
        }
        let Running { segments, command, done: line, .. } = running;
        debug_assert!(command.tag.is_some() || self.alone == Some(slot), "others run alone");
        let line = TraceEntry { at: now, ..line };
        if let Err(error) = answer.result {
            done.push(TraceEntry { status: 1, ..line });
            return self.failed(slot, command, error.lba.unwrap_or(command.lba), memory);
        }
        if command.scattered(&mut self.disk, answer, &segments, memory)?.is_err() {
            self.halted = true;
            self.port.status |= registers::BUS_ERROR;
        }
        done.push(line);
        if command.tag.is_some() {
            self.finished |= 1 << slot;
            return Ok(());
        }
        self.alone = None;
        // A list outside memory was detected when the command was read.
        let _ = list::set_moved(memory, self.port.command_list, slot, command.bytes());
        let lba = command.lba.get();
        self.complete(slot, Registers { status: READY, error: 0, lba, count: 0 }, memory);
        Ok(())
    }

    /// Fails a command: the drive takes no other before the host has read the error.
    fn failed(
        &mut self,
        slot: u8,
        command: MediumCommand,
        at: Lba,
        memory: &mut impl Memory,
    ) -> io::Result<()> {
        self.alone = None;
        let error = UNCORRECTABLE;
        let Some(tag) = command.tag else {
            self.refuse(slot, error, at.get(), memory);
            return Ok(());
        };
        // The host reads the log of the error before it issues commands again.
        self.ata.failed(tag, FAILED, error, at);
        let frame = fis::device_bits(FAILED, error, self.finished);
        self.receive(memory, fis::DEVICE_BITS_AT, &frame);
        self.port.active &= !std::mem::take(&mut self.finished);
        self.port.task_file = u32::from(FAILED) | u32::from(error) << 8;
        self.port.status |= registers::DEVICE_BITS | registers::TASK_FILE_ERROR;
        self.halted = true;
        self.running.clear();
        self.disk.reset()
    }

    /// Sends one frame for all queued commands that completed at this instant.
    fn report_finished(&mut self, memory: &mut impl Memory) {
        let finished = std::mem::take(&mut self.finished);
        if finished == 0 {
            return;
        }
        let frame = fis::device_bits(READY, 0, finished);
        self.receive(memory, fis::DEVICE_BITS_AT, &frame);
        self.port.active &= !finished;
        self.port.status |= registers::DEVICE_BITS;
    }

    /// Sends data that needs no medium to the host.
    fn data_in(
        &mut self,
        slot: u8,
        segments: &[Segment],
        data: &[u8],
        memory: &mut impl Memory,
    ) -> Result<(), Outside> {
        // A table that is too short receives as much as it holds, as from a real adapter.
        let room = usize::try_from(chain::length(segments)).unwrap_or(usize::MAX);
        let data = &data[..data.len().min(room)];
        chain::scatter(memory, segments, 0, data)?;
        list::set_moved(memory, self.port.command_list, slot, data.len() as u64)?;
        let bytes = u16::try_from(data.len()).unwrap_or(0);
        // 8 is DRQ: data follows the frame.
        let before = Registers { status: READY | 8, ..Registers::default() };
        self.receive(memory, fis::PIO_SETUP_AT, &fis::pio_setup(before, READY, bytes));
        self.port.task_file = u32::from(READY);
        self.port.issued &= !(1 << slot);
        self.port.status |= registers::PIO_SETUP;
        Ok(())
    }

    fn complete(&mut self, slot: u8, registers: Registers, memory: &mut impl Memory) {
        self.receive(memory, fis::REGISTER_AT, &fis::register(registers, true));
        self.port.task_file = u32::from(registers.status) | u32::from(registers.error) << 8;
        self.port.status |= registers::REGISTER_FIS;
        self.port.issued &= !(1 << slot);
    }

    /// Refuses a command; its slot stays set in `PxCI`, by which the guest identifies it.
    fn refuse(&mut self, slot: u8, error: u8, lba: u64, memory: &mut impl Memory) {
        self.complete(slot, Registers { status: FAILED | READY, error, lba, count: 0 }, memory);
        self.port.status |= registers::TASK_FILE_ERROR;
        self.port.issued |= 1 << slot;
        self.halted = true;
    }

    /// Begins or ends a soft reset; at its end the drive sends its signature.
    fn soft_reset(&mut self, slot: u8, reset: bool, memory: &mut impl Memory) -> io::Result<()> {
        self.port.issued &= !(1 << slot);
        if !self.running.is_empty() {
            self.running.clear();
            self.disk.reset()?;
        }
        self.ata.reset();
        // A soft reset takes two frames: one sets SRST, and the other clears it.
        if reset {
            self.port.task_file = u32::from(BUSY);
        } else {
            self.port.sign();
            self.receive(memory, fis::REGISTER_AT, &fis::register(SIGNATURE, false));
        }
        Ok(())
    }

    /// Writes a frame to the guest's received FIS structure.
    fn receive(&mut self, memory: &mut impl Memory, at: u64, frame: &[u8]) {
        let address = self.port.frames.wrapping_add(at);
        if self.port.receives() && memory.write(address, frame).is_err() {
            self.halted = true;
            self.port.status |= registers::BUS_ERROR;
        }
    }
}

/// The registers of a disk after a reset: no error, and 1 in its count and its address.
const SIGNATURE: Registers = Registers { status: READY, error: 1, lba: 1, count: 1 };

#[cfg(test)]
mod tests;
