//! Aligned memory for requests.

use drivelab_core::Rng;
use drivelab_core::units::Bytes;

use super::{FileJob, pattern};

/// Memory pages, the largest alignment that any Linux driver asks of a buffer for direct I/O.
const PAGE: usize = 4096;

/// One buffer a slot for reading and one for writing, as far as the job does either.
///
/// They are apart so that what is written stays as it was filled: a read into a write's buffer
/// would bring in whatever the file holds, which may be zeros that a drive compresses away.
#[derive(Debug)]
pub(crate) struct Buffers {
    memory: Vec<u8>,
    /// Where the first buffer begins: the memory's own start is not aligned.
    first: usize,
    stride: usize,
    slots: usize,
    /// 1 where reads have buffers before those of the writes.
    read_sets: usize,
    sets: usize,
}

impl Buffers {
    /// Memory that a job of `iodepth` slots of at most `largest` needs.
    pub(crate) fn size(iodepth: u32, largest: Bytes, sets: u64) -> Bytes {
        let stride = largest.get().next_multiple_of(PAGE as u64);
        Bytes::new(stride.saturating_mul(u64::from(iodepth)).saturating_mul(sets))
    }

    /// The buffers of `job`, those for writing filled.
    pub(crate) fn new(job: &FileJob) -> Self {
        let align = job.memory_align.max(PAGE);
        let largest = usize::try_from(job.largest.get()).expect("a block is at most 1 GiB");
        let stride = largest.next_multiple_of(align);
        let slots = job.iodepth as usize;
        let sets = usize::from(job.reads) + usize::from(job.writes);
        let memory = vec![0_u8; stride * slots * sets + align];
        let first = memory.as_ptr().align_offset(align);
        assert!(first <= align, "every byte pointer can be aligned");
        let mut buffers =
            Self { memory, first, stride, slots, read_sets: usize::from(job.reads), sets };
        if job.writes {
            let begin = buffers.write_at(0);
            let end = begin + stride * slots;
            pattern::fill(&mut buffers.memory[begin..end], &mut Rng::for_part(job.seed, 3));
        }
        buffers
    }

    /// Where in the memory the buffer for reading into `slot` begins.
    #[inline]
    pub(crate) fn read_at(&self, slot: usize) -> usize {
        self.first + slot * self.stride
    }

    /// Where in the memory the buffer for writing from `slot` begins.
    #[inline]
    pub(crate) fn write_at(&self, slot: usize) -> usize {
        self.first + (self.read_sets * self.slots + slot) * self.stride
    }

    /// Number of a buffer that begins at `at`.
    #[inline]
    pub(crate) fn number(&self, at: usize) -> usize {
        (at - self.first) / self.stride
    }

    /// Where each buffer begins, and how long all of them are.
    pub(crate) fn all(&self) -> (impl Iterator<Item = usize> + '_, usize) {
        let begins = (0..self.slots * self.sets).map(|number| self.first + number * self.stride);
        (begins, self.stride)
    }

    /// The whole memory.
    pub(crate) fn memory(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// Gives the memory up for good, because the kernel may still write into it.
    pub(crate) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.memory));
    }
}
