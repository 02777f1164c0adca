//! The volatile write cache: acknowledged data that has not reached the medium.

use std::ops::Range;

use drivelab_core::{Lba, Sectors, Time};

use crate::disk::mechanics::Mechanics;
use crate::disk::parts::WriteCacheLimits;
use crate::disk::queue::Candidate;

/// Maximum length of a run.
// Long enough that a sequential stream loses nothing between runs, short enough that no read waits
// half a second behind one.
const LONGEST_RUN: Sectors = Sectors::new(2048);

/// Acknowledged runs of sectors waiting for the medium; no two overlap.
#[derive(Debug, Clone)]
pub(crate) struct WriteCache {
    /// Ordered by their oldest data.
    runs: Vec<Candidate>,
    writing: Option<Candidate>,
    dirty: Sectors,
    limits: WriteCacheLimits,
}

impl WriteCache {
    pub(crate) fn new(limits: WriteCacheLimits) -> Self {
        Self {
            runs: Vec::with_capacity(limits.runs + 1),
            writing: None,
            dirty: Sectors::ZERO,
            limits,
        }
    }

    pub(crate) fn can_ever_hold(&self, sectors: Sectors) -> bool {
        sectors <= self.limits.size
    }

    pub(crate) fn has_room(&self, sectors: Sectors) -> bool {
        self.dirty + sectors <= self.limits.size && self.runs.len() < self.limits.runs
    }

    /// Returns true if it is half full, from where its data competes with waiting reads.
    pub(crate) fn is_pressed(&self) -> bool {
        self.runs.len() * 2 >= self.limits.runs || self.dirty.get() * 2 >= self.limits.size.get()
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.runs.is_empty() && self.writing.is_none()
    }

    pub(crate) fn is_clean_before(&self, sequence: u64) -> bool {
        self.runs.iter().chain(&self.writing).all(|run| run.sequence >= sequence)
    }

