//! Bugs planted between the parts of the drive: each must be caught by the oracle.

use std::cell::RefCell;
use std::io;

use drivelab_core::disk::{Answer, Command, Extent, Medium};
use drivelab_core::{Completion, Destaged, Device, Lba, Op, Request, Sectors, ServedBy, Time};

use super::histories::{jumbled, solid_state};
use super::rig::{Kept, MakeDevice, Rig, Served, Wiring};

/// Histories that a bug may survive before the test says that it was missed.
const PATIENCE: u64 = 2_000;

fn caught(wiring: &dyn Wiring) {
    assert!(is_caught(&jumbled, wiring), "{PATIENCE} histories did not show the bug");
}

fn is_caught(make: MakeDevice<'_>, wiring: &dyn Wiring) -> bool {
    (0..PATIENCE).any(|seed| Rig::new(make, wiring, seed).play().is_err())
}

/// A device around the right one that changes what passes through.
struct Bent {
    inner: Box<dyn Device>,
    bend: DeviceBug,
    /// Flushes answered without asking.
    answered: Vec<Completion>,
    /// Records held back.
    kept: RefCell<Vec<Destaged>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeviceBug {
    FlushIgnoresDestage,
    FuaAsPlain,
    DestageAcrossFlush,
    DestageMisplaced,
    DestageShort,
    DestageOfOldData,
    FlushOfTheLastRunOnly,
}

impl Device for Bent {
    fn capacity(&self) -> Sectors {
        self.inner.capacity()
    }

    fn submit(&mut self, now: Time, mut request: Request) -> Result<(), Request> {
        if self.bend == DeviceBug::FuaAsPlain {
            request.fua = false;
        }
        if self.bend == DeviceBug::FlushIgnoresDestage && request.op == Op::Flush {
            let (id, result, served_by) = (request.id, Ok(()), ServedBy::DriveWriteCache);
            self.answered.push(Completion { id, at: now, result, served_by });
            return Ok(());
        }
        self.inner.submit(now, request)
    }

