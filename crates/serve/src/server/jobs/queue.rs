//! The jobs in progress, and those that must wait.

use std::collections::VecDeque;

use drivelab_core::disk::Command;
use slab::Slab;

use super::job::{Job, Sector};

/// Accepts jobs, and delays those that would write back what another changes, or change what
/// another writes back: within a sector no write is lost because of a neighbouring one.
#[derive(Debug, Default)]
pub(in crate::server) struct JobQueue {
    jobs: Slab<Job>,
    waiting: VecDeque<Job>,
    /// Number of jobs in either that cover a sector in part: usually none, and then none has to
    /// wait.
    edged: usize,
}

impl JobQueue {
    /// Accepts a job; returns its first command unless it has to wait.
    pub(super) fn take(&mut self, job: Job) -> Option<Command> {
        self.edged += usize::from(job.has_edges());
        // Also behind a waiting job that it excludes, or that one could wait for ever.
        let is_blocked = self.edged > 0
            && (self.is_excluded(&job) || self.waiting.iter().any(|other| other.excludes(&job)));
        if is_blocked {
            self.waiting.push_back(job);
            return None;
        }
        Some(self.begin(job))
    }

    /// Returns whether neither a job in progress nor an earlier waiting one excludes this one.
    fn may_begin(&self, index: usize) -> bool {
        let job = &self.waiting[index];
        let mut earlier = self.waiting.iter().take(index);
        !earlier.any(|other| other.excludes(job)) && !self.is_excluded(job)
    }

    fn is_excluded(&self, job: &Job) -> bool {
        self.jobs.iter().any(|(_, other)| other.excludes(job))
    }

    fn begin(&mut self, job: Job) -> Command {
        // The index in the slab is the token of all commands of the job, one after the other.
        debug_assert!(self.edged == 0 || !self.is_excluded(&job), "two that exclude each other");
        let token = self.jobs.insert(job) as u64;
        self.job(token).command(token)
    }

    fn job(&mut self, token: u64) -> &mut Job {
        self.jobs.get_mut(slot(token)).expect("a job lives until its last answer")
    }

    pub(super) fn admit(&mut self) -> Option<Command> {
        let index = (0..self.waiting.len()).find(|index| self.may_begin(*index))?;
        let job = self.waiting.remove(index).expect("it was found there");
        Some(self.begin(job))
    }

    /// Returns whether the completed command of this job has read a sector that will be written
    /// back.
    pub(super) fn reads_edge(&mut self, token: u64) -> bool {
        self.job(token).reads_edge()
    }

    pub(super) fn next(&mut self, token: u64, found: Option<&Sector>) -> Option<Command> {
        self.job(token).next(token, found)
    }

    pub(super) fn remove(&mut self, token: u64) -> Job {
        let job = self.jobs.remove(slot(token));
        debug_assert!(self.edged >= usize::from(job.has_edges()), "it was counted when it came");
        self.edged -= usize::from(job.has_edges());
        job
    }
}

fn slot(token: u64) -> usize {
    usize::try_from(token).expect("an index of the slab")
}

#[cfg(test)]
mod tests {
    use drivelab_core::{Bytes, Device as _, Disk as _, Lba, Rng, Time};
    use drivelab_model::options::Options;
    use drivelab_model::profile::Profile;

    use super::super::job::{Front, Requester};
    use super::*;
    use crate::drive::ServedDrive;
    use crate::medium::Memory;
    use crate::store::{Dice, Store};
    use crate::task::{BlockRequest, Task};

    const BYTES: usize = 24 << 10;

    /// A job queue and a modelled disk, in virtual time.
    struct Bench {
        queue: JobQueue,
        drive: ServedDrive,
        now: Time,
    }

    fn job(task: Task, range: (u64, u64), data: Option<Box<[u8]>>) -> Job {
        let request = BlockRequest { data, ..BlockRequest::new(task, range.0, range.1) };
        Job::new(Requester::Kernel { front: Front::Fuse, id: 0 }, request)
    }

    impl Bench {
        fn new(seed: u64) -> Self {
            let profile = Profile::embedded("generic-10k").unwrap();
            let device = drivelab_model::build(&profile, &Options::default(), seed).unwrap();
            let medium = Memory::new(device.capacity(), Bytes::mib(8));
            let store = Store::new(Box::new(medium), profile.physical_sector);
            let drive = ServedDrive::new(device, store, seed);
            Self { queue: JobQueue::default(), drive, now: Time::ZERO }
        }

        fn start(&mut self, task: Task, range: (u64, u64), data: Option<Box<[u8]>>) {
            let job = job(task, range, data);
            if let Some(command) = self.queue.take(job) {
                self.drive.submit(self.now, command).unwrap();
            }
        }

