//! The disk sort of `DragonFly` BSD: arrival order, but reads pass waiting writes.

use std::collections::VecDeque;

use drivelab_core::dispatch::{Class, Waiting};
use drivelab_core::{Lba, Op, Request, Sectors};

/// Number of reads that pass writes before some writes may pass (`bioq_reorder_minor_interval` in
/// `sys/kern/subr_disk.c`).
const MINOR_INTERVAL: u32 = 5;
/// Contiguous writes that may pass then, 262,144 bytes (`bioq_reorder_minor_bytes`).
const MINOR_SECTORS: Sectors = Sectors::new(512);
/// Value at which the counter of passing reads restarts (`bioq_reorder_burst_interval`).
// The kernel's burst of 3,000,000 bytes at this point depends on a shortage of buffers and is
// omitted: there are no buffers in front of this model.
const BURST_INTERVAL: u32 = 60;

/// One queue with reads in front of the first waiting write.
#[derive(Debug, Default)]
pub(crate) struct Bioq {
    queue: VecDeque<Request>,
    /// Insertion index of the next read; everything before it is sent first.
    transition: usize,
    passed: u32,
    reads: usize,
}

impl Bioq {
    pub(crate) fn push(&mut self, request: Request) {
        self.reads += usize::from(request.op == Op::Read);
        if request.op != Op::Read || self.transition >= self.queue.len() {
            if request.op == Op::Read {
                // No write waits behind it: later reads queue up behind this one.
                self.transition = self.queue.len() + 1;
            }
            self.queue.push_back(request);
            return;
        }
        self.queue.insert(self.transition, request);
        self.transition += 1;
        self.passed += 1;
        if self.passed.is_multiple_of(MINOR_INTERVAL) {
            self.let_writes_pass();
        }
        if self.passed >= BURST_INTERVAL {
            self.passed = 0;
        }
    }

    /// Moves the insertion index of reads behind some contiguous writes.
    fn let_writes_pass(&mut self) {
        let mut moved = Sectors::ZERO;
        let mut expected: Option<Lba> = None;
        while let Some(write) = self.queue.get(self.transition) {
            // A gap would cost the writes a seek each, so only one sequential piece passes.
            let contiguous = expected.is_none_or(|lba| lba == write.lba);
            if !contiguous || moved >= MINOR_SECTORS {
                return;
            }
            moved += write.sectors;
            expected = Some(write.end());
            self.transition += 1;
        }
    }

    pub(crate) fn waiting(&self) -> Waiting {
        let head = self.queue.front().map(|request| Class::from(request.op));
        Waiting { reads: self.reads, writes: self.queue.len() - self.reads, head }
    }

    /// The first request of `class`.
    pub(crate) fn pop(&mut self, class: Class) -> Option<Request> {
        let index = self.queue.iter().position(|request| Class::from(request.op) == class)?;
        if index < self.transition {
            // The removal shifts the insertion index with everything behind `index`.
            self.transition -= 1;
        }
        self.reads -= usize::from(class == Class::Read);
        debug_assert!(self.reads < self.queue.len(), "more reads than requests");
        self.queue.remove(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order_of(pushed: &[(u64, u64, bool)]) -> Vec<u64> {
        let mut queue = Bioq::default();
        for &(id, lba, write) in pushed {
            let make = if write { Request::write } else { Request::read };
            queue.push(make(id, Lba::new(lba), Sectors::new(128)));
        }
        let mut order = Vec::new();
        while let Some(class) = queue.waiting().head {
            order.push(queue.pop(class).unwrap().id.0);
        }
        order
    }

    #[test]
    fn reads_pass_writes_but_not_each_other() {
        let pushed = [(1, 0, true), (2, 9000, false), (3, 128, true), (4, 50, false)];
        assert_eq!(order_of(&pushed), [2, 4, 1, 3]);
    }

    #[test]
    fn every_fifth_passing_read_lets_contiguous_writes_pass() {
        let mut pushed: Vec<(u64, u64, bool)> = (0..6).map(|i| (i, i * 128, true)).collect();
        pushed.extend((10..16).map(|id| (id, 1 << 20, false)));
        // Four contiguous writes of 64 KiB make the 256 KiB that pass before the sixth read.
        assert_eq!(order_of(&pushed), [10, 11, 12, 13, 14, 0, 1, 2, 3, 15, 4, 5]);
    }
}