    /// Arrival of its oldest data.
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.runs.first().map(|run| run.arrived)
    }

    pub(crate) fn runs(&self) -> &[Candidate] {
        &self.runs
    }

    pub(crate) fn holds(&self, start: Lba, end: Lba) -> bool {
        let mut runs = self.runs.iter().chain(&self.writing);
        runs.any(|run| run.lba <= start && end <= run.lba + run.sectors)
    }

    /// Adds a write; the caller has checked for room.
    ///
    /// It replaces the data it overwrites, and merges with adjacent runs, so that a sequential
    /// stream becomes long runs.
    pub(crate) fn insert(&mut self, write: Candidate, mechanics: &Mechanics) {
        let (start, end) = (write.lba, write.lba + write.sectors);
        debug_assert!(self.has_room(write.sectors), "the caller has checked for room");
        if self.runs.iter().any(|run| run.lba <= end && start <= run.lba + run.sectors) {
            self.join(write, mechanics);
        } else {
            self.dirty += write.sectors;
            self.runs.push(write);
        }
        debug_assert!(self.is_sound(), "{self:?}");
    }

    /// Returns true if the runs are disjoint, in order of their oldest data, and add up to the
    /// dirty sectors, which are within the limit. The run being written may overlap a newer one.
    fn is_sound(&self) -> bool {
        let mut ranges: Vec<(Lba, Lba)> =
            self.runs.iter().map(|run| (run.lba, run.lba + run.sectors)).collect();
        ranges.sort_unstable();
        let held: u64 = self.runs.iter().chain(&self.writing).map(|run| run.sectors.get()).sum();
        ranges.iter().all(|(start, end)| start < end)
            && ranges.is_sorted_by(|(_, end), (next, _)| end <= next)
            && self.runs.is_sorted_by_key(|run| run.sequence)
            && held == self.dirty.get()
            && self.dirty <= self.limits.size
    }

    fn join(&mut self, write: Candidate, mechanics: &Mechanics) {
        let (start, end) = (write.lba, write.lba + write.sectors);
        let mut runs = self.runs.iter_mut();
        if let Some(run) = runs.find(|run| run.lba <= start && end <= run.lba + run.sectors) {
            // Overwritten in memory: the same sectors stay dirty, at the age of their oldest data.
            run.newest = write.newest;
            return;
        }
        let write = self.inherit(write);
        self.drop_range(start..end, write.ready, mechanics);
        self.dirty += write.sectors;
        let adjacent = self.runs.iter().position(|run| {
            run.lba + run.sectors == start && run.sectors + write.sectors <= LONGEST_RUN
        });
        let joined = if let Some(index) = adjacent {
            let run = self.runs.remove(index);
            // The beginning of a run can be written while later data still arrives.
            Candidate { ready: run.ready.min(write.ready), ..run }
        } else {
            let following = self
                .runs
                .iter()
                .position(|run| run.lba == end && run.sectors + write.sectors <= LONGEST_RUN);
            let Some(index) = following else { return self.keep(write) };
            let run = self.runs.remove(index);
            // Now the write is the beginning, so the run has to wait for it.
            let ready = run.ready.max(write.ready);
            Candidate { lba: write.lba, location: write.location, ready, ..run }
        };
        self.keep(Candidate {
            sectors: joined.sectors + write.sectors,
            newest: write.newest,
            // The age decides when a run must go, so merging keeps the older one.
            sequence: joined.sequence.min(write.sequence),
            arrived: joined.arrived.min(write.arrived),
            ..joined
        });
    }

    /// Returns `write` with the age of the oldest data that it replaces: a flush that waits for
    /// that data now has to wait for its replacement.
    fn inherit(&self, write: Candidate) -> Candidate {
        let (start, end) = (write.lba, write.lba + write.sectors);
        // The runs are in order of age: the first match is the oldest.
        let mut runs = self.runs.iter();
        match runs.find(|run| run.lba < end && start < run.lba + run.sectors) {
            Some(run) => Candidate { sequence: run.sequence, arrived: run.arrived, ..write },
            None => write,
        }
    }

    /// Inserts a run in order of age.
    fn keep(&mut self, run: Candidate) {
        let index = self.runs.partition_point(|older| older.sequence <= run.sequence);
        self.runs.insert(index, run);
    }

    /// Drops the data of `range`, which was overwritten or trimmed. All earlier data has arrived by
    /// `arrived`, so the remainder behind the gap may be written from then on.
    pub(crate) fn drop_range(&mut self, range: Range<Lba>, arrived: Time, mechanics: &Mechanics) {
        self.drop_where(range, arrived, mechanics, |_| true);
    }

    /// Drops the data of `range` in the runs that `selected` accepts.
    fn drop_where(
        &mut self,
        range: Range<Lba>,
        arrived: Time,
        mechanics: &Mechanics,
        selected: impl Fn(&Candidate) -> bool,
    ) {
        let Range { start, end } = range;
        let mut index = 0;
        while index < self.runs.len() {
            let run = &mut self.runs[index];
            let run_end = run.lba + run.sectors;
            if end <= run.lba || run_end <= start || !selected(run) {
                index += 1;
                continue;
            }
            // Cut out the middle: the head of the run keeps its slot, the tail is a new run behind
            // it.
            let before = start - run.lba;
            let after = run_end - end;
            self.dirty = Sectors::new(self.dirty.get() - run.sectors.get());
            let tail = Candidate { lba: end, sectors: after, ..*run };
            run.sectors = before;
            self.dirty += before;
            if before == Sectors::ZERO {
                self.runs.remove(index);
            } else {
                index += 1;
            }
            if after > Sectors::ZERO {
                self.dirty += after;
                let location = mechanics.geometry.locate(end);
                let ready = tail.ready.max(arrived);
                self.runs.insert(index, Candidate { location, ready, ..tail });
                index += 1;
            }
        }
        debug_assert!(self.is_sound(), "{self:?}");
    }

    /// Drops data older than `write`, which is on the medium. A run that also contains newer data
    /// stays whole: the age of its parts is unknown.
    pub(crate) fn superseded(&mut self, write: &Candidate, arrived: Time, by: &Mechanics) {
        let (start, end) = (write.lba, write.lba + write.sectors);
        self.drop_where(start..end, arrived, by, |run| run.newest < write.sequence);
    }

    pub(crate) fn begin(&mut self, index: usize) -> Candidate {
        assert!(self.writing.is_none(), "one run at a time goes to the medium");
        let run = self.runs.remove(index);
        self.writing = Some(run);
        debug_assert!(self.is_sound(), "{self:?}");
        run
    }

    pub(crate) fn finish(&mut self) -> Candidate {
        let run = self.writing.take().expect("a run was being written");
        self.dirty = Sectors::new(self.dirty.get() - run.sectors.get());
        debug_assert!(self.is_sound(), "{self:?}");
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{self, Body, Profile};
    use crate::stack::Tag;

    fn mechanics() -> Mechanics {
        let text = profile::text("generic-10k").expect("it comes with us");
        let profile = Profile::parse("generic-10k", text, &|_| None).unwrap();
        match &profile.body {
            Body::Hdd(hdd) => hdd.parts.mechanics.clone(),
            _ => unreachable!("a drive that turns"),
        }
    }

    fn write(lba: u64, sectors: u64, sequence: u64, by: &Mechanics) -> Candidate {
        let lba = Lba::new(lba);
        Candidate {
            lba,
            sectors: Sectors::new(sectors),
            location: by.geometry.locate(lba),
            write: true,
            tag: Tag::default(),
            ready: Time::ZERO,
            arrived: Time::ZERO,
            sequence,
            newest: sequence,
        }
    }

    #[test]
    fn a_write_on_the_medium_replaces_what_is_older_and_nothing_else() {
        let by = mechanics();
        let mut cache = WriteCache::new(WriteCacheLimits { size: Sectors::new(1000), runs: 10 });
        cache.insert(write(0, 8, 1, &by), &by);
        cache.insert(write(16, 8, 7, &by), &by);
        cache.superseded(&write(4, 16, 5, &by), Time::ZERO, &by);
        let left: Vec<_> =
            cache.runs().iter().map(|run| (run.lba.get(), run.sectors.get())).collect();
        assert_eq!(left, [(0, 4), (16, 8)]);
        assert_eq!(cache.dirty, Sectors::new(12));
    }
}
