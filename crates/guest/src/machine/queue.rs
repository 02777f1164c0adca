//! A split virtqueue, from the device's side (Virtual I/O Device 1.2, section 2.7).

use std::sync::atomic::{Ordering, fence};

use thiserror::Error;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::chain::{Chain, Segment};
use crate::memory::{Memory, Outside, get, put};

/// The location of a queue in guest memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ring {
    /// The number of descriptors, a power of two.
    pub size: u16,
    /// The guest-physical address of the descriptor table.
    pub descriptors: u64,
    /// The guest-physical address of the ring of available chains.
    pub available: u64,
    /// The guest-physical address of the ring of used chains.
    pub used: u64,
    /// The index of the first available chain.
    pub base: u16,
}

/// A violation of the queue's rules, after which the guest can only be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum QueueError {
    /// Its rings or buffers are not in the memory that the guest shares.
    #[error(transparent)]
    Outside(#[from] Outside),
    /// The size is zero, no power of two, or larger than 32,768.
    #[error("a virtqueue of {0} descriptors")]
    Size(u32),
    /// More chains are available than the queue has descriptors.
    #[error("{0} chains are available at once")]
    Overfull(u16),
    /// A descriptor that does not exist, or a chain that never ends.
    #[error("a broken chain of descriptors")]
    Chain,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Clone, Copy)]
#[repr(C)]
pub(super) struct Descriptor {
    pub(super) address: U64,
    pub(super) length: U32,
    pub(super) flags: U16,
    pub(super) next: U16,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct UsedElement {
    head: U32,
    written: U32,
}

pub(super) const NEXT: u16 = 1;
pub(super) const WRITE: u16 = 2;
pub(super) const INDIRECT: u16 = 4;
const DESCRIPTOR_BYTES: u32 = 16;
/// `VRING_AVAIL_F_NO_INTERRUPT`.
const NO_INTERRUPT: u16 = 1;
const SIZE_MAX: u32 = 32_768;
/// `VRING_USED_F_NO_NOTIFY`.
const NO_NOTIFY: u16 = 1;

/// The state of a queue that is not in guest memory.
#[derive(Debug)]
pub struct Queue {
    ring: Ring,
    next_available: u16,
    next_used: u16,
}

impl Queue {
    /// The queue at `ring`.
    pub fn new(ring: Ring) -> Result<Self, QueueError> {
        let size = u32::from(ring.size);
        if !size.is_power_of_two() || size > SIZE_MAX {
            return Err(QueueError::Size(size));
        }
        Ok(Self { ring, next_available: ring.base, next_used: ring.base })
    }

    /// Asks the guest not to notify the device of available chains.
    pub fn silence(&self, memory: &mut impl Memory) -> Result<(), QueueError> {
        Ok(put(memory, self.ring.used, &U16::new(NO_NOTIFY))?)
    }

    /// Takes the next available chain, if there is one.
    pub fn pop(&mut self, memory: &impl Memory) -> Result<Option<Chain>, QueueError> {
        // `flags` and `idx` are 16 bits each, then the entries (section 2.7.6).
        let available: U16 = get(memory, self.ring.available.wrapping_add(2))?;
        let waiting = available.get().wrapping_sub(self.next_available);
        // Indices wrap at 2^16; a distance above the size means that the guest overwrote entries.
        if waiting > self.ring.size {
            return Err(QueueError::Overfull(waiting));
        }
        if waiting == 0 {
            return Ok(None);
        }
        // The entry was written before the index that makes it available.
        fence(Ordering::Acquire);
        debug_assert!(self.ring.size > 0, "checked when the queue was set up");
        let slot = u64::from(self.next_available % self.ring.size);
        let head: U16 = get(memory, self.ring.available.wrapping_add(4 + 2 * slot))?;
        self.next_available = self.next_available.wrapping_add(1);
        self.chain(memory, head.get()).map(Some)
    }

    /// Reads the chain that begins at `head`.
    fn chain(&self, memory: &impl Memory, head: u16) -> Result<Chain, QueueError> {
        let mut chain = Chain { head, ..Chain::default() };
        let (mut table, mut size) = (self.ring.descriptors, u32::from(self.ring.size));
        let (mut index, mut left) = (head, u32::from(self.ring.size));
        let mut is_inner = false;
        loop {
            // Each descriptor at most once, or a loop in guest memory would never end.
            if u32::from(index) >= size || left == 0 {
                return Err(QueueError::Chain);
            }
            left -= 1;
            let at = table.wrapping_add(u64::from(index) * u64::from(DESCRIPTOR_BYTES));
            let descriptor: Descriptor = get(memory, at)?;
            let flags = descriptor.flags.get();
            if flags & INDIRECT != 0 {
                let length = descriptor.length.get();
                // Section 2.7.5.3.1: no table within a table, and none in the middle of a chain.
                if is_inner || flags & NEXT != 0 || !length.is_multiple_of(DESCRIPTOR_BYTES) {
                    return Err(QueueError::Chain);
                }
                is_inner = true;
                (table, size) = (descriptor.address.get(), length / DESCRIPTOR_BYTES);
                (index, left) = (0, size.min(SIZE_MAX));
                continue;
            }
            chain.add(&descriptor)?;
            if flags & NEXT == 0 {
                return Ok(chain);
            }
            index = descriptor.next.get();
        }
    }

