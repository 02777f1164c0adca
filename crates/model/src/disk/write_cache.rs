//! The volatile write cache: acknowledged data that is not on the medium yet.

use std::ops::Range;

use drivelab_core::{Lba, Sectors, Time};

use super::mechanics::Mechanics;
use super::parts::WriteCacheLimits;
use super::queue::Candidate;

/// The longest run that is written in one go.
///
/// Long enough that a sequential stream loses nothing between runs, short enough that a read does
/// not wait half a second behind one.
const LONGEST_RUN: Sectors = Sectors::new(2048);

/// Acknowledged runs of sectors waiting for the medium, none overlapping another.
#[derive(Debug, Clone)]
pub(crate) struct WriteCache {
    /// By order of their oldest data.
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

    /// Whether it is so full that its data competes with waiting reads.
    pub(crate) fn is_pressed(&self) -> bool {
        self.runs.len() * 2 >= self.limits.runs || self.dirty.get() * 2 >= self.limits.size.get()
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.runs.is_empty() && self.writing.is_none()
    }

    pub(crate) fn is_clean_before(&self, sequence: u64) -> bool {
        let newer = |run: &Candidate| run.sequence >= sequence;
        self.runs.iter().all(newer) && self.writing.as_ref().is_none_or(newer)
    }

    /// Since when its oldest data has been waiting.
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.runs.first().map(|run| run.arrived)
    }

    pub(crate) fn runs(&self) -> &[Candidate] {
        &self.runs
    }

    pub(crate) fn holds(&self, start: Lba, end: Lba) -> bool {
        let covers = |run: &Candidate| run.lba <= start && end <= run.lba + run.sectors;
        self.runs.iter().any(covers) || self.writing.as_ref().is_some_and(covers)
    }

    /// Takes over a write; the caller has asked for room.
    ///
    /// What it overwrites is dropped, and what it touches is joined to it, so that a sequential
    /// stream becomes long runs.
    pub(crate) fn insert(&mut self, write: Candidate, mechanics: &Mechanics) {
        let (start, end) = (write.lba, write.lba + write.sectors);
        let touches = |run: &Candidate| run.lba <= end && start <= run.lba + run.sectors;
        if self.runs.iter().any(touches) {
            self.join(write, mechanics);
        } else {
            self.dirty += write.sectors;
            self.runs.push(write);
        }
        debug_assert!(self.is_sound(), "{self:?}");
    }

    /// Whether the runs lie apart, in order of their oldest data, and make up what is dirty, which
    /// is no more than the cache holds. The run on its way may lie under a newer one.
    fn is_sound(&self) -> bool {
        let mut places: Vec<(Lba, Lba)> =
            self.runs.iter().map(|run| (run.lba, run.lba + run.sectors)).collect();
        places.sort_unstable();
        let held: u64 = self.runs.iter().chain(&self.writing).map(|run| run.sectors.get()).sum();
        places.iter().all(|(start, end)| start < end)
            && places.is_sorted_by(|(_, end), (next, _)| end <= next)
            && self.runs.is_sorted_by_key(|run| run.sequence)
            && held == self.dirty.get()
            && self.dirty <= self.limits.size
    }

    fn join(&mut self, write: Candidate, mechanics: &Mechanics) {
        let (start, end) = (write.lba, write.lba + write.sectors);
        let covers = |run: &&mut Candidate| run.lba <= start && end <= run.lba + run.sectors;
        if let Some(run) = self.runs.iter_mut().find(covers) {
            run.newest = write.newest;
            return;
        }
        let write = self.inherit(write);
        self.drop_range(start..end, write.ready, mechanics);
        self.dirty += write.sectors;
        let short = |run: &Candidate| run.sectors + write.sectors <= LONGEST_RUN;
        let before = self.runs.iter().position(|run| run.lba + run.sectors == start && short(run));
        let after = || self.runs.iter().position(|run| run.lba == end && short(run));
        let joined = match (before, before.is_none().then(after).flatten()) {
            (Some(index), _) => {
                let run = self.runs.remove(index);
                // The data of a run is written while later data still arrives.
                Candidate { ready: run.ready.min(write.ready), ..run }
            }
            (None, Some(index)) => {
                let run = self.runs.remove(index);
                let ready = run.ready.max(write.ready);
                Candidate { lba: write.lba, place: write.place, ready, ..run }
            }
            (None, None) => return self.keep(write),
        };
        self.keep(Candidate {
            sectors: joined.sectors + write.sectors,
            newest: write.newest,
            sequence: joined.sequence.min(write.sequence),
            arrived: joined.arrived.min(write.arrived),
            ..joined
        });
    }

    /// `write` with the age of the oldest data that it replaces: a flush that waits for that data
    /// now waits for what has taken its place.
    fn inherit(&self, write: Candidate) -> Candidate {
        let (start, end) = (write.lba, write.lba + write.sectors);
        let replaced = |run: &&Candidate| run.lba < end && start < run.lba + run.sectors;
        match self.runs.iter().find(replaced) {
            Some(run) => Candidate { sequence: run.sequence, arrived: run.arrived, ..write },
            _ => write,
        }
    }

    /// Takes in a run at its place by age.
    fn keep(&mut self, run: Candidate) {
        let place = self.runs.partition_point(|older| older.sequence <= run.sequence);
        self.runs.insert(place, run);
    }

    /// Drops what it holds of `range`: overwritten or trimmed. All data taken before has arrived by
    /// `arrived`, so what is left behind the gap may be written then.
    pub(crate) fn drop_range(&mut self, range: Range<Lba>, arrived: Time, mechanics: &Mechanics) {
        self.drop_where(range, arrived, mechanics, |_| true);
    }

    /// Drops what it holds of `range` in the runs that are `meant`.
    fn drop_where(
        &mut self,
        range: Range<Lba>,
        arrived: Time,
        mechanics: &Mechanics,
        meant: impl Fn(&Candidate) -> bool,
    ) {
        let Range { start, end } = range;
        let mut index = 0;
        while index < self.runs.len() {
            let run = &mut self.runs[index];
            let run_end = run.lba + run.sectors;
            if end <= run.lba || run_end <= start || !meant(run) {
                index += 1;
                continue;
            }
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
                let place = mechanics.geometry.place(end);
                let ready = tail.ready.max(arrived);
                self.runs.insert(index, Candidate { place, ready, ..tail });
                index += 1;
            }
        }
        debug_assert!(self.is_sound(), "{self:?}");
    }

    /// Drops what is older than `write`, which is on the medium. A run that newer data joined stays
    /// whole: which of it is older is not kept.
    pub(crate) fn superseded(&mut self, write: &Candidate, arrived: Time, by: &Mechanics) {
        let (start, end) = (write.lba, write.lba + write.sectors);
        let older = |run: &Candidate| run.newest < write.sequence;
        self.drop_where(start..end, arrived, by, older);
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
            place: by.geometry.place(lba),
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
