//! The disks of a test at an instant, and the result of a power cut at it: all lose power at once.

use std::collections::BTreeSet;
use std::io;

use drivelab_core::crash::Outcome;
use drivelab_core::disk::Medium;
use drivelab_core::{Bytes, Rng, Time};
use drivelab_serve::medium::Memory;
use drivelab_serve::store::{Choose, Fate, KeepAll, Recorded, Recording, Replay};
use drivelab_serve::store::{lose_only, of_outcome};

/// A disk, and the requests of the workload to it.
#[derive(Debug)]
pub(super) struct RecordedDisk {
    pub(super) recording: Recording,
    pub(super) recorded: Recorded,
    pub(super) after: After,
}

/// The condition in which a disk comes back after a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum After {
    /// With what the cut left on it.
    #[default]
    Cut,
    /// As it was before the workload.
    Stale,
    /// With nothing.
    Dead,
}

/// The choices that a cut leaves open.
#[derive(Debug, Clone, Copy)]
pub(super) enum Loss<'a> {
    /// Everything is kept.
    None,
    /// The choices of an outcome.
    Of(Outcome),
    /// The choices of an outcome, for these writes alone, by their names.
    Only(&'a BTreeSet<u64>, Outcome),
}

/// A write that was not durable at a cut.
#[derive(Debug)]
pub(super) struct FateOnDisk {
    /// The disk, by index.
    pub(super) disk: usize,
    pub(super) fate: Fate,
}

/// The disks after a cut.
#[derive(Debug, Default)]
pub(super) struct CutDisks {
    /// The contents of each.
    pub(super) media: Vec<Box<dyn Medium>>,
    /// The writes that were not durable.
    pub(super) fates: Vec<FateOnDisk>,
}

/// All disks, which only move forward.
#[derive(Debug)]
pub(super) struct Replays<'a> {
    disks: Vec<(&'a RecordedDisk, Replay<'a>)>,
    limit: Bytes,
}

/// Bits of the name of a write that are its number on its disk: more than memory holds.
const NUMBER_BITS: u32 = 56;

impl FateOnDisk {
    /// The name of the write, of all that the disks had.
    pub(super) fn name(&self) -> u64 {
        debug_assert!(self.fate.sequence >> NUMBER_BITS == 0, "a recording is in memory");
        (self.disk as u64) << NUMBER_BITS | self.fate.sequence
    }
}

impl<'a> Replays<'a> {
    /// The disks before the first request, each with about `limit` of memory at most.
    pub(super) fn new(disks: &'a [RecordedDisk], limit: Bytes) -> Self {
        let replays = disks.iter().map(|it| (it, Replay::new(&it.recorded, &it.recording, limit)));
        Self { disks: replays.collect(), limit }
    }

    /// Carries out all that happened before an instant.
    pub(super) fn advance(&mut self, until: Time) -> io::Result<()> {
        for (disk, replay) in &mut self.disks {
            let until = match disk.after {
                After::Cut => until,
                After::Stale => until.min(disk.recorded.durable_before),
                // Nothing of it is ever read.
                After::Dead => continue,
            };
            replay.advance(until)?;
        }
        Ok(())
    }

    /// Cuts the power of copies, which are valid until these move on.
    pub(super) fn cut(&self, at: Time, loss: Loss<'_>) -> io::Result<CutDisks> {
        let mut cut = CutDisks::default();
        for (index, (disk, replay)) in self.disks.iter().enumerate() {
            if disk.after == After::Dead {
                cut.media.push(Box::new(Memory::new(disk.recorded.capacity, self.limit)));
                continue;
            }
            let (medium, fates) = replay.cut(at, &mut *choices(loss, index, disk.after))?;
            cut.media.push(medium);
            cut.fates.extend(fates.into_iter().map(|fate| FateOnDisk { disk: index, fate }));
        }
        Ok(cut)
    }

    /// Returns the number of outcomes that a power cut could have.
    pub(super) fn outcomes(&self) -> io::Result<u64> {
        let mut product = 1_u64;
        for (_, replay) in &self.disks {
            product = product.saturating_mul(replay.outcomes()?);
        }
        Ok(product)
    }
}