    /// Returns a chain to the guest, with the number of bytes written to its buffers.
    pub fn push(
        &mut self,
        memory: &mut impl Memory,
        head: u16,
        written: u32,
    ) -> Result<(), QueueError> {
        debug_assert!(self.ring.size.is_power_of_two(), "indices wrap around with the ring");
        let slot = u64::from(self.next_used % self.ring.size);
        let element = UsedElement { head: u32::from(head).into(), written: written.into() };
        // The used ring begins with `flags` and `idx`, like the available ring (section 2.7.8).
        put(memory, self.ring.used.wrapping_add(4 + 8 * slot), &element)?;
        self.next_used = self.next_used.wrapping_add(1);
        // The guest must see the element before the index that hands it over.
        fence(Ordering::Release);
        put(memory, self.ring.used.wrapping_add(2), &U16::new(self.next_used))?;
        Ok(())
    }

    /// Returns whether the guest wants to be interrupted for what was given back.
    pub(crate) fn wants_interrupt(&self, memory: &impl Memory) -> Result<bool, QueueError> {
        let flags: U16 = get(memory, self.ring.available)?;
        Ok(flags.get() & NO_INTERRUPT == 0)
    }
}

impl Chain {
    fn add(&mut self, descriptor: &Descriptor) -> Result<(), QueueError> {
        let address = descriptor.address.get();
        let segment = Segment { address, length: descriptor.length.get() };
        if descriptor.flags.get() & WRITE != 0 {
            self.writable.push(segment);
        } else if self.writable.is_empty() {
            self.readable.push(segment);
        } else {
            // What the device reads comes before what it writes.
            return Err(QueueError::Chain);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::testing::{Driver, segment};

    #[test]
    fn chains_come_in_order_and_go_back_in_any() {
        let mut driver = Driver::new(8);
        let mut queue = Queue::new(driver.ring()).unwrap();
        assert_eq!(queue.pop(&driver.memory), Ok(None));
        let first =
            driver.offer(&[segment(0x1000, 16)], &[segment(0x2000, 512), segment(0x3000, 1)]);
        let second = driver.offer(&[segment(0x1100, 16)], &[]);
        let chain = queue.pop(&driver.memory).unwrap().unwrap();
        assert_eq!((chain.head, chain.writable.len()), (first, 2));
        assert_eq!(chain.readable, [segment(0x1000, 16)]);
        assert_eq!(queue.pop(&driver.memory).unwrap().unwrap().head, second);
        assert_eq!(queue.pop(&driver.memory), Ok(None));
        queue.push(&mut driver.memory, second, 0).unwrap();
        queue.push(&mut driver.memory, first, 513).unwrap();
        assert_eq!(driver.used(), [(second, 0), (first, 513)]);
    }

    #[test]
    fn indices_wrap_around() {
        let mut driver = Driver::new(2);
        let mut queue = Queue::new(driver.ring()).unwrap();
        for round in 0..70_000_u32 {
            let head = driver.offer(&[segment(0x1000, 16)], &[]);
            assert_eq!(queue.pop(&driver.memory).unwrap().unwrap().head, head);
            queue.push(&mut driver.memory, head, round).unwrap();
            assert_eq!(driver.used(), [(head, round)]);
        }
    }

    #[test]
    fn an_indirect_table_is_read_like_a_chain() {
        let mut driver = Driver::new(8);
        let mut queue = Queue::new(driver.ring()).unwrap();
        driver.offer_indirect(0x4000, &[segment(0x1000, 16)], &[segment(0x2000, 512)]);
        let chain = queue.pop(&driver.memory).unwrap().unwrap();
        assert_eq!(chain.readable, [segment(0x1000, 16)]);
        assert_eq!(chain.writable, [segment(0x2000, 512)]);
    }

    #[test]
    fn broken_rings_are_refused_and_end() {
        let sized = |size| Queue::new(Ring { size, ..Ring::default() }).map(|_| ());
        assert_eq!(sized(0), Err(QueueError::Size(0)));
        assert_eq!(sized(24), Err(QueueError::Size(24)));

        let check = |break_it: fn(&mut Driver), expected: Option<QueueError>| {
            let mut driver = Driver::new(8);
            driver.offer(&[segment(0x1000, 16)], &[segment(0x2000, 8)]);
            break_it(&mut driver);
            let mut queue = Queue::new(driver.ring()).unwrap();
            let error = queue.pop(&driver.memory).unwrap_err();
            assert!(expected.is_none_or(|expected| expected == error), "{error:?}");
        };
        check(|it| it.set_available(9), Some(QueueError::Overfull(9)));
        check(|it| it.set_descriptor(1, segment(0, 1), NEXT, 0), Some(QueueError::Chain));
        check(|it| it.set_descriptor(0, segment(0, 1), NEXT, 8), Some(QueueError::Chain));
        check(|it| it.set_descriptor(0, segment(0, 1), WRITE | NEXT, 2), None);
        check(|it| it.set_descriptor(0, segment(0x4000, 24), INDIRECT, 0), Some(QueueError::Chain));
        check(|it| it.set_descriptor(0, segment(0x4000, 0), INDIRECT, 0), Some(QueueError::Chain));
        check(|it| it.set_descriptor(0, segment(1 << 40, 16), INDIRECT, 0), None);
        check(|it| it.put_indirect(0x4000, INDIRECT), Some(QueueError::Chain));
    }
}
