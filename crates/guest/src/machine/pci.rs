//! The configuration space of a PCI function, and the mask of its writable bits.

/// Bytes of the space.
const SPACE_BYTES: usize = 256;

const COMMAND: usize = 0x04;
const CLASS: usize = 0x08;
const ABAR: usize = 0x24;
const SUBSYSTEM: usize = 0x2C;
const CAPABILITIES: usize = 0x34;
const INTERRUPT: usize = 0x3C;
const POWER: usize = 0x70;
const MSI: usize = 0x80;

/// Intel's ICH9 with its ports in AHCI mode (Linux, `drivers/ata/ahci.c`).
const ICH9_AHCI: u32 = 0x2922_8086;
/// A SATA adapter with the registers of AHCI, revision 2.
const AHCI_CLASS: u32 = 0x0106_0102;
/// The bytes of the registers, at the sixth base address.
pub(super) const ABAR_BYTES: u32 = 2048;
/// The number of that base address.
pub(super) const ABAR_NUMBER: u8 = 5;

/// Intel's ICH7 with its ports in IDE mode (Linux, `drivers/ata/ata_piix.c`).
const ICH7_IDE: u32 = 0x27C0_8086;
/// An IDE controller with a bus master, both channels in native mode, revision 2.
const IDE_CLASS: u32 = 0x0101_8F02;
/// Each block of registers of the first channel: commands, control, bus master. The real chip has
/// them in I/O space; a guest has none, and the driver takes either.
const IDE_BLOCKS: [usize; 3] = [0x10, 0x14, 0x20];
const IDE_BLOCK_BYTES: u32 = 16;
/// Timings, which a drive on a serial link does not have.
const IDE_TIMINGS: [usize; 4] = [0x40, 0x44, 0x48, 0x54];
/// Map of ports to channels, and port control and status: enabled ports, and those with a drive.
const PORTS: usize = 0x90;

/// Interrupts are off in the command register.
const INTERRUPTS_OFF: u32 = 1 << 10;

/// The kind of interrupt of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// By a message: address and data.
    Message(u64, [u8; 2]),
    /// By its line.
    Line,
}

/// A configuration space.
#[derive(Debug)]
pub(super) struct Configuration {
    bytes: [u8; SPACE_BYTES],
    writable: [u8; SPACE_BYTES],
}

impl Configuration {
    /// The space of an AHCI adapter with message signalled interrupts.
    pub(super) fn ahci() -> Self {
        let mut it = Self { bytes: [0; SPACE_BYTES], writable: [0; SPACE_BYTES] };
        it.put(0, ICH9_AHCI, 0);
        // Memory, bus master, errors, and interrupts off may be switched; the status above says
        // that there are capabilities.
        it.put(COMMAND, 0x0010 << 16, 0x0546);
        it.put(CLASS, AHCI_CLASS, 0);
        it.put(ABAR, 0, !(ABAR_BYTES - 1));
        it.put(SUBSYSTEM, 0x0001_8086, 0);
        it.put(CAPABILITIES, u32::try_from(MSI).expect("a byte"), 0);
        it.put(INTERRUPT, 0x0100, 0x00FF);
        // One message, at an address of 64 bits; then power management without a soft reset.
        let next = u32::try_from(POWER).expect("a byte") << 8;
        it.put(MSI, 0x0080_0005 | next, 0x0001_0000);
        it.put(MSI + 4, 0, 0xFFFF_FFFC);
        it.put(MSI + 8, 0, u32::MAX);
        it.put(MSI + 12, 0, 0xFFFF);
        it.put(POWER, 0x0003_0001, 0);
        it.put(POWER + 4, 8, 3);
        it
    }

    /// The space of an IDE controller with one channel in use, which may have a second drive, and a
    /// line interrupt.
    pub(super) fn ide(has_second: bool) -> Self {
        let mut it = Self { bytes: [0; SPACE_BYTES], writable: [0; SPACE_BYTES] };
        it.put(0, ICH7_IDE, 0);
        it.put(COMMAND, 0, 0x0547);
        it.put(CLASS, IDE_CLASS, 0);
        for at in IDE_BLOCKS {
            it.put(at, 0, !(IDE_BLOCK_BYTES - 1));
        }
        it.put(SUBSYSTEM, 0x0001_8086, 0);
        it.put(INTERRUPT, 0x0100, 0x00FF);
        for at in IDE_TIMINGS {
            it.put(at, 0, u32::MAX);
        }
        // Four ports on two channels; the first is enabled, and its drive is present.
        // Ports 0 and 2 are the first and the second drive of the first channel.
        let ports = if has_second { 0x0055 } else { 0x0011 };
        it.put(PORTS, ports << 16, 0x000F << 16);
        it
    }

