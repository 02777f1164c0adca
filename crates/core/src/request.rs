//! A request to a drive, and its answer.

use serde::{Deserialize, Serialize};

use crate::units::{Lba, Sectors, Time};

/// The submitter's own name for a request, given back with its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RequestId(pub u64);

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Data from the drive.
    Read,
    /// Data to the drive.
    Write,
    /// Everything written and acknowledged so far becomes durable.
    Flush,
    /// The range no longer contains data that is needed.
    Trim,
}

impl Op {
    /// True if it carries data over the link.
    pub const fn transfers(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// One command for a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The submitter's name for it.
    pub id: RequestId,
    /// The operation.
    pub op: Op,
    /// First sector; 0 for a flush.
    pub lba: Lba,
    /// Number of sectors; 0 for a flush.
    pub sectors: Sectors,
    /// Force unit access: a write that completes only when it is durable.
    pub fua: bool,
    /// The job or connection that it comes from, counted from 0: a drive with several queues takes
    /// it by that submitter's.
    pub submitter: u16,
}

impl Request {
    /// A read of `sectors` from `lba` on.
    pub const fn read(id: u64, lba: Lba, sectors: Sectors) -> Self {
        Self { id: RequestId(id), op: Op::Read, lba, sectors, fua: false, submitter: 0 }
    }

    /// A write of `sectors` from `lba` on, which may stay in the drive's cache.
    pub const fn write(id: u64, lba: Lba, sectors: Sectors) -> Self {
        Self { id: RequestId(id), op: Op::Write, lba, sectors, fua: false, submitter: 0 }
    }

    /// A flush of everything acknowledged before.
    pub const fn flush(id: u64) -> Self {
        let (lba, sectors) = (Lba::ZERO, Sectors::ZERO);
        Self { id: RequestId(id), op: Op::Flush, lba, sectors, fua: false, submitter: 0 }
    }

    /// The sector after its last.
    pub fn end(&self) -> Lba {
        self.lba + self.sectors
    }
}

/// The source of an answer: the difference between a disk test and a cache test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServedBy {
    /// The medium itself moved the data.
    Medium,
    /// The drive's read cache or read-ahead had it.
    DriveReadCache,
    /// The drive's volatile write cache took it.
    DriveWriteCache,
    /// The target does not report it, as a kernel does not.
    Unknown,
}

/// The reason why a request failed, as the submitter sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IoError {
    /// The range ends beyond the last sector.
    #[error("the request extends past the end of the drive")]
    OutOfRange,
    /// The drive could not read or write the medium.
    #[error("the medium failed")]
    Medium,
    /// Fewer bytes moved than were requested.
    #[error("the transfer was short: {0} bytes moved")]
    Short(u64),
    /// The operating system's error number.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    Os(i32),
}

/// The end of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The submitter's name for the request.
    pub id: RequestId,
    /// Time of completion.
    pub at: Time,
    /// The outcome.
    pub result: Result<(), IoError>,
    /// The source of the answer.
    pub served_by: ServedBy,
}
