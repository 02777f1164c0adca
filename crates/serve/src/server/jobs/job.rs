//! One request of a client, and the commands to the drive that carry it out.

use std::ops::Range;

use drivelab_core::disk::{Command, Data};
use drivelab_core::units::SECTOR_BYTES;
use drivelab_core::{Lba, Op, Sectors, Time};

use crate::nbd;
use crate::server::client::ClientId;
use crate::task::{BlockRequest, Task};

#[derive(Debug)]
pub(in crate::server) enum Requester {
    /// An NBD connection, if it is still open.
    Nbd { client: ClientId, request: nbd::Request },
    /// The kernel, which identifies its request by `id`.
    Kernel { front: Front, id: u64 },
}

impl Requester {
    /// As [`drivelab_core::Request::submitter`]: each NBD connection is one, and so is the kernel.
    fn submitter(&self) -> u16 {
        match self {
            Self::Nbd { client, .. } => client.submitter(),
            Self::Kernel { .. } => 0,
        }
    }
}

/// The source of the kernel's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Front {
    Fuse,
    #[cfg(feature = "ublk")]
    Ublk,
}

/// A request in progress.
///
/// A drive accepts whole sectors. If a request begins or ends within a sector, the rest of that
/// sector is read first and written back with it, as the page cache does for a file.
#[derive(Debug)]
pub(in crate::server) struct Job {
    pub(in crate::server) requester: Requester,
    pub(in crate::server) task: Task,
    pub(in crate::server) offset: u64,
    pub(in crate::server) length: u64,
    /// Time at which the server received it.
    pub(in crate::server) received: Time,
    fua: bool,
    /// The data to write: from the beginning of the first sector to the end of the last.
    data: Option<Box<[u8]>>,
    step: Step,
    zeroed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The sector of this edge is being read.
    ReadEdge(usize),
    /// The sector of this edge is being written back, zeroed in the request's part.
    WriteEdge(usize),
    Body,
    Flush,
}

pub(super) type Sector = [u8; SECTOR];
const SECTOR: usize = 512;

/// Zeros are written in pieces of this size, so that a request for gigabytes of them is a sequence
/// of writes as a drive accepts them.
const PIECE: u64 = 4 << 20;

impl Job {
    pub(in crate::server) fn new(requester: Requester, request: BlockRequest) -> Self {
        let BlockRequest { task, offset, length, fua, data } = request;
        debug_assert_eq!(task == Task::Write, data.is_some(), "a write brings its data");
        let step = Step::Body;
        let mut job = Self {
            requester,
            task,
            offset,
            length,
            received: Time::ZERO,
            fua,
            data,
            step,
            zeroed: 0,
        };
        if job.has_edges() {
            job.step = Step::ReadEdge(0);
            job.data = job.data.take().map(|data| job.padded(&data));
        }
        job
    }

    pub(super) fn sectors(&self) -> Range<u64> {
        self.offset / SECTOR_BYTES..(self.offset + self.length).div_ceil(SECTOR_BYTES)
    }

    fn changes(&self) -> bool {
        matches!(self.task, Task::Write | Task::Zero | Task::Free)
    }

    /// Returns whether it covers a sector in part, and so writes back bytes that it read before.
    pub(super) fn has_edges(&self) -> bool {
        let end = self.offset + self.length;
        self.changes()
            && !(self.offset.is_multiple_of(SECTOR_BYTES) && end.is_multiple_of(SECTOR_BYTES))
    }

    /// Returns whether the two must not be in flight at once, since one would write back what the
    /// other changes.
    pub(super) fn excludes(&self, other: &Self) -> bool {
        let (one, two) = (self.sectors(), other.sectors());
        let overlap = one.start < two.end && two.start < one.end;
        overlap && self.changes() && other.changes() && (self.has_edges() || other.has_edges())
    }

    /// The sectors that it covers partly: none, one or two.
    fn edges(&self) -> Vec<u64> {
        let (start, end) = (self.offset, self.offset + self.length);
        let cut = [start, end].into_iter().filter(|at| !at.is_multiple_of(SECTOR_BYTES));
        let mut edges: Vec<u64> = cut.map(|at| at / SECTOR_BYTES).collect();
        // A request within one sector covers that sector in part at both of its ends.
        edges.dedup();
        edges
    }

    /// The sectors that it covers completely.
    fn whole_sectors(&self) -> Range<u64> {
        let (start, end) = (self.offset, self.offset + self.length);
        let first = start.div_ceil(SECTOR_BYTES);
        first..(end / SECTOR_BYTES).max(first)
    }

    /// The part of an edge's sector that the job covers.
    fn part(&self, edge: usize) -> Range<usize> {
        let begin = self.edges()[edge] * SECTOR_BYTES;
        let [start, end] = [self.offset, self.offset + self.length].map(|at| {
            usize::try_from(at.saturating_sub(begin).min(SECTOR_BYTES)).expect("within a sector")
        });
        debug_assert!(start < end, "an edge is covered in part");
        start..end
    }

