//! The task file of an IDE channel and its control register (ATA/ATAPI-7, volume 2, section 5).

use crate::machine::ata::{BUSY, READY, TaskFile};

/// Offset of the data register in the command block.
pub(super) const DATA: u64 = 0;
/// Read: the error; written: the features.
pub(super) const ERROR: u64 = 1;
/// The number of sectors.
pub(super) const COUNT: u64 = 2;
/// The lowest byte of the address.
pub(super) const LOW: u64 = 3;
/// The middle byte of the address.
pub(super) const MID: u64 = 4;
/// The highest byte of the address.
pub(super) const HIGH: u64 = 5;
/// The device, and a part of the address in 28-bit commands.
pub(super) const DEVICE: u64 = 6;
/// Read: the status, which clears the interrupt; written: the command.
pub(super) const STATUS: u64 = 7;

/// `DEV`: the second drive of the channel.
const SECOND: u8 = 0x10;
/// Bits of the device register that are always set.
const ALWAYS: u8 = 0xA0;
/// `nIEN`: the drive's interrupt does not leave it.
const SILENT: u8 = 1 << 1;
/// `SRST`.
const RESET: u8 = 1 << 2;
/// `HOB`: registers show the value before the last one that was written.
const BEFORE: u8 = 1 << 7;
/// `BSY`.
const IS_BUSY: u8 = 1 << 7;

/// A register of two bytes: the last one written, and the one before.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    last: u8,
    before: u8,
}

impl Pair {
    fn push(&mut self, value: u8) {
        // A 48-bit command writes each register twice, its upper byte first.
        *self = Self { last: value, before: self.last };
    }

    fn shown(self, is_before: bool) -> u8 {
        if is_before { self.before } else { self.last }
    }

    fn wide(self) -> u16 {
        u16::from_le_bytes([self.last, self.before])
    }
}

/// The registers.
#[derive(Debug, Default)]
pub(super) struct Registers {
    features: Pair,
    count: Pair,
    lba: [Pair; 3],
    device: u8,
    /// The bit of the device register that selects this drive.
    own: u8,
    control: u8,
    pub(super) status: u8,
    error: u8,
}

impl Registers {
    /// The registers of the first or the second drive of a channel after a reset.
    pub(super) fn new(is_second: bool) -> Self {
        let own = if is_second { SECOND } else { 0 };
        let mut it = Self { own, ..Self::default() };
        it.sign();
        it
    }

    /// Returns whether this drive is selected, and not the other one.
    pub(super) fn is_selected(&self) -> bool {
        self.device & SECOND == self.own
    }

    pub(super) fn is_busy(&self) -> bool {
        self.status & IS_BUSY != 0
    }

    /// Returns whether interrupts stay in the drive.
    pub(super) fn is_silent(&self) -> bool {
        self.control & SILENT != 0
    }

    /// Returns whether the drive is held in reset.
    pub(super) fn is_reset(&self) -> bool {
        self.control & RESET != 0
    }

    /// Reads a register without side effects.
    pub(super) fn read(&self, offset: u64) -> u8 {
        let is_before = self.control & BEFORE != 0;
        match offset {
            DEVICE => self.device | ALWAYS,
            // The first drive answers for a missing second one, with zeros.
            _ if !self.is_selected() => 0,
            ERROR => self.error,
            COUNT => self.count.shown(is_before),
            LOW => self.lba[0].shown(is_before),
            MID => self.lba[1].shown(is_before),
            HIGH => self.lba[2].shown(is_before),
            STATUS => self.status,
            _ => 0,
        }
    }

    /// Writes to any register but data and command.
    pub(super) fn write(&mut self, offset: u64, value: u8) {
        // Any write to the command block clears HOB (ATA/ATAPI-7, volume 2).
        self.control &= !BEFORE;
        match offset {
            ERROR => self.features.push(value),
            COUNT => self.count.push(value),
            LOW => self.lba[0].push(value),
            MID => self.lba[1].push(value),
            HIGH => self.lba[2].push(value),
            DEVICE => self.device = value,
            _ => {}
        }
    }

