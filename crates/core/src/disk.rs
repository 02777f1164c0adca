//! A drive with bytes in it: commands with data in, answers with data out.
//!
//! A [`Disk`] joins a [`crate::Device`], which says *when* a command is done, with a [`Medium`],
//! which says *what* the bytes are. A front end (NBD, FUSE, a controller's registers) speaks to a
//! `Disk` and to nothing else.

use std::fmt::{self, Debug};
use std::io;

use crate::request::{IoError, Op};
use crate::units::{Bytes, Lba, Sectors, Time};

/// What a write puts into its sectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// These bytes, whole sectors.
    Bytes(Box<[u8]>),
    /// Zeros.
    Zeros(Sectors),
}

/// What a host asks of a disk.
#[derive(Debug)]
pub struct Command {
    /// The host's name for it.
    pub token: u64,
    /// What to do.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// How many sectors; 0 for a flush.
    pub sectors: Sectors,
    /// Force unit access.
    pub fua: bool,
    /// What to write; only with [`Op::Write`].
    pub data: Option<Data>,
}

/// The answer to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The host's name for the command.
    pub token: u64,
    /// When the answer is due.
    pub due: Time,
    /// Whether the disk did what was asked.
    pub result: Result<(), CommandError>,
    /// What was asked.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// How many sectors.
    pub sectors: Sectors,
}

/// Why a command failed, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandError {
    /// What went wrong.
    pub kind: IoError,
    /// The first sector that failed, where the disk knows it.
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
/// Like a [`crate::Device`] it is told the time and never asks for it. The errors of its methods
/// are those of whatever holds its bytes (a full file system under an image), after which it is of
/// no more use; a command that fails is answered with [`CommandError`].
pub trait Disk {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;

    /// Commands that are not answered yet.
    fn in_flight(&self) -> usize;

    /// Takes a command at `now`. The caller checks that its range lies within the capacity.
    fn submit(&mut self, now: Time, command: Command) -> io::Result<()>;

    /// When the disk next has something to do, as far as it knows.
    fn next_event(&self) -> Option<Time>;

    /// Moves the disk to `now` and appends the answers that are due, in order of time.
    fn advance(&mut self, now: Time, answers: &mut Vec<Answer>) -> io::Result<()>;

    /// Fills `data` with what a read found; once for each answer.
    fn take_read(&mut self, answer: &Answer, data: &mut [u8]) -> io::Result<()>;

    /// Which stretches from `lba` on hold data; at most `limit` of them.
    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>>;

    /// Acknowledged data that a power cut may take.
    fn pending(&self) -> Bytes {
        Bytes::ZERO
    }

    /// A reset of the bus: no command that is in flight is ever answered, and the cache stays.
    ///
    /// A write that the disk has already taken may still be carried out, as one that fails in the
    /// middle may be; a read after the reset finds it done or never will.
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

    /// Makes the range read as zeros and frees what it held.
    fn free(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()>;

    /// What lies from `lba` on: stretches of data and holes in turn, at most `sectors` in sum and
    /// at most `limit` stretches.
    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>>;

    /// Hands everything to the operating system's own medium.
    fn sync(&mut self) -> io::Result<()>;
}

/// A stretch that is all data or all hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How long it is.
    pub sectors: Sectors,
    /// Nothing is stored there, and it reads as zeros.
    pub hole: bool,
}

impl Extent {
    /// Adds a stretch to `extents`, joining it to one of its kind before it.
    pub fn push_to(self, extents: &mut Vec<Self>) {
        match extents.last_mut() {
            Some(last) if last.hole == self.hole => last.sectors += self.sectors,
            _ => extents.push(self),
        }
    }
}
