//! Where pages are written: a real file, or a modelled drive in virtual time.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::time::Instant;

use drivelab_core::{Device, Lba, Op, Sectors, Span, Time};

use super::page::{self, PAGE_BYTES};
use crate::drive::{Command, Done, ServedDrive};
use crate::store::{Choose, Data, Survival};

/// The drive is gone, or something else is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The power was cut.
    #[error("the power was cut")]
    PowerCut,
    /// The system refused.
    #[error("{operation} failed")]
    Io {
        /// What was being done.
        operation: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Somewhere to keep pages.
pub trait Place {
    /// Its clock.
    fn now(&self) -> Time;
    /// Writes a page.
    fn write(&mut self, page: u64, bytes: &[u8]) -> Result<(), PlaceError>;
    /// Makes what was written durable.
    fn sync(&mut self) -> Result<(), PlaceError>;
    /// Reads a page.
    fn read(&mut self, page: u64, bytes: &mut [u8]) -> Result<(), PlaceError>;
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

    /// Whether everything in it is ours or zeros, so that nobody's data is lost if it is written.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn holds_only_ours(&mut self) -> io::Result<bool> {
        let mut bytes = vec![0; PAGE_BYTES];
        let mut at = 0;
        loop {
            let count = self.file.read_at(&mut bytes, at)?;
            let sectors = bytes[..count].chunks(page::SECTOR);
            if count == 0 || !sectors.into_iter().all(page::may_go) {
                return Ok(count == 0);
            }
            at += count as u64;
        }
    }

    /// Makes a file as long as `pages`; a block device has the length it has, and the pages that
    /// fit are given back.
    ///
    /// # Errors
    /// The system refuses, or not a single page fits.
    pub fn resize(&mut self, pages: u64) -> io::Result<u64> {
        if self.file.metadata()?.file_type().is_block_device() {
            let fit = self.file.seek(SeekFrom::End(0))? / PAGE_BYTES as u64;
            return Ok(pages.min(fit));
        }
        self.file.set_len(pages * PAGE_BYTES as u64)?;
        // The length itself must not be what is lost.
        self.file.sync_all()?;
        Ok(pages)
    }
}

fn offset(page: u64) -> u64 {
    page * PAGE_BYTES as u64
}

impl Place for RealFile {
    fn now(&self) -> Time {
        let ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_ns(ns)
    }

    fn write(&mut self, page: u64, bytes: &[u8]) -> Result<(), PlaceError> {
        let failed = |source| PlaceError::Io { operation: "writing a page", source };
        self.file.write_all_at(bytes, offset(page)).map_err(failed)
    }

    fn sync(&mut self) -> Result<(), PlaceError> {
        let failed = |source| PlaceError::Io { operation: "fdatasync", source };
        self.file.sync_data().map_err(failed)
    }

    fn read(&mut self, page: u64, bytes: &mut [u8]) -> Result<(), PlaceError> {
        let failed = |source| PlaceError::Io { operation: "reading a page", source };
        bytes.fill(0);
        let mut done = 0;
        while done < bytes.len() {
            // A file that came back shorter than it was has lost the pages beyond its end.
            match self.file.read_at(&mut bytes[done..], offset(page) + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }
}

/// A modelled drive in virtual time, whose power goes at a moment set in advance.
#[derive(Debug)]
pub struct ModelledPlace<D> {
    drive: ServedDrive<D>,
    now: Time,
    power_goes: Option<Time>,
}

impl<D: Device> ModelledPlace<D> {
    /// A drive whose power goes at `power_goes`.
    pub fn new(drive: ServedDrive<D>, power_goes: Time) -> Self {
        Self { drive, now: Time::ZERO, power_goes: Some(power_goes) }
    }

    /// Pages that fit.
    pub fn pages(&self) -> u64 {
        self.drive.capacity().bytes().get() / PAGE_BYTES as u64
    }

    /// Cuts the power; what is left can be read.
    ///
    /// # Errors
    /// The medium failed.
    pub fn cut(&mut self, choose: &mut dyn Choose) -> io::Result<Survival> {
        self.power_goes = None;
        self.drive.cut(self.now, choose)
    }

    fn carry_out(&mut self, op: Op, page: u64, data: Option<Data>) -> Result<(), PlaceError> {
        let failed = |source| PlaceError::Io { operation: "the drive's memory", source };
        let flush = op == Op::Flush;
        let count = if flush { 0 } else { PAGE_BYTES as u64 / 512 };
        let (lba, sectors) = (Lba::new(page * count), Sectors::new(count));
        let command = Command { token: 0, op, lba, sectors, fua: false, data };
        let mut done: Vec<Done> = Vec::new();
        self.drive.advance(self.now, &mut done).map_err(failed)?;
        self.drive.submit(self.now, command).map_err(failed)?;
        while done.is_empty() {
            let next = self.drive.next_event().expect("a command is on its way");
            if let Some(end) = self.power_goes.filter(|end| next >= *end) {
                self.now = end;
                return Err(PlaceError::PowerCut);
            }
            self.now = next.max(self.now);
            self.drive.advance(self.now, &mut done).map_err(failed)?;
        }
        // What a program does between two requests.
        self.now += Span::from_us(10);
        let operation = if flush { "a flush" } else { "writing a page" };
        done[0]
            .result
            .map_err(|error| PlaceError::Io { operation, source: io::Error::other(error) })
    }
}

impl<D: Device> Place for ModelledPlace<D> {
    fn now(&self) -> Time {
        self.now
    }

    fn write(&mut self, page: u64, bytes: &[u8]) -> Result<(), PlaceError> {
        self.carry_out(Op::Write, page, Some(Data::Bytes(bytes.into())))
    }

    fn sync(&mut self) -> Result<(), PlaceError> {
        self.carry_out(Op::Flush, 0, None)
    }

    fn read(&mut self, page: u64, bytes: &mut [u8]) -> Result<(), PlaceError> {
        let failed = |source| PlaceError::Io { operation: "the drive's memory", source };
        self.drive.read(Lba::new(page * (PAGE_BYTES as u64 / 512)), bytes).map_err(failed)
    }
}
