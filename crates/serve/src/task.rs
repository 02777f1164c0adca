//! A client's request to the drive, in any protocol.

use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Read,
    Write,
    Zero,
    /// Frees the range; a hole reads as zeros.
    Free,
    Flush,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockRequest {
    pub(crate) task: Task,
    /// First byte; 0 for a flush.
    pub(crate) offset: u64,
    /// Number of bytes; 0 for a flush.
    pub(crate) length: u64,
    pub(crate) fua: bool,
    /// `length` bytes; only with [`Task::Write`].
    pub(crate) data: Option<Box<[u8]>>,
}

impl BlockRequest {
    pub(crate) fn new(task: Task, offset: u64, length: u64) -> Self {
        Self { task, offset, length, fua: false, data: None }
    }
}

/// A front end whose requests come from the kernel.
pub(crate) trait KernelSide {
    /// The next request, with its id; requests that do not concern the drive are answered here.
    fn next(&mut self) -> io::Result<Option<(u64, BlockRequest)>>;

    /// The buffer for the data of a read before [`Self::reply_read`].
    fn read_buffer(&mut self, length: usize) -> &mut [u8];

    /// Answers a read with `length` bytes of the buffer from `start` on.
    fn reply_read(&mut self, id: u64, start: usize, length: usize);

    /// Answers that a task on `length` bytes is done.
    fn reply(&mut self, id: u64, task: Task, length: u64);

    fn reply_error(&mut self, id: u64);
}
