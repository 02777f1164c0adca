//! Requests as the ring's submission entries.

use drivelab_core::Request;
use drivelab_core::request::Op;
use io_uring::opcode::{Fallocate, Fsync, Read, ReadFixed, Write, WriteFixed};
use io_uring::squeue::Entry;
use io_uring::types::{Fixed, FsyncFlags};

use super::Ring;

/// The one registered file.
const FILE: Fixed = Fixed(0);

impl Ring {
    /// The entry for `request`, with the buffers of `slot`, which nobody else uses now.
    #[inline]
    pub(super) fn entry(&mut self, slot: u32, request: &Request) -> Entry {
        let bytes = request.sectors.bytes().get();
        let offset = request.lba.byte_offset().get();
        let entry = match request.op {
            Op::Read => self.read_entry(slot as usize, offset, length(bytes)),
            Op::Write => self.write_entry(slot as usize, request),
            Op::Flush => {
                self.contents.flush(request);
                Fsync::new(FILE).flags(FsyncFlags::DATASYNC).build()
            }
            Op::Trim => {
                let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                Fallocate::new(FILE, bytes).offset(offset).mode(punch).build()
            }
        };
        entry.user_data(u64::from(slot))
    }

    fn read_entry(&mut self, slot: usize, offset: u64, length: u32) -> Entry {
        let at = self.buffers.read_at(slot);
        let buffer = self.base.wrapping_add(at);
        if self.registered {
            return ReadFixed::new(FILE, buffer, length, self.index(at)).offset(offset).build();
        }
        Read::new(FILE, buffer, length).offset(offset).build()
    }

    fn write_entry(&mut self, slot: usize, request: &Request) -> Entry {
        let offset = request.lba.byte_offset().get();
        let length = length(request.sectors.bytes().get());
        let at = self.buffers.write_at(slot);
        let buffer = self.base.wrapping_add(at);
        // SAFETY: `buffer` and `length` bytes after it lie within the slot's own part of the
        // memory, and the kernel has given the slot back: nobody else refers to it.
        let data = unsafe { std::slice::from_raw_parts_mut(buffer, length as usize) };
        self.contents.write(request, data);
        let flags = if request.fua { libc::RWF_DSYNC } else { 0 };
        if self.registered {
            let entry = WriteFixed::new(FILE, buffer, length, self.index(at));
            return entry.offset(offset).rw_flags(flags).build();
        }
        Write::new(FILE, buffer, length).offset(offset).rw_flags(flags).build()
    }

    /// The number under which the buffer at `at` is registered.
    #[inline]
    fn index(&self, at: usize) -> u16 {
        let number = self.buffers.number(at);
        u16::try_from(number).expect("at most two buffers for each of 4096 slots")
    }
}

fn length(bytes: u64) -> u32 {
    u32::try_from(bytes).expect("a block is at most 1 GiB")
}