    fn padded(&self, data: &[u8]) -> Box<[u8]> {
        let covered = self.sectors();
        let bytes = (covered.end - covered.start) * SECTOR_BYTES;
        let mut padded = vec![0; usize::try_from(bytes).expect("little more than came in")];
        let offset = usize::try_from(self.offset % SECTOR_BYTES).expect("within a sector");
        padded[offset..offset + data.len()].copy_from_slice(data);
        padded.into_boxed_slice()
    }

    /// Returns whether the command in flight reads a sector that will be written back.
    pub(super) fn reads_edge(&self) -> bool {
        matches!(self.step, Step::ReadEdge(_))
    }

    /// The next command after one has completed, if there is another; `found` is the sector of an
    /// edge that was read.
    pub(super) fn next(&mut self, token: u64, found: Option<&Sector>) -> Option<Command> {
        let count = self.edges().len();
        self.step = match self.step {
            Step::ReadEdge(edge) => {
                let found = found.expect("the caller hands over what was read");
                if self.task != Task::Write {
                    return Some(self.write_edge(token, edge, found));
                }
                self.put_back(edge, found);
                if edge + 1 < count { Step::ReadEdge(edge + 1) } else { Step::Body }
            }
            // The edges of a request for zeros are written one by one, before its whole sectors.
            Step::WriteEdge(edge) if edge + 1 < count => Step::ReadEdge(edge + 1),
            Step::WriteEdge(_) if self.whole_sectors().is_empty() => return None,
            Step::WriteEdge(_) => Step::Body,
            Step::Body if self.task == Task::Zero => {
                self.zeroed += PIECE;
                let whole = self.whole_sectors();
                if self.zeroed >= (whole.end - whole.start) * SECTOR_BYTES {
                    return None;
                }
                Step::Body
            }
            // A trim is durable when it completes, but the data it replaced may still be in the
            // cache.
            Step::Body if self.task == Task::Free && self.fua => Step::Flush,
            Step::Body | Step::Flush => return None,
        };
        Some(self.command(token))
    }

    /// Completes the data of a write with the bytes of an edge's sector that the job does not
    /// cover.
    fn put_back(&mut self, edge: usize, found: &Sector) {
        let (first, sector, part) = (self.sectors().start, self.edges()[edge], self.part(edge));
        let data = self.data.as_mut().expect("a write has its data until it is sent");
        let offset = usize::try_from(sector - first).expect("within the data") * SECTOR;
        let into = &mut data[offset..offset + SECTOR];
        into[..part.start].copy_from_slice(&found[..part.start]);
        into[part.end..].copy_from_slice(&found[part.end..]);
    }

    fn write_edge(&mut self, token: u64, edge: usize, found: &Sector) -> Command {
        self.step = Step::WriteEdge(edge);
        let mut sector_data = Box::new(*found);
        sector_data[self.part(edge)].fill(0);
        let sector = self.edges()[edge];
        let data = Some(Data::Bytes(sector_data));
        self.of(token, Op::Write, sector..sector + 1, data)
    }

    pub(super) fn command(&mut self, token: u64) -> Command {
        match (self.step, self.task) {
            (Step::ReadEdge(edge) | Step::WriteEdge(edge), _) => {
                let sector = self.edges()[edge];
                self.of(token, Op::Read, sector..sector + 1, None)
            }
            (Step::Flush, _) | (Step::Body, Task::Flush) => self.of(token, Op::Flush, 0..0, None),
            (Step::Body, Task::Read) => self.of(token, Op::Read, self.sectors(), None),
            (Step::Body, Task::Write) => {
                let data = self.data.take().map(Data::Bytes);
                self.of(token, Op::Write, self.sectors(), data)
            }
            (Step::Body, Task::Free) => self.of(token, Op::Trim, self.whole_sectors(), None),
            (Step::Body, Task::Zero) => {
                let whole = self.whole_sectors();
                let start = whole.start + self.zeroed / SECTOR_BYTES;
                let piece = start..whole.end.min(start + PIECE / SECTOR_BYTES);
                debug_assert!(piece.start < piece.end, "the last piece ended the job");
                let zeros = Data::Zeros(Sectors::new(piece.end - piece.start));
                self.of(token, Op::Write, piece, Some(zeros))
            }
        }
    }

    fn of(&self, token: u64, op: Op, range: Range<u64>, data: Option<Data>) -> Command {
        debug_assert!(range.start <= range.end, "a range of sectors");
        let (lba, sectors) = (Lba::new(range.start), Sectors::new(range.end - range.start));
        // Only writes: the drive would refuse the flag on anything else.
        let (fua, submitter) = (self.fua && op == Op::Write, self.requester.submitter());
        Command { token, op, lba, sectors, fua, submitter, data }
    }
}