        /// Continues until the next answer of the drive; returns whether there was one.
        fn step(&mut self) -> bool {
            let Some(next) = self.drive.next_event() else { return false };
            self.now = next.max(self.now);
            let mut answers = Vec::new();
            self.drive.advance(self.now, &mut answers).unwrap();
            for done in answers {
                let mut sector = [0; 512];
                let reads_edge = self.queue.reads_edge(done.token);
                if reads_edge {
                    self.drive.read(done.lba, &mut sector).unwrap();
                }
                let found = reads_edge.then_some(&sector);
                if let Some(next) = self.queue.next(done.token, found) {
                    self.drive.submit(self.now, next).unwrap();
                    continue;
                }
                self.queue.remove(done.token);
                while let Some(command) = self.queue.admit() {
                    self.drive.submit(self.now, command).unwrap();
                }
            }
            true
        }

        fn drain(&mut self) {
            while self.step() {}
            assert_eq!(self.queue.jobs.len(), 0);
            assert!(self.queue.waiting.is_empty());
            assert_eq!(self.queue.edged, 0);
        }

        fn content(&self) -> Vec<u8> {
            let mut found = vec![0; BYTES];
            self.drive.read(Lba::ZERO, &mut found).unwrap();
            found
        }

        /// Starts requests for ranges that touch anywhere, in any order, with some omitted; returns
        /// what the drive must contain once all are done.
        fn start_neighbours(&mut self, rng: &mut Rng, before: &[u8]) -> Vec<u8> {
            let mut meets: Vec<u64> = (0..20).map(|_| rng.below(BYTES as u64)).collect();
            meets.extend([0, 512, 1024, 8192, BYTES as u64]);
            meets.sort_unstable();
            meets.dedup();
            let mut ranges: Vec<_> = meets.windows(2).map(|pair| (pair[0], pair[1])).collect();
            let mut after = before.to_vec();
            while !ranges.is_empty() {
                let index = usize::try_from(rng.below(ranges.len() as u64)).unwrap();
                let (start, end) = ranges.swap_remove(index);
                let range = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
                let byte = rng.bits().to_le_bytes()[0] | 1;
                let bytes = || Some(vec![byte; range.len()].into_boxed_slice());
                let (task, data, new) = match rng.below(6) {
                    0 => continue,
                    1 => (Task::Zero, None, 0),
                    2 => (Task::Free, None, 0),
                    _ => (Task::Write, bytes(), byte),
                };
                after[range].fill(new);
                self.start(task, (start, end - start), data);
                if rng.below(4) == 0 {
                    self.step();
                }
            }
            after
        }
    }

    #[test]
    fn requests_that_meet_within_a_sector_leave_each_other_whole() {
        for seed in 0..60 {
            let (mut bench, mut rng) = (Bench::new(seed), Rng::new(seed));
            let mut shadow = vec![0; BYTES];
            for round in 0..5 {
                shadow = bench.start_neighbours(&mut rng, &shadow);
                bench.drain();
                assert!(bench.content() == shadow, "seed {seed}, round {round}");
            }
        }
    }

    #[test]
    fn a_cut_takes_nothing_durable_from_the_neighbours_within_a_sector() {
        for seed in 0..200 {
            let (mut bench, mut rng) = (Bench::new(seed), Rng::new(seed));
            let before = bench.start_neighbours(&mut rng, &vec![0; BYTES]);
            bench.drain();
            bench.start(Task::Flush, (0, 0), None);
            bench.drain();
            let after = bench.start_neighbours(&mut rng, &before);
            (0..rng.below(30)).for_each(|_| assert!(bench.step() || bench.queue.jobs.is_empty()));
            bench.drive.cut(bench.now, &mut Dice::new(seed)).unwrap();
            for (index, found) in bench.content().iter().enumerate() {
                let legal = [before[index], after[index]];
                assert!(legal.contains(found), "seed {seed}: {found} at {index}, not {legal:?}");
            }
        }
    }

    #[test]
    fn reads_are_rounded_to_sectors_and_wait_for_nobody() {
        let mut bench = Bench::new(1);
        bench.start(Task::Write, (100, 5), Some(Box::new([1; 5])));
        let read = job(Task::Read, (510, 4), None);
        let command = bench.queue.take(read).expect("a read waits for nobody");
        assert_eq!((command.lba, command.sectors.get()), (Lba::ZERO, 2));
        let write = job(Task::Write, (200, 5), Some(Box::new([2; 5])));
        assert!(write.has_edges() && bench.queue.is_excluded(&write));
    }
}
