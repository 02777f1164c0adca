//! Requests as the ring's submission entries.

use drivelab_core::Request;
use drivelab_core::request::Op;
use io_uring::opcode::{Fallocate, Fsync, Read, ReadFixed, Write, WriteFixed};
use io_uring::squeue::Entry;
use io_uring::types::{Fixed, FsyncFlags};

use super::Ring;
use crate::file::Trim;
use crate::sys::discard;

const FILE: Fixed = Fixed(0);

impl Ring {
    /// Queues the entry for `request`, with the buffers of `slot`, which the in-flight table owns.
    ///
    /// Every kind pushes its own entry: an entry that is chosen among several is assembled on the
    /// stack and copied at once, and the processor waits for its parts to reach the cache. That
    /// took a third of the time of a submission.
    #[inline]
    pub(super) fn queue(&mut self, slot: u32, request: &Request) {
        let bytes = request.sectors.bytes().get();
        let offset = request.lba.byte_offset().get();
        match request.op {
            Op::Read => {
                let number = slot as usize;
                let (buffer, length) = (self.buffer(number), length(bytes));
                if self.registered {
                    let entry = ReadFixed::new(FILE, buffer, length, self.piece_of(number));
                    self.push(slot, entry.offset(offset).build());
                } else {
                    self.push(slot, Read::new(FILE, buffer, length).offset(offset).build());
                }
            }
            Op::Write => self.queue_write(slot, request),
            Op::Flush => {
                self.contents.flush(request);
                let data_only = self.job.flush_data_only;
                let flags = if data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
                self.push(slot, Fsync::new(FILE).flags(flags).build());
            }
            Op::Trim if self.job.trim == Trim::Discard => {
                self.push(slot, discard::entry(FILE, offset, bytes));
            }
            Op::Trim => {
                let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                self.push(slot, Fallocate::new(FILE, bytes).offset(offset).mode(punch).build());
            }
        }
    }

    fn queue_write(&mut self, slot: u32, request: &Request) {
        let offset = request.lba.byte_offset().get();
        let bytes = length(request.sectors.bytes().get());
        assert!(u64::from(bytes) <= self.buffers.stride() as u64, "a buffer holds the request");
        let number = self.buffers.to_write(slot as usize);
        let base = self.buffer(number);
        // SAFETY: `base` and `bytes` bytes after it lie within the slot's own part of the
        // memory, and the kernel has given the slot back: nothing else refers to it.
        let data = unsafe { std::slice::from_raw_parts_mut(base, bytes as usize) };
        self.contents.write(request, data);
        let flags = if request.fua { libc::RWF_DSYNC } else { 0 };
        if self.registered {
            let entry = WriteFixed::new(FILE, base, bytes, self.piece_of(number));
            self.push(slot, entry.offset(offset).rw_flags(flags).build());
        } else {
            let entry = Write::new(FILE, base, bytes).offset(offset).rw_flags(flags);
            self.push(slot, entry.build());
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would hand the entry over through memory")]
    fn push(&mut self, slot: u32, entry: Entry) {
        // Writing 0 again separates the zeros at the end of the entry from the field before them;
        // otherwise the compiler copies them by two overlapping stores, and waits for both.
        let entry = entry.user_data(u64::from(slot)).personality(0);
        // SAFETY: the entry's buffer is that of `slot`, which the in-flight table owns until the
        // completion is reaped.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        pushed.expect("the queue holds as many entries as there are slots");
        self.queued += 1;
    }

    #[inline]
    fn buffer(&self, number: usize) -> *mut u8 {
        self.base.wrapping_add(self.buffers.at(number))
    }

    /// The registered piece of memory that contains the buffer with that index.
    #[inline]
    fn piece_of(&self, number: usize) -> u16 {
        u16::try_from(number >> self.piece).expect("at most two pieces for each of 8192 slots")
    }
}

#[inline]
fn length(bytes: u64) -> u32 {
    u32::try_from(bytes).expect("a block is at most 1 GiB")
}
