//! The loads of one run of a test: one, or one at each of several places.

use super::test::{Ground, Test};
use crate::rng::Rng;
use crate::units::Bytes;
use crate::workload::Workload;

/// Each load with its first byte and its seed.
pub(super) fn of(test: &Test, ground: Ground) -> Vec<(Bytes, Workload, u64)> {
    let workload = &test.workload;
    let Some(points) = test.points else {
        return vec![(workload.offset, workload.clone(), ground.seed)];
    };
    let rest = ground.capacity.get().saturating_sub(workload.offset.get());
    let length = workload.size.map_or(rest, |size| size.get().min(rest));
    let block = workload.blocks.largest().get();
    let mut rng = Rng::for_part(ground.seed, 1);
    let place = |point: u32| {
        let (at, size) = if workload.rw.is_random() {
            let block_number = rng.below((length / block).max(1));
            (block_number * block, block)
        } else {
            // Each place has the whole distance to the next, so no block is read twice.
            let step = length / u64::from(points) / block * block;
            (u64::from(point) * step, step.max(block))
        };
        let offset = Bytes::new(workload.offset.get() + at);
        let own = Workload { offset, size: Some(Bytes::new(size)), ..workload.clone() };
        (offset, own, Rng::for_part(ground.seed, 2 + u64::from(point)).bits())
    };
    (0..points).map(place).collect()
}
