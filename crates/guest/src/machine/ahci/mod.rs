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
use super::done::Done;
use crate::memory::{Memory, Outside};
use fis::{FromHost, Registers};
use port::{Asked, Port};

/// How long a processor waits for a register to be read: a PCI Express round trip of 64 bytes had a
/// median of 547 ns (Neugebauer et al., Understanding `PCIe` performance for end host networking,
/// SIGCOMM 2018, section 6.2). Writes are posted, and it does not wait.
pub const REGISTER_READ: Span = Span::from_ns(547);

/// A command that the drive has.
#[derive(Debug)]
struct Running {
    segments: Vec<Segment>,
    command: MediumCommand,
    /// What follows it before it is answered: the other ranges of a list.
    rest: VecDeque<MediumCommand>,
    done: Done,
}

/// A slot that the guest named in a register, and when its command reaches the drive.
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
    /// Until when the processor waits for registers that it has read.
    processor: Time,
    issued: VecDeque<Issued>,
    running: BTreeMap<u8, Running>,
    /// The command that is not queued, which the drive takes alone.
    alone: Option<u8>,
    /// A command failed: no other is taken before the guest stops the port.
    halted: bool,
    /// Queued commands that were done in this instant: one frame names all.
    finished: u32,
    answers: Vec<Answer>,
}

impl<D: Disk> Ahci<D> {
    /// An adapter with a drive that says `config` of itself.
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

    /// The disk, while nothing is asked of it.
    pub(super) fn idle_disk(&mut self) -> Option<&mut D> {
        let is_idle = self.issued.is_empty() && self.running.is_empty();
        is_idle.then_some(&mut self.disk)
    }

    /// When the adapter next has something to do.
    pub fn next_event(&self) -> Option<Time> {
        let issued = self.issued.front().filter(|_| self.takes_commands()).map(|it| it.at);
        [self.port.next_event(), issued, self.disk.next_event()].into_iter().flatten().min()
    }

    fn takes_commands(&self) -> bool {
        self.alone.is_none() && !self.halted && self.port.is_ready()
    }

    /// What the processor reads in the register at `offset`.
    pub fn read_register(&mut self, now: Time, offset: u64) -> u32 {
        self.processor = self.processor.max(now) + REGISTER_READ;
        self.port.read(offset & !3)
    }

    /// The processor writes to the register at `offset`.
    pub fn write_register(&mut self, now: Time, offset: u64, value: u32) -> io::Result<()> {
        match self.port.write(now, offset & !3, value) {
            Asked::Nothing => {}
            Asked::Commands(slots) => {
                let at = self.processor.max(now);
                let slots = (0..32).filter(|slot| slots & 1 << slot != 0);
                self.issued.extend(slots.map(|slot| Issued { slot, written: now, at }));
            }
            Asked::Stop => self.drop_commands()?,
            Asked::Reset => {
                self.drop_commands()?;
                self.ata.reset();
            }
        }
        Ok(())
    }

    /// Forgets every command; the drive answers none of them.
    fn drop_commands(&mut self) -> io::Result<()> {
        self.issued.clear();
        (self.alone, self.halted, self.finished) = (None, false, 0);
        if self.running.is_empty() {
            return Ok(());
        }
        self.running.clear();
        self.disk.reset()
    }

    /// Does what is due at `now`; says whether the guest must be interrupted.
    pub fn advance(
        &mut self,
        now: Time,
        memory: &mut impl Memory,
        done: &mut Vec<Done>,
    ) -> io::Result<bool> {
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
        self.start_due(now, memory, done)?;
        self.port.interrupt_if_pending(now, false);
        let is_due = self.port.interrupt.is_some_and(|at| at <= now);
        if is_due {
            self.port.interrupt = None;
        }
        Ok(is_due)
    }