    /// Writes to the control register.
    pub(super) fn set_control(&mut self, value: u8) {
        self.control = value;
    }

    /// Returns the task file of a command that is written now.
    pub(super) fn task(&self, command: u8) -> TaskFile {
        let [low, mid, high] = self.lba;
        let lba = [low.last, mid.last, high.last, low.before, mid.before, high.before, 0, 0];
        TaskFile {
            command,
            features: self.features.wide(),
            lba: u64::from_le_bytes(lba),
            device: self.device,
            count: self.count.wide(),
        }
    }

    /// Sets the registers of a drive that has taken a command.
    pub(super) fn begin(&mut self) {
        (self.status, self.error) = (BUSY, 0);
    }

    /// Sets the registers of a drive at the end of a command.
    pub(super) fn end(&mut self, status: u8, error: u8, lba: u64, count: u16) {
        let [l0, l1, l2, l3, l4, l5, ..] = lba.to_le_bytes();
        let [c0, c1] = count.to_le_bytes();
        self.lba = [(l0, l3), (l1, l4), (l2, l5)].map(|(last, before)| Pair { last, before });
        self.count = Pair { last: c0, before: c1 };
        (self.status, self.error) = (status, error);
    }

    /// Holds this drive in reset, and selects the first drive.
    pub(super) fn hold(&mut self) {
        // SRST resets both drives and selects the first.
        (self.status, self.error, self.device) = (IS_BUSY, 0, 0);
    }

    /// Sets the signature of a disk after a reset: no error, count 1, address 1.
    pub(super) fn sign(&mut self) {
        self.end(READY, 1, 1, 1);
        self.device = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_48_bits_is_written_in_two_halves() {
        let mut registers = Registers::new(false);
        for (offset, first, second) in
            [(ERROR, 9, 8), (COUNT, 1, 2), (LOW, 4, 1), (MID, 5, 2), (HIGH, 6, 3)]
        {
            registers.write(offset, first);
            registers.write(offset, second);
        }
        registers.write(DEVICE, 0x40);
        let task = TaskFile {
            command: 0x25,
            features: 0x0908,
            lba: 0x0605_0403_0201,
            device: 0x40,
            count: 0x0102,
        };
        assert_eq!(registers.task(0x25), task);
        let read = |registers: &Registers| [LOW, MID, HIGH].map(|at| registers.read(at));
        assert_eq!(read(&registers), [1, 2, 3]);
        registers.set_control(BEFORE);
        assert_eq!((read(&registers), registers.read(COUNT)), ([4, 5, 6], 1));
        registers.write(LOW, 7);
        assert_eq!(registers.read(LOW), 7, "a write shows the last again");
    }

    #[test]
    fn the_second_drive_is_not_there() {
        let mut registers = Registers::new(false);
        assert_eq!((registers.read(STATUS), registers.read(ERROR)), (0x50, 1));
        assert_eq!([COUNT, LOW, MID, HIGH].map(|at| registers.read(at)), [1, 1, 0, 0]);
        registers.write(DEVICE, SECOND);
        registers.write(COUNT, 0x55);
        assert_eq!((registers.read(STATUS), registers.read(COUNT)), (0, 0));
        assert_eq!(registers.read(DEVICE), 0xB0);
        registers.write(DEVICE, 0);
        assert_eq!(registers.read(COUNT), 0x55, "both drives of a channel take a write");
        let mut second = Registers::new(true);
        assert_eq!((second.is_selected(), second.read(STATUS)), (false, 0));
        second.write(DEVICE, SECOND);
        assert_eq!(
            (second.is_selected(), second.read(STATUS), second.read(COUNT)),
            (true, 0x50, 1)
        );
    }
}
