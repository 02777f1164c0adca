//! The bus master of a channel and its table of memory (SFF-8038i, Programming Interface for Bus
//! Master IDE Controller, revision 1.0).

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::machine::chain::Segment;
use crate::memory::{Memory, Outside, get};

/// The offset of the command register.
pub(super) const COMMAND: u64 = 0;
/// The offset of the status register.
pub(super) const STATUS: u64 = 2;
/// The offset of the address of the table.
pub(super) const TABLE: u64 = 4;

/// `Start/Stop Bus Master`.
const START: u8 = 1;
/// `Read or Write Control`: set where data moves to memory.
const TO_MEMORY: u8 = 1 << 3;
/// `Bus Master IDE Active`.
const ACTIVE: u8 = 1;
/// `Error`: memory could not be reached.
const ERROR: u8 = 1 << 1;
/// `Interrupt`: the drive has raised its line.
const INTERRUPT: u8 = 1 << 2;
/// The drives that can do DMA, as set by the host.
const CAPABLE: u8 = 0x60;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Entry {
    address: U32,
    /// Bytes in the lower half, where 0 is 64 KiB; the highest bit ends the table.
    length: U32,
}

const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;
/// A table does not cross a boundary of 64 KiB.
const ENTRIES_MAX: u64 = (1 << 16) / ENTRY_BYTES;
const LAST: u32 = 1 << 31;

/// The pieces of memory in a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Table {
    pub(super) segments: Vec<Segment>,
    /// Bytes of all together.
    pub(super) bytes: u64,
}

/// The registers.
#[derive(Debug, Default)]
pub(super) struct Master {
    command: u8,
    status: u8,
    table: u32,
}

impl Master {
    /// Reads a byte for the host.
    pub(super) fn read(&self, offset: u64) -> u8 {
        match offset {
            COMMAND => self.command,
            STATUS => self.status,
            at => at.checked_sub(TABLE).map_or(0, |byte| {
                let byte = usize::try_from(byte).unwrap_or(usize::MAX);
                self.table.to_le_bytes().get(byte).copied().unwrap_or(0)
            }),
        }
    }

    /// Writes a byte for the host.
    pub(super) fn write(&mut self, offset: u64, value: u8) {
        match offset {
            COMMAND => {
                let (before, after) = (self.is_started(), value & START != 0);
                self.command = value & (START | TO_MEMORY);
                // Setting the bit again does not restart a transfer.
                if after && !before {
                    self.status |= ACTIVE;
                } else if !after {
                    self.status &= !ACTIVE;
                }
            }
            STATUS => {
                // Error and interrupt are cleared by writing 1; the capability bits are storage.
                let cleared = self.status & !(value & (ERROR | INTERRUPT));
                self.status = cleared & !CAPABLE | value & CAPABLE;
            }
            at @ TABLE..8 => {
                let mut bytes = self.table.to_le_bytes();
                bytes[usize::try_from(at - TABLE).expect("below 4")] = value;
                // The two lowest bits are reserved: tables are aligned to four bytes.
                self.table = u32::from_le_bytes(bytes) & !3;
            }
            _ => {}
        }
    }

    pub(super) fn is_started(&self) -> bool {
        self.command & START != 0
    }

    /// Returns whether it moves data in the direction of a read.
    pub(super) fn is_to_memory(&self) -> bool {
        self.command & TO_MEMORY != 0
    }

    /// Records that the drive has raised its line.
    pub(super) fn interrupted(&mut self) {
        self.status |= INTERRUPT;
    }

    /// Ends the transfer at the end of the table.
    pub(super) fn finished(&mut self) {
        self.status &= !ACTIVE;
    }

    /// Ends the transfer because memory could not be reached.
    pub(super) fn failed(&mut self) {
        self.status = self.status & !ACTIVE | ERROR;
    }

    /// Reads the table.
    pub(super) fn table(&self, memory: &impl Memory) -> Result<Table, Outside> {
        let mut table = Table { segments: Vec::new(), bytes: 0 };
        // A table without a last entry ends at its 64 KiB.
        for number in 0..ENTRIES_MAX {
            let entry: Entry = get(memory, u64::from(self.table) + number * ENTRY_BYTES)?;
            // Bit 0 of length and address is reserved, and zero.
            let length = match entry.length.get() & 0xFFFE {
                0 => 1 << 16,
                length => length,
            };
            let address = u64::from(entry.address.get() & !1);
            table.segments.push(Segment { address, length });
            table.bytes += u64::from(length);
            if entry.length.get() & LAST != 0 {
                break;
            }
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_to_its_last_entry() {
        let mut memory = vec![0; 0x2_0000];
        let entries = [(0x1000_u32, 0x200_u32), (0x8001, 0), (0x3000, LAST | 0x10), (0x4000, 2)];
        for (at, (address, length)) in (0x100_u64..).step_by(8).zip(entries) {
            memory.write(at, &address.to_le_bytes()).unwrap();
            memory.write(at + 4, &length.to_le_bytes()).unwrap();
        }
        let mut master = Master::default();
        for (at, byte) in (TABLE..).zip([0x02, 0x01, 0, 0]) {
            master.write(at, byte);
        }
        assert_eq!([4, 5, 6, 7, 8].map(|at| master.read(at)), [0, 1, 0, 0, 0], "aligned to 4");
        let table = master.table(&memory).unwrap();
        let segment = |address, length| Segment { address, length };
        let expected = [segment(0x1000, 0x200), segment(0x8000, 0x1_0000), segment(0x3000, 0x10)];
        assert_eq!((table.segments, table.bytes), (expected.to_vec(), 0x1_0210));
        // One without an end ends where its 64 KiB do, or outside of memory.
        memory.write(0x110 + 4, &2_u32.to_le_bytes()).unwrap();
        assert_eq!(master.table(&memory).unwrap().segments.len(), 8192);
        memory.truncate(0x8000);
        master.table(&memory).unwrap_err();
    }

    #[test]
    fn bits_are_cleared_by_ones_and_a_stop_ends_the_activity() {
        let mut master = Master::default();
        master.write(COMMAND, 0xFF);
        assert_eq!((master.read(COMMAND), master.read(STATUS)), (9, 1));
        master.interrupted();
        master.write(STATUS, CAPABLE);
        assert_eq!(master.read(STATUS), 0x65);
        master.write(STATUS, INTERRUPT | ERROR);
        assert_eq!(master.read(STATUS), 1, "what is not cleared stays, active is read only");
        master.write(COMMAND, 8);
        assert_eq!((master.is_started(), master.read(STATUS)), (false, 0));
    }
}
