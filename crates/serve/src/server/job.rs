//! One request of a client, and the commands for the drive that it becomes.

use drivelab_core::{Bytes, Lba, Op, Sectors};

use crate::drive::Command;
use crate::nbd;
use crate::store::Data;

/// Whom to answer.
#[derive(Debug)]
pub(super) enum Asker {
    /// The NBD connection in this place, if it is still the same one.
    Nbd { place: usize, generation: u64, request: nbd::Request },
    /// The kernel, through FUSE.
    Fuse { unique: u64 },
    /// The kernel, through ublk.
    #[cfg(feature = "ublk")]
    Ublk { tag: u16 },
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Read,
    Write,
    /// Zeros written piece by piece.
    Zero,
    /// The range freed; a hole reads as zeros.
    Free,
    Flush,
}

/// A request on its way.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) asker: Asker,
    pub(super) task: Task,
    pub(super) offset: u64,
    pub(super) length: u64,
    fua: bool,
    /// Bytes that are done.
    done: u64,
}

/// Zeros are written in pieces of this size, so that a request for gigabytes of them takes no
/// gigabytes of memory.
const PIECE: u64 = 4 << 20;

impl Job {
    pub(super) fn new(asker: Asker, task: Task, offset: u64, length: u64, fua: bool) -> Self {
        Self { asker, task, offset, length, fua, done: 0 }
    }

    /// The first command; `data` comes with a write.
    pub(super) fn first(&self, token: u64, data: Option<Box<[u8]>>) -> Command {
        match self.task {
            Task::Read => self.command(token, Op::Read, None),
            Task::Write => self.command(token, Op::Write, data.map(Data::Bytes)),
            Task::Free => self.command(token, Op::Trim, None),
            Task::Zero => self.piece(token),
            Task::Flush => Self::flush(token),
        }
    }

    /// The next command after one is done, if there is another.
    pub(super) fn next(&mut self, token: u64, done: Op) -> Option<Command> {
        match (self.task, done) {
            (Task::Zero, _) => {
                self.done = (self.done + PIECE).min(self.length);
                (self.done < self.length).then(|| self.piece(token))
            }
            // A trim is durable when it is done, but what it replaced may not be out of the cache.
            (Task::Free, Op::Trim) if self.fua => Some(Self::flush(token)),
            _ => None,
        }
    }

    fn command(&self, token: u64, op: Op, data: Option<Data>) -> Command {
        let lba = Lba::at_byte(Bytes::new(self.offset));
        let sectors = Sectors::holding(Bytes::new(self.length));
        Command { token, op, lba, sectors, fua: self.fua, data }
    }

    fn piece(&self, token: u64) -> Command {
        let length = PIECE.min(self.length - self.done);
        let bytes = usize::try_from(length).expect("a small piece");
        let lba = Lba::at_byte(Bytes::new(self.offset + self.done));
        let sectors = Sectors::holding(Bytes::new(length));
        let data = Some(Data::Bytes(vec![0; bytes].into_boxed_slice()));
        Command { token, op: Op::Write, lba, sectors, fua: self.fua, data }
    }

    fn flush(token: u64) -> Command {
        let (lba, sectors) = (Lba::ZERO, Sectors::ZERO);
        Command { token, op: Op::Flush, lba, sectors, fua: false, data: None }
    }
}
