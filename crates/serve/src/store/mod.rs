//! The bytes: the medium, and above it the volatile cache that a power cut empties.
//!
//! The drive model decides *when* a write completes and when cached data is on the medium; the
//! store keeps the bytes in between, as required by the rules of a power cut (`durability.md`):
//! each sector has one durable value on the medium and any number of later ones above it.

mod choose;
mod cut;
mod in_flight_trim;
mod overlay;
mod recording;
mod replay;
mod trim;
mod versions;

use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use drivelab_core::disk::{Data, Extent, Medium};
use drivelab_core::{Bytes, Destaged, Lba, Sectors, Time};

pub use choose::{Choose, Dice, KeepAll, lose_only, of_outcome};
pub use cut::{Fate, Survival};
pub use in_flight_trim::TrimId;
pub use recording::{Recording, Step};
pub use replay::{Recorded, Replay};
pub use versions::Write;

use crate::hash::SectorHashBuilder;
use in_flight_trim::Trim;
use overlay::overlay;
use versions::{SECTOR, Versions};

/// Maximum number of separate later values per sector; beyond it the oldest becomes durable, which
/// the rules allow, so that a host that rewrites one sector endlessly uses bounded memory.
const VERSIONS_MAX: usize = 16;

/// The bytes of a drive, durable and not.
#[derive(Debug)]
pub struct Store {
    medium: Box<dyn Medium>,
    /// The sectors with values later than the durable one.
    volatile: HashMap<u64, Versions, SectorHashBuilder>,
    trims: Vec<Trim>,
    sequence: u64,
    /// Sectors that are atomic in a power cut.
    physical_sector: Sectors,
    /// The recording of its steps, if one was requested.
    recording: Option<Recording>,
}

impl Store {
    /// A store on `medium` with physical sectors of `physical_sector` (1 or 8).
    pub fn new(medium: Box<dyn Medium>, physical_sector: Sectors) -> Self {
        assert!(
            physical_sector > Sectors::ZERO,
            "a physical sector is at least one logical sector"
        );
        let (volatile, trims) = (HashMap::default(), Vec::new());
        Self { medium, volatile, trims, sequence: 0, physical_sector, recording: None }
    }

    /// Records from now on, in at most about `limit` of memory.
    pub fn record(&mut self, limit: Bytes) {
        self.recording = Some(Recording::new(limit));
    }

