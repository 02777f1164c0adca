//! The loads of one run of a test: one, or one at each of several points.

use super::test::{LoadTarget, Test};
use crate::rng::Rng;
use crate::units::Bytes;
use crate::workload::Workload;

/// Each load with its first byte and its seed.
pub(super) fn loads(test: &Test, target: LoadTarget) -> Vec<(Bytes, Workload, u64)> {
    let workload = &test.workload;
    let Some(points) = test.points else {
        return vec![(workload.offset, workload.clone(), target.seed)];
    };
    let rest = target.capacity.get().saturating_sub(workload.offset.get());
    let length = workload.size.map_or(rest, |size| size.get().min(rest));
    let block = workload.blocks.largest().get();
    let mut rng = Rng::for_part(target.seed, 1);
    let mut loads = Vec::new();
    for point in 0..points {
        let (at, size) = if workload.rw.is_random() {
            let block_number = rng.below((length / block).max(1));
            (block_number * block, block)
        } else {
            // Each point has the whole distance to the next, so no block is read twice.
            let step = length / u64::from(points) / block * block;
            (u64::from(point) * step, step.max(block))
        };
        let offset = Bytes::new(workload.offset.get() + at);
        let own = Workload { offset, size: Some(Bytes::new(size)), ..workload.clone() };
        loads.push((offset, own, Rng::for_part(target.seed, 2 + u64::from(point)).bits()));
    }
    loads
}
