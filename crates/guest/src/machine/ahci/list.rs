//! The command list and its tables in guest memory (AHCI 1.3.1, section 4.2).

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::fis::REGISTER_BYTES;
use crate::machine::chain::Segment;
use crate::memory::{Memory, Outside, get, put};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Header {
    /// Flags, and in the upper half the number of entries of the table.
    flags: U32,
    moved: U32,
    table: U64,
    reserved: [U32; 4],
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Entry {
    address: U64,
    reserved: U32,
    /// One less than the number of bytes, in the lower 22 bits.
    length: U32,
}

const HEADER_BYTES: u64 = size_of::<Header>() as u64;
const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;
const ENTRIES_AT: u64 = 0x80;
const LENGTH: u32 = 0x3F_FFFF;

/// A command as the guest wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) fis: [u8; REGISTER_BYTES],
    /// The buffers of its data.
    pub(super) segments: Vec<Segment>,
}

/// Reads the command in `slot` of the list at `list`.
pub(super) fn read(memory: &impl Memory, list: u64, slot: u8) -> Result<Listed, Outside> {
    let header: Header = get(memory, header_at(list, slot))?;
    // Tables are aligned to 128 bytes.
    let table = header.table.get() & !0x7F;
    let mut fis = [0; REGISTER_BYTES];
    memory.read(table, &mut fis)?;
    let mut segments = Vec::new();
    // The length of the table (PRDTL) is in the upper half of the first double word.
    for number in 0..u64::from(header.flags.get() >> 16) {
        let at = table.wrapping_add(ENTRIES_AT).wrapping_add(number * ENTRY_BYTES);
        let entry: Entry = get(memory, at)?;
        // The field holds the number of bytes minus one (section 4.2.3.3).
        let length = (entry.length.get() & LENGTH) + 1;
        segments.push(Segment { address: entry.address.get(), length });
    }
    Ok(Listed { fis, segments })
}

/// Stores the number of bytes that the command in `slot` moved (`PRDBC`).
pub(super) fn set_moved(
    memory: &mut impl Memory,
    list: u64,
    slot: u8,
    bytes: u64,
) -> Result<(), Outside> {
    let moved = U32::new(u32::try_from(bytes).unwrap_or(u32::MAX));
    put(memory, header_at(list, slot).wrapping_add(4), &moved)
}

fn header_at(list: u64, slot: u8) -> u64 {
    debug_assert!(slot < 32, "a command list has 32 slots");
    list.wrapping_add(u64::from(slot) * HEADER_BYTES)
}
