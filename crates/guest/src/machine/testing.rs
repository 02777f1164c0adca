//! The driver's side of a virtqueue, for tests.

use super::chain::Segment;
use super::queue::{INDIRECT, NEXT, Ring, WRITE};
use crate::memory::Memory as _;

const DESCRIPTORS: u64 = 0;
const AVAILABLE: u64 = 0x400;
const USED: u64 = 0x600;
const MEMORY_BYTES: usize = 1 << 20;

pub(crate) fn segment(address: u64, length: u32) -> Segment {
    Segment { address, length }
}

/// A driver that offers chains one at a time or several at once.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) memory: Vec<u8>,
    size: u16,
    next_descriptor: u16,
    available: u16,
    used: u16,
}

impl Driver {
    pub(crate) fn new(size: u16) -> Self {
        let memory = vec![0; MEMORY_BYTES];
        Self { memory, size, next_descriptor: 0, available: 0, used: 0 }
    }

    pub(crate) fn ring(&self) -> Ring {
        let (descriptors, available, used) = (DESCRIPTORS, AVAILABLE, USED);
        Ring { size: self.size, descriptors, available, used, base: 0 }
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.memory.write(at, bytes).unwrap();
    }

    pub(crate) fn set_descriptor(&mut self, index: u16, of: Segment, flags: u16, next: u16) {
        self.put_descriptor(DESCRIPTORS + 16 * u64::from(index), of, flags, next);
    }

    fn put_descriptor(&mut self, at: u64, of: Segment, flags: u16, next: u16) {
        self.put(at, &of.address.to_le_bytes());
        self.put(at + 8, &of.length.to_le_bytes());
        self.put(at + 12, &flags.to_le_bytes());
        self.put(at + 14, &next.to_le_bytes());
    }

    pub(crate) fn set_available(&mut self, index: u16) {
        self.available = index;
        self.put(AVAILABLE + 2, &index.to_le_bytes());
    }

    fn make_available(&mut self, head: u16) {
        let slot = u64::from(self.available % self.size);
        self.put(AVAILABLE + 4 + 2 * slot, &head.to_le_bytes());
        self.set_available(self.available.wrapping_add(1));
    }

    /// Offers a chain of these segments; gives its head.
    pub(crate) fn offer(&mut self, readable: &[Segment], writable: &[Segment]) -> u16 {
        let count = u16::try_from(readable.len() + writable.len()).unwrap();
        let head = self.next_descriptor % self.size;
        let all = readable.iter().map(|it| (it, 0)).chain(writable.iter().map(|it| (it, WRITE)));
        for (position, (segment, flags)) in (0..count).zip(all) {
            let index = (head + position) % self.size;
            let more = if position + 1 < count { NEXT } else { 0 };
            self.set_descriptor(index, *segment, flags | more, (index + 1) % self.size);
        }
        self.next_descriptor = (head + count) % self.size;
        self.make_available(head);
        head
    }

    /// Offers a chain whose descriptors are in an indirect table.
    pub(crate) fn offer_indirect(
        &mut self,
        table: u64,
        readable: &[Segment],
        writable: &[Segment],
    ) {
        let all = readable.iter().map(|it| (it, 0)).chain(writable.iter().map(|it| (it, WRITE)));
        let count = readable.len() + writable.len();
        for (index, (segment, flags)) in all.enumerate() {
            let more = if index + 1 < count { NEXT } else { 0 };
            let next = u16::try_from(index + 1).unwrap();
            self.put_descriptor(table + 16 * index as u64, *segment, flags | more, next);
        }
        let head = self.next_descriptor % self.size;
        let length = u32::try_from(16 * count).unwrap();
        self.set_descriptor(head, segment(table, length), INDIRECT, 0);
        self.next_descriptor = (head + 1) % self.size;
        self.make_available(head);
    }

    /// Makes the first descriptor an indirect one, to a table whose only descriptor has `flags`.
    pub(crate) fn put_indirect(&mut self, table: u64, flags: u16) {
        self.set_descriptor(0, segment(table, 16), INDIRECT, 0);
        self.put_descriptor(table, segment(table, 16), flags, 0);
    }

    /// The chains that came back since the last call: their heads and what was written.
    pub(crate) fn used(&mut self) -> Vec<(u16, u32)> {
        let index = u16::try_from(word(&self.memory, USED) >> 16).unwrap();
        let mut found = Vec::new();
        while self.used != index {
            let at = USED + 4 + 8 * u64::from(self.used % self.size);
            let head = u16::try_from(word(&self.memory, at)).unwrap();
            found.push((head, word(&self.memory, at + 4)));
            self.used = self.used.wrapping_add(1);
        }
        found
    }
}

fn word(memory: &[u8], at: u64) -> u32 {
    let at = usize::try_from(at).unwrap();
    u32::from_le_bytes(memory[at..at + 4].try_into().unwrap())
}
