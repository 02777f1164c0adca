//! The target of pages: a real file, or a modelled drive in virtual time.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt;
use std::time::Instant;

use drivelab_core::disk::{Answer, Command, Data};
use drivelab_core::label::SECTOR;
use drivelab_core::{Disk, Lba, Op, Sectors, Span, Time};

use super::page::PAGE_BYTES;
use crate::drive::ServedDrive;
use crate::store::{Choose, Survival};

const PAGE_SECTORS: u64 = (PAGE_BYTES / SECTOR) as u64;

/// The reason why a target accepts no more pages.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The power was cut.
    #[error("the power was cut")]
    PowerCut,
    /// The user stopped it.
    #[error("it was stopped")]
    Stopped,
    /// The system returned an error.
    #[error("{operation} failed")]
    Io {
        /// The operation.
        operation: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

/// A target for pages.
pub trait PageTarget {
    /// Its clock.
    fn now(&self) -> Time;
    /// Writes a page.
    fn write(&mut self, page: u64, bytes: &[u8]) -> Result<(), TargetError>;
    /// Makes written pages durable.
    fn sync(&mut self) -> Result<(), TargetError>;
    /// Reads a page.
    fn read(&mut self, page: u64, bytes: &mut [u8]) -> Result<(), TargetError>;
    /// The first page from `page` on that may contain more than zeros, so that the time of a
    /// verification depends on the data and not on the size.
    fn data_from(&mut self, page: u64) -> Result<Option<u64>, TargetError>;
}

/// A file on a real file system.
#[derive(Debug)]
pub struct RealFile {
    file: File,
    began: Instant,
}

impl RealFile {
    /// Pages in an open file or block device.
    pub fn new(file: File) -> Self {
        Self { file, began: Instant::now() }
    }
}

pub(super) fn failed(operation: &'static str) -> impl Fn(io::Error) -> TargetError {
    move |source| TargetError::Io { operation, source }
}

fn offset(page: u64) -> u64 {
    page * PAGE_BYTES as u64
}

impl PageTarget for RealFile {
    fn now(&self) -> Time {
        let ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_ns(ns)
    }

    fn write(&mut self, page: u64, bytes: &[u8]) -> Result<(), TargetError> {
        self.file.write_all_at(bytes, offset(page)).map_err(failed("writing a page"))
    }

    fn sync(&mut self) -> Result<(), TargetError> {
        self.file.sync_data().map_err(failed("fdatasync"))
    }

    fn read(&mut self, page: u64, bytes: &mut [u8]) -> Result<(), TargetError> {
        bytes.fill(0);
        let mut done = 0;
        while done < bytes.len() {
            // Zeros stay where a file that came back shorter has lost the pages beyond its end.
            match self.file.read_at(&mut bytes[done..], offset(page) + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("reading a page")(error)),
            }
        }
        Ok(())
    }

    fn data_from(&mut self, page: u64) -> Result<Option<u64>, TargetError> {
        match rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Data(offset(page))) {
            Ok(data) => Ok(Some(data / PAGE_BYTES as u64)),
            // Nothing but a hole from there to the end.
            Err(rustix::io::Errno::NXIO) => Ok(None),
            // A device, or a file system without support for holes.
            Err(_) => {
                let end = self.file.seek(SeekFrom::End(0)).map_err(failed("finding data"))?;
                Ok((offset(page) < end).then_some(page))
            }
        }
    }
}

/// A modelled drive in virtual time, whose power is cut at a time set in advance.
#[derive(Debug)]
pub struct ModelledTarget {
    drive: ServedDrive,
    now: Time,
    power_goes: Option<Time>,
    /// The pages with data, in order, since the power was cut.
    data: Vec<u64>,
}

impl ModelledTarget {
    /// A drive whose power is cut at `power_goes`.
    pub fn new(drive: ServedDrive, power_goes: Time) -> Self {
        Self { drive, now: Time::ZERO, power_goes: Some(power_goes), data: Vec::new() }
    }

    /// Number of pages that fit.
    pub fn pages(&self) -> u64 {
        self.drive.capacity().bytes().get() / PAGE_BYTES as u64
    }

    /// Cuts the power; the remaining data can be read.
    pub fn cut(&mut self, choose: &mut dyn Choose) -> io::Result<Survival> {
        // From now on the target serves reads of the survivors.
        self.power_goes = None;
        let survival = self.drive.cut(self.now, choose)?;
        let extents = self.drive.store().extents(Lba::ZERO, self.drive.capacity(), usize::MAX)?;
        let (mut at, mut data) = (0, Vec::new());
        for extent in extents {
            let end = at + extent.sectors.get();
            let pages =
                if extent.hole { 0..0 } else { at / PAGE_SECTORS..end.div_ceil(PAGE_SECTORS) };
            data.extend(pages);
            at = end;
        }
        // An extent may begin in the page in which the one before ended.
        data.dedup();
        debug_assert!(data.is_sorted(), "extents come in the order of addresses");
        self.data = data;
        Ok(survival)
    }

    fn carry_out(&mut self, op: Op, page: u64, data: Option<Data>) -> Result<(), TargetError> {
        let flush = op == Op::Flush;
        let count = if flush { 0 } else { PAGE_SECTORS };
        let (lba, sectors) = (Lba::new(page * count), Sectors::new(count));
        let command = Command { token: 0, op, lba, sectors, fua: false, submitter: 0, data };
        let mut answers: Vec<Answer> = Vec::new();
        self.drive.advance(self.now, &mut answers).map_err(failed("the drive's memory"))?;
        self.drive.submit(self.now, command).map_err(failed("the drive's memory"))?;
        while answers.is_empty() {
            let next = self.drive.next_event().expect("a command in flight has an event");
            if let Some(end) = self.power_goes.filter(|end| next >= *end) {
                self.now = end;
                return Err(TargetError::PowerCut);
            }
            self.now = next.max(self.now);
            self.drive.advance(self.now, &mut answers).map_err(failed("the drive's memory"))?;
        }
        debug_assert_eq!(answers.len(), 1, "one command was in flight");
        // The time of a program between two requests.
        self.now += Span::from_us(10);
        let operation = if flush { "a flush" } else { "writing a page" };
        answers[0].result.map_err(|error| failed(operation)(io::Error::other(error.kind)))
    }
}

impl PageTarget for ModelledTarget {
    fn now(&self) -> Time {
        self.now
    }

    fn write(&mut self, page: u64, bytes: &[u8]) -> Result<(), TargetError> {
        self.carry_out(Op::Write, page, Some(Data::Bytes(bytes.into())))
    }

    fn sync(&mut self) -> Result<(), TargetError> {
        self.carry_out(Op::Flush, 0, None)
    }

    fn read(&mut self, page: u64, bytes: &mut [u8]) -> Result<(), TargetError> {
        self.drive.read(Lba::new(page * PAGE_SECTORS), bytes).map_err(failed("the drive's memory"))
    }

    fn data_from(&mut self, page: u64) -> Result<Option<u64>, TargetError> {
        let next = self.data.partition_point(|data| *data < page);
        Ok(self.data.get(next).copied())
    }
}
