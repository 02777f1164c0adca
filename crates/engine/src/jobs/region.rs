//! Which part of the target a job takes, and which random numbers.

use drivelab_core::Rng;
use drivelab_core::units::{Bytes, SECTOR_BYTES};
use drivelab_core::workload::Workload;

/// The seed of copy `index` of a job: the first draws what a single one would, the others something
/// else.
pub fn seed_of(seed: u64, index: u32) -> u64 {
    // Parts 0 to 4 of a seed belong to the workload and to what is written.
    if index == 0 { seed } else { Rng::for_part(seed, 1000 + u64::from(index)).bits() }
}

/// What job `index` of `numjobs` does that each take their own part of the region: sequential ones,
/// because a second one over the same blocks would find them in a cache, and verified ones, because
/// of two writers nobody could say which was the last. Random ones share it otherwise.
pub(crate) fn share(workload: &Workload, capacity: Bytes, index: u32, numjobs: u32) -> Workload {
    let mut own = workload.clone();
    if numjobs == 1 {
        return own;
    }
    let whole = workload
        .size
        .unwrap_or_else(|| Bytes::new(capacity.get().saturating_sub(workload.offset.get())));
    let block = workload.blocks.largest().get().max(SECTOR_BYTES);
    let part = whole.get() / u64::from(numjobs) / block * block;
    debug_assert!(index < numjobs, "each part is one job's");
    debug_assert!(part * u64::from(numjobs) <= whole.get(), "all parts lie within the region");
    own.offset = Bytes::new(workload.offset.get() + part * u64::from(index));
    own.size = Some(Bytes::new(part));
    own
}

/// What job `index` does where each begins `step` behind the one before, overlapping or not; what
/// would lie beyond the end of the target is left out.
pub(super) fn behind(workload: &Workload, capacity: Bytes, step: Bytes, index: u32) -> Workload {
    let offset = workload.offset.get().saturating_add(step.get().saturating_mul(index.into()));
    let rest = Bytes::new(capacity.get().saturating_sub(offset));
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
            let own = share(&options.check().unwrap(), Bytes::gib(1), index, 3);
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
