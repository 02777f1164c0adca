//! The part of the target, and the random numbers, of each job.

use drivelab_core::units::{Bytes, SECTOR_BYTES};
use drivelab_core::workload::Workload;
use drivelab_core::{JobSchedule, Rng};

/// The seed of copy `index` of a job: the first draws what a single job would, the others something
/// else.
pub fn seed_of(seed: u64, index: u32) -> u64 {
    // Parts 0 to 4 of a seed belong to the workload and to the written data.
    if index == 0 { seed } else { Rng::for_part(seed, 1000 + u64::from(index)).bits() }
}

/// The division of a target among the jobs of one workload.
#[derive(Debug, Clone, Copy)]
pub struct Sharing {
    /// Size of the target.
    pub capacity: Bytes,
    /// Number of jobs.
    pub numjobs: u32,
    /// Start and offset of each job.
    pub schedule: JobSchedule,
    /// Everything written is read back later.
    pub verified: bool,
}

impl Sharing {
    /// Returns the workload of job `index`.
    pub fn part(&self, workload: &Workload, index: u32) -> Workload {
        match self.schedule.offset_increment {
            Some(step) => behind(workload, self.capacity, step, index),
            // With two writers to one block it would be unknown which was the last.
            None if self.verified || !workload.rw.is_random() => self.own(workload, index),
            None => workload.clone(),
        }
    }

    /// A part of the region that no other job has: a second job over the same blocks would find
    /// them in a cache.
    fn own(&self, workload: &Workload, index: u32) -> Workload {
        if self.numjobs == 1 {
            return workload.clone();
        }
        let rest = self.capacity.get().saturating_sub(workload.offset.get());
        let whole = workload.size.map_or(rest, Bytes::get);
        let block = workload.blocks.largest().get().max(SECTOR_BYTES);
        // In whole blocks: two parts must not share one.
        let part = whole / u64::from(self.numjobs) / block * block;
        debug_assert!(index < self.numjobs, "each part is one job's");
        debug_assert!(part * u64::from(self.numjobs) <= whole, "all parts lie within the region");
        let offset = Bytes::new(workload.offset.get() + part * u64::from(index));
        Workload { offset, size: Some(Bytes::new(part)), ..workload.clone() }
    }
}

/// The workload of job `index` if each begins `step` after the previous one, overlapping or not;
/// anything beyond the end of the target is omitted.
fn behind(workload: &Workload, capacity: Bytes, step: Bytes, index: u32) -> Workload {
    let offset = workload.offset.get().saturating_add(step.get().saturating_mul(index.into()));
    let rest = Bytes::new(capacity.get().saturating_sub(offset));
    // The size that the user gave is checked against the target with the first job; it is cut only
    // for the others, whose offset the user did not give.
    let size = workload.size.map(|size| if index > 0 { size.min(rest) } else { size });
    Workload { offset: Bytes::new(offset), size, ..workload.clone() }
}

#[cfg(test)]
mod tests {
    use drivelab_core::workload::{Rw, WorkloadOptions};

    use super::*;

    #[test]
    fn jobs_with_parts_of_their_own_do_not_overlap() {
        let part = |rw, index| {
            let size = Some(Bytes::mib(10));
            let options = WorkloadOptions { rw: Some(rw), size, ..Default::default() };
            let (capacity, schedule) = (Bytes::gib(1), JobSchedule::default());
            let sharing = Sharing { capacity, numjobs: 3, schedule, verified: false };
            let own = sharing.part(&options.check().unwrap(), index);
            (own.offset, own.size.unwrap())
        };
        // A third of 10 MiB, in whole blocks of 4 KiB.
        let third = 853 * 4096;
        assert_eq!(part(Rw::Read, 0), (Bytes::ZERO, Bytes::new(third)));
        assert_eq!(part(Rw::Read, 2), (Bytes::new(2 * third), Bytes::new(third)));
    }

    #[test]
    fn jobs_may_begin_behind_one_another_and_overlap() {
        let size = Some(Bytes::mib(10));
        let workload = WorkloadOptions { size, ..Default::default() }.check().unwrap();
        let third = behind(&workload, Bytes::mib(20), Bytes::mib(4), 2);
        assert_eq!((third.offset, third.size), (Bytes::mib(8), size));
        let last = behind(&workload, Bytes::mib(20), Bytes::mib(4), 3);
        assert_eq!((last.offset, last.size), (Bytes::mib(12), Some(Bytes::mib(8))));
    }

    #[test]
    fn jobs_draw_differently_and_the_first_as_if_alone() {
        assert_eq!(seed_of(7, 0), 7);
        assert_ne!(seed_of(7, 1), seed_of(7, 2));
        assert_ne!(seed_of(7, 1), seed_of(8, 1));
    }
}
