//! The volatile write cache: acknowledged data that is not on the medium yet.

use drivelab_core::{Lba, Sectors, Time};

use super::mechanics::Mechanics;
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
    /// The run on its way to the medium.
    writing: Option<Candidate>,
    dirty: Sectors,
    size: Sectors,
    max_runs: usize,
}

impl WriteCache {
    /// A cache of `size` sectors in at most `max_runs` separate runs.
    pub(crate) fn new(size: Sectors, max_runs: usize) -> Self {
        Self {
            runs: Vec::with_capacity(max_runs + 1),
            writing: None,
            dirty: Sectors::ZERO,
            size,
            max_runs,
        }
    }

    /// Whether a write of `sectors` could ever be taken.
    pub(crate) fn can_ever_hold(&self, sectors: Sectors) -> bool {
        sectors <= self.size
    }

    /// Whether a write of `sectors` can be taken now.
    pub(crate) fn has_room(&self, sectors: Sectors) -> bool {
        self.dirty + sectors <= self.size && self.runs.len() < self.max_runs
    }

    /// Whether it is so full that its data competes with waiting reads.
    pub(crate) fn is_pressed(&self) -> bool {
        self.runs.len() * 2 >= self.max_runs || self.dirty.get() * 2 >= self.size.get()
    }

    /// Whether everything is on the medium.
    pub(crate) fn is_clean(&self) -> bool {
        self.runs.is_empty() && self.writing.is_none()
    }

    /// Whether everything that arrived before `sequence` is on the medium.
    pub(crate) fn is_clean_before(&self, sequence: u64) -> bool {
        let newer = |run: &Candidate| run.sequence >= sequence;
        self.runs.iter().all(newer) && self.writing.as_ref().is_none_or(newer)
    }

    /// Since when its oldest data has been waiting.
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.runs.first().map(|run| run.arrived)
    }

    /// The runs that may be written next.
    pub(crate) fn runs(&self) -> &[Candidate] {
        &self.runs
    }

    /// Whether it holds everything from `start` up to `end`.
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
    }

    /// Takes over a write that touches what is there.
    fn join(&mut self, write: Candidate, mechanics: &Mechanics) {
        let (start, end) = (write.lba, write.lba + write.sectors);
        let covers = |run: &&mut Candidate| run.lba <= start && end <= run.lba + run.sectors;
        if let Some(run) = self.runs.iter_mut().find(covers) {
            run.newest = write.newest;
            return;
        }
        self.drop_range(start, end, mechanics);
        self.dirty += write.sectors;
        let joins = |run: &Candidate| {
            run.lba + run.sectors == start && run.sectors + write.sectors <= LONGEST_RUN
        };
        match self.runs.iter_mut().find(|run| joins(run)) {
            Some(run) => {
                run.sectors += write.sectors;
                run.newest = write.newest;
                // The data of a run is written while later data still arrives.
                run.ready = run.ready.min(write.ready);
            }
            None => self.join_front(write),
        }
    }

    /// Joins `write` to a run that begins where it ends, or keeps it as a run of its own.
    fn join_front(&mut self, write: Candidate) {
        let end = write.lba + write.sectors;
        let follows =
            |run: &&mut Candidate| run.lba == end && run.sectors + write.sectors <= LONGEST_RUN;
        match self.runs.iter_mut().find(follows) {
            Some(run) => {
                run.lba = write.lba;
                run.sectors += write.sectors;
                run.newest = write.newest;
                run.place = write.place;
                run.ready = run.ready.max(write.ready);
            }
            None => self.runs.push(write),
        }
    }

    /// Drops what it holds from `start` up to `end`: overwritten or trimmed.
    pub(crate) fn drop_range(&mut self, start: Lba, end: Lba, mechanics: &Mechanics) {
        let mut index = 0;
        while index < self.runs.len() {
            let run = &mut self.runs[index];
            let run_end = run.lba + run.sectors;
            if end <= run.lba || run_end <= start {
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
                self.runs.insert(index, Candidate { place, ..tail });
                index += 1;
            }
        }
    }

    /// Drops what is older than `sequence` from `start` up to `end`: newer data is on the medium.
    pub(crate) fn superseded(&mut self, start: Lba, end: Lba, sequence: u64, by: &Mechanics) {
        let overlaps = |run: &Candidate| run.lba < end && start < run.lba + run.sectors;
        if self.runs.iter().filter(|run| overlaps(run)).all(|run| run.newest < sequence) {
            self.drop_range(start, end, by);
        }
    }

    /// Begins to write the run at `index`.
    pub(crate) fn begin(&mut self, index: usize) -> Candidate {
        assert!(self.writing.is_none(), "one run at a time goes to the medium");
        let run = self.runs.remove(index);
        self.writing = Some(run);
        run
    }

    /// The run that was being written is on the medium.
    pub(crate) fn finish(&mut self) -> Candidate {
        let run = self.writing.take().expect("a run was being written");
        self.dirty = Sectors::new(self.dirty.get() - run.sectors.get());
        run
    }
}