    fn next_event(&self) -> Option<Time> {
        let answered = self.answered.first().map(|done| done.at);
        answered.into_iter().chain(self.inner.next_event()).min()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        completed.append(&mut self.answered);
        self.inner.advance(now, completed);
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        let mut right = Vec::new();
        self.inner.destaged(&mut right);
        let one = Sectors::new(1);
        match self.bend {
            DeviceBug::DestageAcrossFlush => {
                std::mem::swap(&mut right, &mut self.kept.borrow_mut());
            }
            DeviceBug::DestageMisplaced => {
                for record in &mut right {
                    record.lba = record.lba + one;
                }
            }
            DeviceBug::DestageShort => {
                for record in &mut right {
                    record.sectors = Sectors::ZERO;
                }
            }
            DeviceBug::DestageOfOldData => {
                for record in &mut right {
                    record.taken = Time::from_ns(record.taken.ns() / 2);
                }
            }
            DeviceBug::FlushOfTheLastRunOnly => {
                right.drain(..right.len().saturating_sub(1));
            }
            DeviceBug::FlushIgnoresDestage | DeviceBug::FuaAsPlain => {}
        }
        records.append(&mut right);
    }
}

impl Wiring for DeviceBug {
    fn device(&self, right: Box<dyn Device>) -> Box<dyn Device> {
        let (answered, kept) = (Vec::new(), RefCell::default());
        Box::new(Bent { inner: right, bend: *self, answered, kept })
    }
}

/// The lies that were seen in the market: flushes and forced writes that are only answered.
#[test]
fn a_solid_state_drive_that_lies_is_caught() {
    let make = solid_state("crucial-mx200,scale=1/512,precondition=fresh");
    for lie in [
        DeviceBug::FlushIgnoresDestage,
        DeviceBug::FuaAsPlain,
        DeviceBug::DestageMisplaced,
        DeviceBug::FlushOfTheLastRunOnly,
    ] {
        assert!(is_caught(&make, &lie), "{PATIENCE} histories did not show {lie:?}");
    }
}

#[test]
fn a_flush_that_ignores_the_destage_in_flight_is_caught() {
    caught(&DeviceBug::FlushIgnoresDestage);
}

#[test]
fn fua_treated_as_plain_is_caught() {
    caught(&DeviceBug::FuaAsPlain);
}

#[test]
fn a_destage_that_slips_behind_a_flush_is_caught() {
    caught(&DeviceBug::DestageAcrossFlush);
}

#[test]
fn a_destage_to_the_wrong_sector_is_caught() {
    caught(&DeviceBug::DestageMisplaced);
}

#[test]
fn a_destage_that_writes_nothing_is_caught() {
    caught(&DeviceBug::DestageShort);
}

#[test]
fn a_destage_of_data_older_than_the_cache_holds_is_caught() {
    caught(&DeviceBug::DestageOfOldData);
}

#[test]
fn a_flush_that_writes_only_the_last_run_is_caught() {
    caught(&DeviceBug::FlushOfTheLastRunOnly);
}

/// A medium around the right one that changes what is written.
#[derive(Debug)]
struct BentMedium {
    inner: Kept,
    bend: MediumBug,
    writes: u64,
    late: Option<(Lba, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MediumBug {
    WritesGetLost,
    WritesAreMisdirected,
    SectorsAreTorn,
    TheLastSectorIsLeftOut,
    OverlappingWritesAreReordered,
    TrimKeepsData,
    TrimIsTooLong,
}

impl Medium for BentMedium {
    fn capacity(&self) -> Sectors {
        self.inner.capacity()
    }

    fn read(&self, lba: Lba, data: &mut [u8]) -> io::Result<()> {
        self.inner.read(lba, data)
    }

    fn write(&mut self, lba: Lba, data: &[u8]) -> io::Result<()> {
        self.writes += 1;
        match self.bend {
            MediumBug::WritesGetLost if self.writes.is_multiple_of(5) => Ok(()),
            MediumBug::WritesAreMisdirected if self.writes.is_multiple_of(5) => {
                self.inner.write(Lba::new(lba.get().saturating_sub(1)), data)
            }
            MediumBug::SectorsAreTorn if self.writes.is_multiple_of(5) => {
                let mut old = vec![0; data.len()];
                self.inner.read(lba, &mut old)?;
                old[..data.len() - 256].copy_from_slice(&data[..data.len() - 256]);
                self.inner.write(lba, &old)
            }
            MediumBug::TheLastSectorIsLeftOut => self.inner.write(lba, &data[..data.len() - 512]),
            MediumBug::OverlappingWritesAreReordered => {
                let earlier = self.late.replace((lba, data.to_vec()));
                self.inner.write(lba, data)?;
                earlier.map_or(Ok(()), |(lba, data)| self.inner.write(lba, &data))
            }
            _ => self.inner.write(lba, data),
        }
    }

    fn free(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()> {
        match self.bend {
            MediumBug::TrimKeepsData => Ok(()),
            MediumBug::TrimIsTooLong => {
                let last = Lba::ZERO + self.capacity();
                let sectors = sectors + Sectors::new(1);
                self.inner.free(lba, sectors.min(last - lba))
            }
            _ => self.inner.free(lba, sectors),
        }
    }

    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>> {
        self.inner.extents(lba, sectors, limit)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }
}

impl Wiring for MediumBug {
    fn medium(&self, right: Kept) -> Box<dyn Medium> {
        Box::new(BentMedium { inner: right, bend: *self, writes: 0, late: None })
    }
}

#[test]
fn writes_that_get_lost_on_the_way_to_the_medium_are_caught() {
    caught(&MediumBug::WritesGetLost);
}

#[test]
fn misdirected_writes_are_caught() {
    caught(&MediumBug::WritesAreMisdirected);
}

#[test]
fn torn_sectors_are_caught() {
    caught(&MediumBug::SectorsAreTorn);
}

#[test]
fn a_run_without_its_last_sector_is_caught() {
    caught(&MediumBug::TheLastSectorIsLeftOut);
}

#[test]
fn overlapping_writes_that_are_reordered_are_caught() {
    caught(&MediumBug::OverlappingWritesAreReordered);
}

#[test]
fn a_trim_that_lets_old_data_rise_again_is_caught() {
    caught(&MediumBug::TrimKeepsData);
}

#[test]
fn a_trim_that_takes_a_sector_too_many_is_caught() {
    caught(&MediumBug::TrimIsTooLong);
}

/// Reads that do not look into the cache.
struct ReadBypassesCache;

impl Wiring for ReadBypassesCache {
    fn read(&self, _drive: &Served, medium: &Kept, done: &Answer, data: &mut [u8]) {
        medium.read(done.lba, data).unwrap();
    }
}

#[test]
fn a_read_that_bypasses_the_cache_is_caught() {
    caught(&ReadBypassesCache);
}

/// Reads that are off by a sector.
struct ReadIsMisplaced;

impl Wiring for ReadIsMisplaced {
    fn read(&self, drive: &Served, _medium: &Kept, done: &Answer, data: &mut [u8]) {
        drive.read(Lba::new(done.lba.get().saturating_sub(1)), data).unwrap();
    }
}

#[test]
fn a_read_of_the_wrong_sector_is_caught() {
    caught(&ReadIsMisplaced);
}

/// A power cut that leaves the cache as it was.
struct CutKeepsCache;

impl Wiring for CutKeepsCache {
    fn restarts(&self) -> bool {
        false
    }

    fn read(&self, drive: &Served, medium: &Kept, done: &Answer, data: &mut [u8]) {
        // What is on the medium shows only once the drive has really been off.
        drive.read(done.lba, data).unwrap();
        if done.sectors.get() == super::rig::SECTORS as u64 {
            let mut durable = vec![0; data.len()];
            medium.read(done.lba, &mut durable).unwrap();
            let half = data.len() / 2;
            data[half..].copy_from_slice(&durable[half..]);
        }
    }
}

#[test]
fn a_cut_that_keeps_the_cache_is_caught() {
    caught(&CutKeepsCache);
}

/// Writes acknowledged and dropped while the queue is long.
struct AcknowledgedAndDropped;

impl Wiring for AcknowledgedAndDropped {
    fn submits(&self, command: &Command, in_flight: usize) -> bool {
        command.op != Op::Write || in_flight < 6
    }
}

#[test]
fn a_write_that_is_acknowledged_and_dropped_is_caught() {
    caught(&AcknowledgedAndDropped);
}

/// A cut that throws away what became durable since the last flush.
struct CutRollsBack;

impl Wiring for CutRollsBack {
    fn off(&self, medium: &mut Kept, before: &[u8]) {
        medium.write(Lba::ZERO, before).unwrap();
    }
}

#[test]
fn a_cut_that_rolls_back_to_the_last_flush_is_caught() {
    caught(&CutRollsBack);
}

/// A cut that wipes a sector.
struct CutWipes;

impl Wiring for CutWipes {
    fn off(&self, medium: &mut Kept, _before: &[u8]) {
        medium.free(Lba::new(3), Sectors::new(1)).unwrap();
    }
}

#[test]
fn a_cut_that_wipes_a_sector_is_caught() {
    caught(&CutWipes);
}

/// A drive that takes the 512 bytes that are addressed for what it writes at once.
struct SectorsInPieces;

impl Wiring for SectorsInPieces {
    fn physical_sector(&self, _right: Sectors) -> Sectors {
        Sectors::new(1)
    }
}

#[test]
fn a_physical_sector_that_is_written_in_pieces_is_caught() {
    caught(&SectorsInPieces);
}
