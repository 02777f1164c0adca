//! A drive with bytes in it: commands with data in, answers with data out.
//!
//! A [`Disk`] joins a [`crate::Device`], which determines *when* a command is done, with a
//! [`Medium`], which determines *what* the bytes are. A front end (NBD, FUSE, a controller's
//! registers) uses only a `Disk`.

use std::fmt::{self, Debug};
use std::io;

use crate::request::{IoError, Op};
use crate::units::{Bytes, Lba, Sectors, Time};

/// The data of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// These bytes, whole sectors.
    Bytes(Box<[u8]>),
    /// Zeros.
    Zeros(Sectors),
}

/// A host's request to a disk.
#[derive(Debug)]
pub struct Command {
    /// The host's name for it.
    pub token: u64,
    /// The operation.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Number of sectors; 0 for a flush.
    pub sectors: Sectors,
    /// Force unit access.
    pub fua: bool,
    /// The connection that it comes from, as [`crate::Request::submitter`].
    pub submitter: u16,
    /// The data to write; only with [`Op::Write`].
    pub data: Option<Data>,
}

/// The answer to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The host's name for the command.
    pub token: u64,
    /// Time at which the answer is due.
    pub due: Time,
    /// The outcome.
    pub result: Result<(), CommandError>,
    /// The operation requested.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Number of sectors.
    pub sectors: Sectors,
}

/// The cause of a failed command, and the failed sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandError {
    /// The kind of error.
    pub kind: IoError,
    /// The first sector that failed, if the disk knows it.
    pub lba: Option<Lba>,
}

impl From<IoError> for CommandError {
    fn from(kind: IoError) -> Self {
        Self { kind, lba: None }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        self.lba.map_or(Ok(()), |lba| write!(f, " at sector {lba}"))
    }
}

impl std::error::Error for CommandError {}

/// A drive with bytes in it, as a state machine.
///
/// Like a [`crate::Device`] it receives the time as an argument and never reads a clock. The errors
/// of its methods are those of the store of its bytes (a full file system under an image); after
/// one the disk is unusable. A command that fails is answered with [`CommandError`].
pub trait Disk {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;

    /// Commands that have not been answered yet.
    fn in_flight(&self) -> usize;

    /// Accepts a command at `now`. The caller checks that its range lies within the capacity.
    fn submit(&mut self, now: Time, command: Command) -> io::Result<()>;

    /// Time of the disk's next event, as far as it knows.
    fn next_event(&self) -> Option<Time>;

    /// Moves the disk to `now` and appends the answers that are due, in order of time.
    fn advance(&mut self, now: Time, answers: &mut Vec<Answer>) -> io::Result<()>;

    /// Fills `data` with the result of a read; once for each answer.
    fn take_read(&mut self, answer: &Answer, data: &mut [u8]) -> io::Result<()>;

    /// Lists the stretches of data from `lba` on; at most `limit` of them.
    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>>;

    /// Acknowledged data that a power cut may lose.
    fn pending(&self) -> Bytes {
        Bytes::ZERO
    }

    /// A reset of the bus: no command in flight is ever answered, and the cache is kept.
    ///
    /// A write that the disk has already accepted may still be carried out, even one that fails
    /// half way. A read after the reset finds it either done or never done.
    fn reset(&mut self) -> io::Result<()>;

    /// An orderly power-off: everything acknowledged or in flight becomes durable.
    fn power_off(&mut self) -> io::Result<()>;
}

/// A sparse array of bytes that survives a power cut.
pub trait Medium: Debug {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;

    /// Fills `data`, whole sectors, from `lba` on.
    fn read(&self, lba: Lba, data: &mut [u8]) -> io::Result<()>;

    /// Writes `data`, whole sectors, from `lba` on.
    fn write(&mut self, lba: Lba, data: &[u8]) -> io::Result<()>;

    /// Makes the range read as zeros and frees its storage.
    fn free(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()>;

    /// Writes zeros, and keeps the storage of the range where the medium has storage to keep.
    fn write_zeros(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()> {
        // In pieces, so that zeroing a whole drive takes no buffer of its size.
        const PIECE: Sectors = Sectors::new(16);
        let zeros = [0; 16 * 512];
        let end = lba + sectors;
        let mut first = lba;
        while first < end {
            let piece = end.min(first + PIECE);
            let bytes = usize::try_from((piece.get() - first.get()) * 512).expect("a piece");
            debug_assert!(bytes <= zeros.len());
            self.write(first, &zeros[..bytes])?;
            first = piece;
        }
        Ok(())
    }

    /// Lists stretches of data and holes in turn from `lba` on, at most `sectors` in sum and at
    /// most `limit` stretches.
    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>>;

    /// Writes everything to the operating system's own medium.
    fn sync(&mut self) -> io::Result<()>;
}

/// A stretch that is all data or all hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Its length.
    pub sectors: Sectors,
    /// Nothing is stored there, and it reads as zeros.
    pub hole: bool,
}

impl Extent {
    /// Adds a stretch to `extents`, joining it to a preceding one of its kind.
    pub fn push_to(self, extents: &mut Vec<Self>) {
        match extents.last_mut() {
            Some(last) if last.hole == self.hole => last.sectors += self.sectors,
            _ => extents.push(self),
        }
    }
}
