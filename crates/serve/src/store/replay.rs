//! A store as it was at any instant of its recording, and the result of a power cut at that
//! instant.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::{Rc, Weak};

use drivelab_core::disk::{Extent, Medium};
use drivelab_core::{Bytes, Lba, Sectors, Time};

use super::choose::Count;
use super::{Choose, Fate, KeepAll, Recording, Step, Store, Write};
use crate::fault::{Fault, Faults};
use crate::medium::{Fork, Memory};

/// A medium that a store changes while forks of it are made, one after the other.
#[derive(Debug, Clone)]
struct Shared(Rc<RefCell<Memory>>);

impl Medium for Shared {
    fn capacity(&self) -> Sectors {
        self.0.borrow().capacity()
    }

    fn read(&self, lba: Lba, data: &mut [u8]) -> io::Result<()> {
        self.0.borrow().read(lba, data)
    }

    fn write(&mut self, lba: Lba, data: &[u8]) -> io::Result<()> {
        self.0.borrow_mut().write(lba, data)
    }

    fn free(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()> {
        self.0.borrow_mut().free(lba, sectors)
    }

    fn write_zeros(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()> {
        self.0.borrow_mut().write_zeros(lba, sectors)
    }

    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>> {
        self.0.borrow().extents(lba, sectors, limit)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A drive whose history is repeated.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Addressable sectors.
    pub capacity: Sectors,
    /// Sectors that are atomic in a power cut.
    pub physical_sector: Sectors,
    /// Instant before which everything that was written is taken as durable.
    pub durable_before: Time,
    /// Its faults, and the seed of their dice: a cut may tear sectors.
    pub faults: Vec<Fault>,
    /// See `faults`.
    pub seed: u64,
}

/// A store at an instant of its recording; it only moves forward.
#[derive(Debug)]
pub struct Replay<'a> {
    recorded: &'a Recorded,
    steps: std::iter::Peekable<std::slice::Iter<'a, (Time, Step)>>,
    limit: Bytes,
    medium: Shared,
    store: Store,
    /// The writes that may still be completed.
    writes: BTreeMap<u64, Weak<Write>>,
    is_settled: bool,
}

impl<'a> Replay<'a> {
    /// The store before its first step, with about `limit` of memory at most.
    pub fn new(recorded: &'a Recorded, recording: &'a Recording, limit: Bytes) -> Self {
        let medium = Shared(Rc::new(RefCell::new(Memory::new(recorded.capacity, limit))));
        let store = Store::new(Box::new(medium.clone()), recorded.physical_sector);
        let (steps, writes) = (recording.steps.iter().peekable(), BTreeMap::new());
        Self { recorded, steps, limit, medium, store, writes, is_settled: false }
    }

    /// Carries out the steps before an instant.
    pub fn advance(&mut self, until: Time) -> io::Result<()> {
        // All of it is durable then, even if the recording has it in the cache.
        if !self.is_settled && self.recorded.durable_before <= until {
            self.steps_before(self.recorded.durable_before)?;
            self.store.cut(&mut KeepAll, |_, _| None)?;
            self.is_settled = true;
        }
        self.steps_before(until)
    }

    fn steps_before(&mut self, until: Time) -> io::Result<()> {
        while let Some((at, step)) = self.steps.next_if(|(at, _)| *at < until) {
            self.take(*at, step)?;
        }
        Ok(())
    }

    fn take(&mut self, at: Time, step: &Step) -> io::Result<()> {
        let store = &mut self.store;
        match step {
            Step::Write { lba, data } => {
                let write = store.begin_write(at, *lba, data.clone())?;
                self.writes.insert(write.sequence, Rc::downgrade(&write));
            }
            // One that is gone was made durable, or overwritten.
            Step::Completed { write, durable } => {
                if let Some(write) = self.writes.get(write).and_then(Weak::upgrade) {
                    store.complete(&write, *durable)?;
                }
            }
            Step::Forgotten(write) => {
                if let Some(write) = self.writes.remove(write).and_then(|write| write.upgrade()) {
                    store.forget(&write)?;
                }
            }
            Step::Destaged(record) => store.destaged(record)?,
            Step::Flushed => store.flushed()?,
            Step::Trim { lba, sectors } => drop(store.begin_trim(*lba, *sectors)?),
            // A trim that a flush carried out is not completed again.
            Step::Trimmed(trim) if store.trims.iter().any(|it| it.sequence == trim.0) => {
                store.complete_trim(*trim)?;
            }
            Step::TrimForgotten(trim) => store.forget_trim(*trim)?,
            Step::Trimmed(_) | Step::Flush | Step::Lied => {}
        }
        Ok(())
    }

    /// Cuts the power of a copy; returns its medium and the result for each write that was not
    /// durable.
    ///
    /// The copy is valid until this moves on.
    pub fn cut(
        &self,
        at: Time,
        choose: &mut dyn Choose,
    ) -> io::Result<(Box<dyn Medium>, Vec<Fate>)> {
        // New for every cut, so that each tears the same sectors no matter which were tried before.
        let mut faults = Faults::new(self.recorded.seed);
        for fault in &self.recorded.faults {
            faults.add(Time::ZERO, fault.clone());
        }
        let base: Rc<dyn Medium> = Rc::new(self.medium.clone());
        let mut copy = self.copy(Box::new(Fork::new(base, self.limit)));
        let fates = copy.cut_in_detail(choose, |lba, sectors| faults.torn(at, lba, sectors))?;
        Ok((copy.medium, fates))
    }

    /// Returns the number of outcomes that a power cut could have.
    pub fn outcomes(&self) -> io::Result<u64> {
        let base: Rc<dyn Medium> = Rc::new(self.medium.clone());
        let mut count = Count(1);
        self.copy(Box::new(Fork::new(base, self.limit))).cut(&mut count, |_, _| None)?;
        Ok(count.0)
    }

    fn copy(&self, medium: Box<dyn Medium>) -> Store {
        let Store { volatile, trims, sequence, physical_sector, .. } = &self.store;
        let (volatile, trims) = (volatile.clone(), trims.clone());
        let (sequence, physical_sector) = (*sequence, *physical_sector);
        Store { medium, volatile, trims, sequence, physical_sector, recording: None }
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::disk::Data;
    use drivelab_core::{Destaged, Rng};

    use super::*;

    const SECTORS: u64 = 32;

    fn content(medium: &dyn Medium) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(SECTORS).unwrap() * 512];
        medium.read(Lba::ZERO, &mut bytes).unwrap();
        bytes
    }

    fn memory() -> Memory {
        Memory::new(Sectors::new(SECTORS), Bytes::mib(1))
    }

    /// A random history of a store; at each instant what a cut then would leave, by `choose`.
    fn history(seed: u64, choose: impl Fn() -> Box<dyn Choose>) -> (Recording, Vec<Vec<u8>>) {
        let mut rng = Rng::new(seed);
        let mut store = Store::new(Box::new(memory()), Sectors::new(1));
        store.record(Bytes::mib(1));
        let (mut open, mut left): (Vec<Rc<Write>>, Vec<_>) = (Vec::new(), Vec::new());
        for at in 0..60 {
            store.at(Time::from_ns(at));
            let (lba, sectors) = (Lba::new(rng.below(SECTORS - 4)), Sectors::new(1 + rng.below(4)));
            match rng.below(6) {
                0 | 1 => {
                    let bytes = vec![
                        u8::try_from(at).unwrap();
                        usize::try_from(sectors.bytes().get()).unwrap()
                    ];
                    let data = Data::Bytes(bytes.into());
                    open.push(store.begin_write(Time::from_ns(at), lba, data).unwrap());
                }
                2 if !open.is_empty() => {
                    let write = open.swap_remove(0);
                    store.complete(&write, rng.below(4) == 0).unwrap();
                }
                3 if !open.is_empty() => store.forget(&open.swap_remove(0)).unwrap(),
                4 => {
                    let taken = Time::from_ns(at / 2);
                    let record = Destaged { lba, sectors, taken, at: Time::from_ns(at) };
                    store.destaged(&record).unwrap();
                }
                5 => {
                    let trim = store.begin_trim(lba, sectors).unwrap();
                    store.complete_trim(trim).unwrap();
                }
                _ => store.flushed().unwrap(),
            }
            let medium = Memory::new(Sectors::new(SECTORS), Bytes::mib(1));
            let mut copy = Store::new(Box::new(medium), Sectors::new(1));
            copy.medium.write(Lba::ZERO, &content(&*store.medium)).unwrap();
            (copy.volatile, copy.trims) = (store.volatile.clone(), store.trims.clone());
            copy.cut(&mut *choose(), |_, _| None).unwrap();
            left.push(content(&*copy.medium));
        }
        (store.take_recording().unwrap(), left)
    }

    #[test]
    fn a_cut_of_a_replay_is_a_cut_of_the_store() {
        for seed in 0..200 {
            let choose = || crate::store::of_outcome(drivelab_core::crash::Outcome::of_seed(seed));
            let (recording, left) = history(seed, choose);
            let recorded = Recorded {
                capacity: Sectors::new(SECTORS),
                physical_sector: Sectors::new(1),
                durable_before: Time::ZERO,
                faults: Vec::new(),
                seed: 1,
            };
            let mut replay = Replay::new(&recorded, &recording, Bytes::mib(1));
            for (at, expected) in (1..).map(Time::from_ns).zip(left) {
                replay.advance(at).unwrap();
                let (medium, _) = replay.cut(at, &mut *choose()).unwrap();
                assert!(content(&*medium) == expected, "seed {seed} at {at}");
                let (again, _) = replay.cut(at, &mut *choose()).unwrap();
                assert!(content(&*again) == expected, "a cut changes nothing: seed {seed} at {at}");
            }
        }
    }

    #[test]
    fn what_was_written_before_a_workload_cannot_be_lost() {
        let mut store = Store::new(Box::new(memory()), Sectors::new(1));
        store.record(Bytes::mib(1));
        for at in [1, 5] {
            store.at(Time::from_ns(at));
            let data = Data::Bytes(vec![u8::try_from(at).unwrap(); 512].into());
            let write = store.begin_write(Time::from_ns(at), Lba::new(at), data).unwrap();
            store.complete(&write, false).unwrap();
        }
        let recording = store.take_recording().unwrap();
        let recorded = Recorded {
            capacity: Sectors::new(SECTORS),
            physical_sector: Sectors::new(1),
            durable_before: Time::from_ns(3),
            faults: Vec::new(),
            seed: 1,
        };
        let mut replay = Replay::new(&recorded, &recording, Bytes::mib(1));
        replay.advance(Time::from_ns(9)).unwrap();
        assert_eq!(replay.outcomes().unwrap(), 2);
        let (medium, fates) =
            replay.cut(Time::from_ns(9), &mut crate::store::choose::KeepNothing).unwrap();
        let content = content(&*medium);
        assert_eq!((content[512], content[5 * 512]), (1, 0));
        assert_eq!((fates.len(), fates[0].lost, fates[0].completed), (1, Sectors::new(1), true));
    }

    #[test]
    fn a_recording_is_bounded() {
        let mut store = Store::new(Box::new(memory()), Sectors::new(1));
        store.record(Bytes::new(1024));
        let mut write = || {
            let data = Data::Bytes(vec![0; 512].into());
            store.begin_write(Time::ZERO, Lba::ZERO, data).map(drop)
        };
        write().unwrap();
        assert_eq!(write().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