    /// Hands over the commands whose time has come.
    fn start_due(
        &mut self,
        now: Time,
        memory: &mut impl Memory,
        done: &mut Vec<Done>,
    ) -> io::Result<()> {
        while self.takes_commands()
            && let Some(issued) = self.issued.front().copied().filter(|it| it.at <= now)
        {
            self.issued.pop_front();
            if self.start(now, issued, memory, done)?.is_err() {
                // A command list or a buffer that is not in memory.
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
        done: &mut Vec<Done>,
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
        let line =
            Done { submitted: written, at: now, kind, lba, sectors: Sectors::ZERO, status: 0 };
        // A command that is not queued ends all that are.
        let mixes = !self.running.is_empty();
        let action = match self.ata.decode(&task) {
            Action::Medium(MediumCommand { tag: Some(tag), .. }) if tag != slot => {
                Action::Refused(ABORTED)
            }
            action @ Action::Medium(MediumCommand { tag: Some(_), .. }) => action,
            _ if mixes => {
                self.running.clear();
                self.disk.reset()?;
                Action::Refused(ABORTED)
            }
            action => action,
        };
        match action {
            Action::Medium(command) => {
                let line = Done { lba: command.lba, sectors: command.sectors, ..line };
                let (segments, rest) = (listed.segments, VecDeque::new());
                let running = Running { segments, command, rest, done: line };
                return self.submit(now, slot, running, memory);
            }
            Action::Trim { blocks } => match self.ata.ranges(blocks, &listed.segments, memory) {
                Ok(ranges) => return self.trim(now, slot, line, ranges, memory).map(Ok),
                Err(outside) => return Ok(Err(outside)),
            },
            Action::DataIn(data) => {
                let moved = self.data_in(slot, &listed.segments, &data, memory);
                done.push(line);
                return Ok(moved);
            }
            Action::Done { lba, count } => {
                self.complete(slot, Registers { status: READY, error: 0, lba, count }, memory);
                done.push(line);
            }
            Action::Refused(error) => {
                self.refuse(slot, error, task.lba, memory);
                done.push(Done { status: 1, ..line });
            }
        }
        Ok(Ok(()))
    }

    /// Hands the first range of a list to the disk.
    fn trim(
        &mut self,
        now: Time,
        slot: u8,
        line: Done,
        ranges: Result<VecDeque<MediumCommand>, u8>,
        memory: &mut impl Memory,
    ) -> io::Result<()> {
        match ranges.map(|mut ranges| (ranges.pop_front(), ranges)) {
            Ok((Some(command), rest)) => {
                let done = Done { lba: command.lba, sectors: command.sectors, ..line };
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
        self.running.insert(slot, running);
        Ok(Ok(()))
    }

    fn answered(
        &mut self,
        now: Time,
        answer: &Answer,
        memory: &mut impl Memory,
        done: &mut Vec<Done>,
    ) -> io::Result<()> {
        let slot = u8::try_from(answer.token).expect("a token is a slot");
        // Those that a failed command took with it are not answered.
        let Some(mut running) = self.running.remove(&slot) else { return Ok(()) };
        if answer.result.is_ok()
            && let Some(next) = running.rest.pop_front()
        {
            let request = next.gathered(answer.token, &[], memory).expect("it moves no data");
            self.running.insert(slot, running);
            return self.disk.submit(now, request);
        }
        let Running { segments, command, done: line, .. } = running;
        let line = Done { at: now, ..line };
        if let Err(error) = answer.result {
            done.push(Done { status: 1, ..line });
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
        // What is not there was noticed when the command was read.
        let _ = list::set_moved(memory, self.port.command_list, slot, command.bytes());
        let lba = command.lba.get();
        self.complete(slot, Registers { status: READY, error: 0, lba, count: 0 }, memory);
        Ok(())
    }

    /// The medium failed a command: the drive takes no other before the host has asked why.
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

    /// One frame for all queued commands that were done at this instant.
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

    /// Data for the host that needs no medium.
    fn data_in(
        &mut self,
        slot: u8,
        segments: &[Segment],
        data: &[u8],
        memory: &mut impl Memory,
    ) -> Result<(), Outside> {
        let room = usize::try_from(chain::length(segments)).unwrap_or(usize::MAX);
        let data = &data[..data.len().min(room)];
        chain::scatter(memory, segments, 0, data)?;
        list::set_moved(memory, self.port.command_list, slot, data.len() as u64)?;
        let bytes = u16::try_from(data.len()).unwrap_or(0);
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

    /// The slot of a command that failed stays named: the guest finds out which it was.
    fn refuse(&mut self, slot: u8, error: u8, lba: u64, memory: &mut impl Memory) {
        self.complete(slot, Registers { status: FAILED | READY, error, lba, count: 0 }, memory);
        self.port.status |= registers::TASK_FILE_ERROR;
        self.port.issued |= 1 << slot;
        self.halted = true;
    }

    /// A soft reset holds the drive; at its end the drive shows its signature.
    fn soft_reset(&mut self, slot: u8, reset: bool, memory: &mut impl Memory) -> io::Result<()> {
        self.port.issued &= !(1 << slot);
        if !self.running.is_empty() {
            self.running.clear();
            self.disk.reset()?;
        }
        self.ata.reset();
        if reset {
            self.port.task_file = u32::from(BUSY);
        } else {
            self.port.sign();
            self.receive(memory, fis::REGISTER_AT, &fis::register(SIGNATURE, false));
        }
        Ok(())
    }

    /// Puts a frame where the guest receives it.
    fn receive(&mut self, memory: &mut impl Memory, at: u64, frame: &[u8]) {
        let place = self.port.frames.wrapping_add(at);
        if self.port.receives() && memory.write(place, frame).is_err() {
            self.halted = true;
            self.port.status |= registers::BUS_ERROR;
        }
    }
}

/// What a disk sends after a reset: no error, and one in its count and its address.
const SIGNATURE: Registers = Registers { status: READY, error: 1, lba: 1, count: 1 };

#[cfg(test)]
mod tests;
