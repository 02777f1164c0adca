//! Memory for what is read and written.

use std::ops::{Deref, DerefMut};

use drivelab_core::Bytes;

const PAGE_BYTES: usize = 4096;

/// At first zeros. It begins at a page, as the buffers of bonnie++ do. An allocator puts it 16
/// bytes into one, and then the kernel copies up to 4 % more slowly (reads and writes of 8 to
/// 64 KiB on an AMD EPYC, files in memory).
#[derive(Debug)]
pub(crate) struct Buffer {
    room: Vec<u8>,
    skip: usize,
}

impl Buffer {
    pub(crate) fn new(bytes: Bytes) -> Self {
        let bytes = usize::try_from(bytes.get()).expect("a chunk fits in memory");
        let room = vec![0; bytes + PAGE_BYTES];
        let skip = room.as_ptr().align_offset(PAGE_BYTES);
        Self { room, skip }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let length = self.room.len() - PAGE_BYTES;
        &self.room[self.skip..self.skip + length]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let length = self.room.len() - PAGE_BYTES;
        &mut self.room[self.skip..self.skip + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_a_page_wherever_its_room_lies() {
        for bytes in [Bytes::new(1), Bytes::kib(8), Bytes::mib(1)] {
            let buffer = Buffer::new(bytes);
            assert_eq!(buffer.len() as u64, bytes.get());
            assert!(buffer.as_ptr().addr().is_multiple_of(PAGE_BYTES));
        }
    }
}
