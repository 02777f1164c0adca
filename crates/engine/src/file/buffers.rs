//! Aligned memory for requests.

use drivelab_core::Rng;
use drivelab_core::units::Bytes;

use super::{TargetSetup, pattern};

/// Memory pages, the largest alignment that any Linux driver requires of a buffer for direct I/O.
const PAGE: usize = 4096;

/// One buffer per slot for reading and one for writing, as far as the job does either.
///
/// They are separate so that the data of writes stays as it was filled: a read into a write's
/// buffer would bring in the file's contents, which may be zeros that a drive compresses.
#[derive(Debug)]
pub(crate) struct Buffers {
    memory: Vec<u8>,
    first: usize,
    stride: usize,
    slots: usize,
    /// 1 if reads have buffers in front of those of the writes.
    read_sets: usize,
    sets: usize,
}

impl Buffers {
    /// Memory for a job of `iodepth` slots of at most `largest`.
    pub(crate) fn size(iodepth: u32, largest: Bytes, sets: u64) -> Bytes {
        let stride = largest.get().next_multiple_of(PAGE as u64);
        Bytes::new(stride.saturating_mul(u64::from(iodepth)).saturating_mul(sets))
    }

    pub(crate) fn new(job: &TargetSetup) -> Self {
        let align = job.memory_align.max(PAGE);
        let largest = usize::try_from(job.largest.get()).expect("a block is at most 1 GiB");
        assert!(align.is_power_of_two(), "an alignment is a power of two");
        let stride = largest.next_multiple_of(align);
        let slots = job.iodepth as usize;
        let sets = usize::from(job.reads) + usize::from(job.writes);
        // One alignment more, as a `Vec<u8>` may begin at any address.
        let memory = vec![0_u8; stride * slots * sets + align];
        let first = memory.as_ptr().align_offset(align);
        assert!(first <= align, "every byte pointer can be aligned");
        let mut buffers =
            Self { memory, first, stride, slots, read_sets: usize::from(job.reads), sets };
        if job.writes {
            let begin = buffers.at(buffers.to_write(0));
            let end = begin + stride * slots;
            // A separate part of the seed: the data does not depend on how many addresses were
            // drawn.
            pattern::fill(&mut buffers.memory[begin..end], &mut Rng::for_part(job.seed, 3));
        }
        buffers
    }

    /// Index of the buffer for writing from `slot`; the one for reading into it is `slot`.
    #[inline]
    pub(crate) fn to_write(&self, slot: usize) -> usize {
        debug_assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        self.read_sets * self.slots + slot
    }

    /// Offset in the memory of the buffer with that index.
    #[inline]
    pub(crate) fn at(&self, number: usize) -> usize {
        self.first + number * self.stride
    }

    /// All of them in pieces of `1 << shift` buffers: the beginning and length of each piece.
    pub(crate) fn pieces(&self, shift: u32) -> impl Iterator<Item = (usize, usize)> + '_ {
        let count = self.slots * self.sets;
        (0..count).step_by(1 << shift).map(move |number| {
            let length = (count - number).min(1 << shift) * self.stride;
            (self.at(number), length)
        })
    }

    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    pub(crate) fn memory(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// Leaks the memory, because the kernel may still write into it.
    pub(crate) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.memory));
    }
}