    fn put(&mut self, at: usize, value: u32, writable: u32) {
        assert!(at.is_multiple_of(4), "registers are aligned");
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self.writable[at..at + 4].copy_from_slice(&writable.to_le_bytes());
    }

    /// Fills `into` from `at` on; bytes beyond the space read as zeros.
    pub(super) fn read(&self, at: u64, into: &mut [u8]) {
        let from = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..));
        let mut from = from.unwrap_or_default().iter().copied();
        into.fill_with(|| from.next().unwrap_or(0));
    }

    /// Writes the writable bits.
    pub(super) fn write(&mut self, at: u64, from: &[u8]) {
        // Read-only bits keep their value: a guest sizes a base address by writing ones to it.
        let Ok(begin) = usize::try_from(at) else { return };
        for (at, byte) in (begin..SPACE_BYTES).zip(from) {
            let writable = self.writable[at];
            self.bytes[at] = self.bytes[at] & !writable | byte & writable;
        }
    }

    fn field(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("4"))
    }

    /// Returns the kind of interrupt; `None` while interrupts are off.
    pub(super) fn interrupt(&self) -> Option<Interrupt> {
        if self.field(CAPABILITIES) == 0 {
            let off = self.field(COMMAND) & INTERRUPTS_OFF != 0;
            return (!off).then_some(Interrupt::Line);
        }
        // The AHCI adapter interrupts by message only: Linux always asks it for MSI.
        let enabled = self.field(MSI) >> 16 & 1 == 1;
        let address = u64::from(self.field(MSI + 4)) | u64::from(self.field(MSI + 8)) << 32;
        let [low, high, ..] = self.field(MSI + 12).to_le_bytes();
        enabled.then_some(Interrupt::Message(address, [low, high]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(space: &Configuration, at: u64) -> u32 {
        let mut bytes = [0; 4];
        space.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn a_guest_finds_the_adapter_and_the_size_of_its_registers() {
        let mut space = Configuration::ahci();
        assert_eq!((word(&space, 0), word(&space, 8)), (0x2922_8086, 0x0106_0102));
        space.write(0x24, &u32::MAX.to_le_bytes());
        assert_eq!(word(&space, 0x24), !2047, "its size");
        space.write(0x24, &0xF000_0123_u32.to_le_bytes());
        assert_eq!(word(&space, 0x24), 0xF000_0000);
        space.write(0, &[0; 4]);
        assert_eq!(word(&space, 0), 0x2922_8086, "not writable");
        assert_eq!(word(&space, 254) >> 16, 0, "beyond the space");
        space.write(u64::MAX, &[1, 2]);
        space.write(254, &[1, 2, 3, 4]);
        assert_eq!(word(&space, u64::MAX), 0);
    }

    #[test]
    fn capabilities_end_and_the_message_is_what_the_guest_set() {
        let mut space = Configuration::ahci();
        let mut at = word(&space, 0x34) & 0xFF;
        let mut seen = Vec::new();
        while at != 0 {
            assert!(seen.len() < 8, "they go in a circle");
            let head = word(&space, u64::from(at));
            seen.push(head & 0xFF);
            at = head >> 8 & 0xFF;
        }
        assert_eq!(seen, [5, 1], "MSI, then power management");
        assert_eq!(space.interrupt(), None);
        space.write(0x84, &0xFEE0_0000_u32.to_le_bytes());
        space.write(0x8C, &[0x41, 0]);
        space.write(0x82, &[1, 0]);
        assert_eq!(space.interrupt(), Some(Interrupt::Message(0xFEE0_0000, [0x41, 0])));
    }

    #[test]
    fn an_ide_controller_is_in_native_mode_and_has_a_line() {
        let mut space = Configuration::ide(false);
        assert_eq!((word(&space, 0), word(&space, 8)), (0x27C0_8086, 0x0101_8F02));
        for at in [0x10, 0x14, 0x20] {
            space.write(at, &u32::MAX.to_le_bytes());
            assert_eq!(word(&space, at), !15, "16 bytes in memory");
        }
        for at in [0x18, 0x1C, 0x24] {
            space.write(at, &u32::MAX.to_le_bytes());
            assert_eq!(word(&space, at), 0, "the second channel is not there");
        }
        assert_eq!((word(&space, 0x90), word(&space, 0x3C) >> 8), (0x0011_0000, 1));
        assert_eq!(space.interrupt(), Some(Interrupt::Line));
        space.write(4, &[0, 4]);
        assert_eq!(space.interrupt(), None, "switched off");
    }
}