/// The choices for one disk.
fn choices(loss: Loss<'_>, disk: usize, after: After) -> Box<dyn Choose + '_> {
    match loss {
        _ if after == After::Stale => Box::new(KeepAll),
        Loss::None => Box::new(KeepAll),
        Loss::Of(outcome) => of_outcome(of_disk(outcome, disk)),
        Loss::Only(writes, outcome) => {
            let first = (disk as u64) << NUMBER_BITS;
            // The names of a disk follow each other.
            let own = writes.range(first..first + (1 << NUMBER_BITS)).map(|name| name - first);
            Box::new(lose_only(own.collect(), of_outcome(of_disk(outcome, disk))))
        }
    }
}

/// The outcome on a disk: each draws for itself, the first as one that is alone.
fn of_disk(outcome: Outcome, disk: usize) -> Outcome {
    match outcome {
        Outcome::Drawn(seed) if disk > 0 => {
            let drawn = Rng::for_part(u64::from(seed), disk as u64).bits();
            Outcome::Drawn(u32::try_from(drawn >> 32).expect("32 bits"))
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::disk::Data;
    use drivelab_core::{Lba, Sectors};
    use drivelab_serve::store::Store;

    use super::*;

    /// A disk that received a sector of ones when the workload began, which nothing made durable.
    fn disk(after: After) -> RecordedDisk {
        let memory = Memory::new(Sectors::new(8), Bytes::mib(1));
        let mut store = Store::new(Box::new(memory), Sectors::new(1));
        store.record(Bytes::mib(1));
        let ones = Data::Bytes(vec![1; 512].into());
        let write = store.begin_write(Time::ZERO, Lba::ZERO, ones).unwrap();
        store.complete(&write, false).unwrap();
        let recorded = Recorded {
            capacity: Sectors::new(8),
            physical_sector: Sectors::new(1),
            durable_before: Time::ZERO,
            faults: Vec::new(),
            seed: 1,
        };
        RecordedDisk { recording: store.take_recording().unwrap(), recorded, after }
    }

    fn first_bytes(disks: &[RecordedDisk], loss: Loss<'_>) -> Vec<u8> {
        let mut replays = Replays::new(disks, Bytes::mib(1));
        replays.advance(Time::from_ns(20)).unwrap();
        let cut = replays.cut(Time::from_ns(20), loss).unwrap();
        let firsts = cut.media.iter().map(|medium| {
            let mut sector = [9; 512];
            medium.read(Lba::ZERO, &mut sector).unwrap();
            sector[0]
        });
        firsts.collect()
    }

    #[test]
    fn each_disk_comes_back_as_it_was_cut_or_stale_or_dead() {
        let disks = [disk(After::Cut), disk(After::Stale), disk(After::Dead), disk(After::Cut)];
        assert_eq!(first_bytes(&disks, Loss::None), [1, 0, 0, 1]);
        assert_eq!(first_bytes(&disks, Loss::Of(Outcome::Nothing)), [0, 0, 0, 0]);
        assert_eq!(first_bytes(&disks, Loss::Of(Outcome::Everything)), [1, 0, 0, 1]);
    }

    #[test]
    fn writes_of_all_disks_have_names_by_which_each_is_lost_alone() {
        let disks = [disk(After::Cut), disk(After::Cut)];
        let mut replays = Replays::new(&disks, Bytes::mib(1));
        replays.advance(Time::from_ns(20)).unwrap();
        let CutDisks { fates, .. } =
            replays.cut(Time::from_ns(20), Loss::Of(Outcome::Nothing)).unwrap();
        let names: BTreeSet<u64> = fates.iter().map(FateOnDisk::name).collect();
        assert_eq!(names.len(), 2);
        let second = BTreeSet::from([fates[1].name()]);
        let only = Loss::Only(&second, Outcome::Nothing);
        assert_eq!((fates[1].disk, first_bytes(&disks, only)), (1, vec![1, 0]));
    }

    #[test]
    fn disks_draw_apart_from_each_other() {
        let drawn: Vec<Outcome> = (0..3).map(|disk| of_disk(Outcome::Drawn(7), disk)).collect();
        assert_eq!(drawn[0], Outcome::Drawn(7));
        assert!(drawn[1] != drawn[0] && drawn[1] != drawn[2], "{drawn:?}");
        assert_eq!(of_disk(Outcome::Nothing, 2), Outcome::Nothing);
    }
}
