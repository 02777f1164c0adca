//! What a client asks of the drive, whatever it speaks.

use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Read,
    Write,
    Zero,
    /// The range freed; a hole reads as zeros.
    Free,
    Flush,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockRequest {
    pub(crate) task: Task,
    /// First byte; 0 for a flush.
    pub(crate) offset: u64,
    /// Bytes; 0 for a flush.
    pub(crate) length: u64,
    pub(crate) fua: bool,
    /// As many bytes as `length`; only with [`Task::Write`].
    pub(crate) data: Option<Box<[u8]>>,
}

impl BlockRequest {
    pub(crate) fn new(task: Task, offset: u64, length: u64) -> Self {
        Self { task, offset, length, fua: false, data: None }
    }
}

/// A front end whose requests come from the kernel.
pub(crate) trait KernelSide {
    /// The next request, with its id; what the drive need not know of is answered.
    fn next(&mut self) -> io::Result<Option<(u64, BlockRequest)>>;

    /// Where the data of a read goes before [`Self::reply_read`].
    fn read_buffer(&mut self, length: usize) -> &mut [u8];

    /// Answers a read with `length` bytes of the buffer from `start` on.
    fn reply_read(&mut self, id: u64, start: usize, length: usize);

    /// Answers what was done, to `length` bytes.
    fn reply(&mut self, id: u64, task: Task, length: u64);

    fn reply_error(&mut self, id: u64);
}