    /// Ends the recording and returns it.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.recording.take()
    }

    /// Sets the time of the next steps of the recording.
    pub(crate) fn at(&mut self, now: Time) {
        if let Some(recording) = &mut self.recording {
            recording.now = now;
        }
    }

    /// Adds a step to the recording, if there is one.
    pub(crate) fn note(&mut self, step: impl FnOnce() -> Step) -> io::Result<()> {
        self.recording.as_mut().map_or(Ok(()), |recording| recording.add(step()))
    }

    /// Addressable sectors.
    pub fn capacity(&self) -> Sectors {
        self.medium.capacity()
    }

    /// Volatile data, including overwritten data.
    pub fn pending(&self) -> Bytes {
        let sectors: usize = self.volatile.values().map(Versions::len).sum();
        Sectors::new(sectors as u64).bytes()
    }

    /// Submits a write: until it completes, a power cut may or may not keep it.
    pub fn begin_write(&mut self, now: Time, lba: Lba, data: Data) -> io::Result<Rc<Write>> {
        self.note(|| Step::Write { lba, data: data.clone() })?;
        self.sequence += 1;
        let write = Rc::new(Write::new(self.sequence, now, lba, data));
        // Relieved after the loop, in which the map is borrowed.
        let mut crowded = Vec::new();
        for sector in write.sectors() {
            let versions = self.volatile.entry(sector).or_default();
            versions.push(Rc::clone(&write));
            if versions.len() > VERSIONS_MAX {
                crowded.push(sector);
            }
        }
        for sector in crowded {
            self.relieve(sector)?;
        }
        Ok(write)
    }

    fn relieve(&mut self, sector: u64) -> io::Result<()> {
        let versions = &self.volatile[&sector];
        match versions.oldest_completed() {
            Some(oldest) => self.promote(sector..sector + 1, |_| Some(oldest.sequence)),
            // All in flight: as many as the host may have, so memory stays bounded.
            None => Ok(()),
        }
    }

    /// Completes a write: if `durable` it is on the medium, otherwise in the volatile cache.
    pub fn complete(&mut self, write: &Rc<Write>, durable: bool) -> io::Result<()> {
        let sequence = write.sequence;
        debug_assert!(sequence <= self.sequence, "a write of this store");
        self.note(|| Step::Completed { write: sequence, durable })?;
        write.set_completed();
        if !durable {
            return Ok(());
        }
        self.promote(write.sectors(), |versions| versions.has(sequence).then_some(sequence))
    }

    /// Drops a failed write: its sectors keep their values.
    pub fn forget(&mut self, write: &Rc<Write>) -> io::Result<()> {
        self.note(|| Step::Forgotten(write.sequence))?;
        for sector in write.sectors() {
            if let Some(versions) = self.volatile.get_mut(&sector) {
                versions.remove(write.sequence);
                if versions.is_empty() {
                    self.volatile.remove(&sector);
                }
            }
        }
        Ok(())
    }

    /// Moves cached data that the device destaged to the medium.
    pub fn destaged(&mut self, record: &Destaged) -> io::Result<()> {
        if self.volatile.is_empty() {
            return Ok(());
        }
        self.note(|| Step::Destaged(*record))?;
        let end = (record.lba + record.sectors).get();
        self.promote(record.lba.get()..end, |versions| versions.newest_taken(record.taken))
    }

    /// Completes a flush. The device has reported the data that it wrote to the medium; a trim in
    /// flight may have made it drop cached data, and is therefore carried out.
    pub fn flushed(&mut self) -> io::Result<()> {
        self.note(|| Step::Flushed)?;
        for trim in self.trims.clone() {
            self.carry_out(&trim)?;
        }
        Ok(())
    }

    /// Writes the value of each sector that `chosen` selects by sequence number to the medium, and
    /// forgets it and earlier ones.
    ///
    /// A physical sector is written as a whole: with a value of one part go the values that the
    /// other parts had by then, so that no write is ever partly on the medium.
    fn promote(
        &mut self,
        sectors: std::ops::Range<u64>,
        chosen: impl Fn(&Versions) -> Option<u64>,
    ) -> io::Result<()> {
        let atomic = self.physical_sector.get();
        let mut run: Option<(Rc<Write>, u64, u64)> = None;
        let mut at = sectors.start;
        while at < sectors.end {
            // One physical sector per iteration, of which the range may cover a part.
            let (first, end) = (at / atomic * atomic, (at / atomic + 1) * atomic);
            let covered = at..end.min(sectors.end);
            at = end;
            let points = covered.filter_map(|sector| chosen(self.volatile.get(&sector)?));
            let Some(point) = points.max() else { continue };
            for sector in first..end {
                let Some(write) = self.take_up_to(sector, point) else { continue };
                match &mut run {
                    // Consecutive sectors of one write go to the medium in one call.
                    Some((of, _, end)) if *end == sector && Rc::ptr_eq(of, &write) => *end += 1,
                    _ => {
                        self.put(run.take())?;
                        run = Some((write, sector, sector + 1));
                    }
                }
            }
        }
        self.put(run)
    }

    /// Takes the newest value of `sector` that is not newer than `point`, and forgets earlier ones.
    fn take_up_to(&mut self, sector: u64, point: u64) -> Option<Rc<Write>> {
        let versions = self.volatile.get_mut(&sector)?;
        let write = versions.take_up_to(point)?;
        if versions.is_empty() {
            self.volatile.remove(&sector);
        }
        Some(write)
    }

    fn put(&mut self, run: Option<(Rc<Write>, u64, u64)>) -> io::Result<()> {
        let Some((write, start, end)) = run else { return Ok(()) };
        debug_assert!(start < end, "a run has at least one sector");
        for trim in self.trims.iter_mut().filter(|trim| trim.sequence < write.sequence) {
            trim.spared.push((start, end));
        }
        match write.bytes(start, end) {
            Some(bytes) => self.medium.write(Lba::new(start), bytes),
            None => self.medium.write_zeros(Lba::new(start), Sectors::new(end - start)),
        }
    }

    /// Fills `data` with the newest completed values from `lba` on.
    pub fn read(&self, lba: Lba, data: &mut [u8]) -> io::Result<()> {
        debug_assert!(data.len().is_multiple_of(SECTOR), "whole sectors");
        self.medium.read(lba, data)?;
        if self.volatile.is_empty() {
            return Ok(());
        }
        for (sector, piece) in (lba.get()..).zip(data.chunks_exact_mut(SECTOR)) {
            let versions = self.volatile.get(&sector);
            if let Some(write) = versions.and_then(Versions::newest_completed) {
                write.copy_sector(sector, piece);
            }
        }
        Ok(())
    }

    /// Returns the extents from `lba` on, including cached data.
    pub fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>> {
        let range = lba.get()..(lba + sectors).get();
        let cached = self.volatile.keys().copied().filter(|sector| range.contains(sector));
        let mut cached: Vec<u64> = cached.collect();
        let below = self.medium.extents(lba, sectors, limit)?;
        cached.sort_unstable();
        let mut extents = overlay(&below, range.start, &cached);
        extents.truncate(limit);
        Ok(extents)
    }

    /// Syncs the medium to the operating system's own.
    pub fn sync(&mut self) -> io::Result<()> {
        self.medium.sync()
    }

    /// The medium without the cache: for faults that damage it.
    pub(crate) fn medium_mut(&mut self) -> &mut dyn Medium {
        &mut *self.medium
    }
}
