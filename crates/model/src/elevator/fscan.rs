//! The two-queue elevator: requests that arrive during a sweep wait for the next.

use std::collections::BTreeMap;

use drivelab_core::dispatch::{Class, Waiting};
use drivelab_core::{Lba, Op, Request};

/// By address; the number keeps equal addresses in order of arrival.
type Sorted = BTreeMap<(Lba, u64), Request>;

/// Two queues, each sorted upwards: one is being sent, the other gathers (F-SCAN: Coffman, Klimko
/// and Ryan 1972, "Analysis of scanning policies for reducing disk seek times").
///
/// No request waits for more than two sweeps, so no stream can starve another.
#[derive(Debug, Default)]
pub(crate) struct Fscan {
    sweep: Sorted,
    gathering: Sorted,
    arrived: u64,
    reads: usize,
}

impl Fscan {
    pub(crate) fn push(&mut self, request: Request) {
        self.arrived += 1;
        self.reads += usize::from(request.op == Op::Read);
        self.gathering.insert((request.lba, self.arrived), request);
        self.turn();
    }

    /// Begins the next sweep where the last one has ended.
    fn turn(&mut self) {
        if self.sweep.is_empty() {
            std::mem::swap(&mut self.sweep, &mut self.gathering);
        }
    }

    pub(crate) fn waiting(&self) -> Waiting {
        let all = self.sweep.len() + self.gathering.len();
        let head = self.sweep.values().next().map(|request| request.op.into());
        Waiting { reads: self.reads, writes: all - self.reads, head }
    }

    pub(crate) fn pop(&mut self, class: Class) -> Option<Request> {
        let request = match take_first(&mut self.sweep, class) {
            Some(request) => request,
            // The sweep holds only the other class.
            None => take_first(&mut self.gathering, class)?,
        };
        self.reads -= usize::from(request.op == Op::Read);
        self.turn();
        Some(request)
    }
}

/// Removes the lowest request of `class`.
fn take_first(sorted: &mut Sorted, class: Class) -> Option<Request> {
    let mut of_class = sorted.iter().filter(|(_, request)| Class::from(request.op) == class);
    let key = *of_class.next()?.0;
    sorted.remove(&key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::Sectors;

    #[test]
    fn what_comes_during_a_sweep_waits_for_the_next() {
        let mut elevator = Fscan::default();
        let read = |id: u64, lba| Request::read(id, Lba::new(lba), Sectors::new(8));
        elevator.push(read(1, 500));
        elevator.push(read(2, 900));
        elevator.push(read(3, 100));
        assert_eq!(elevator.pop(Class::Read).unwrap().id.0, 1);
        // The second sweep has begun with what had gathered.
        elevator.push(read(4, 950));
        elevator.push(read(5, 50));
        let order: Vec<u64> =
            std::iter::from_fn(|| elevator.pop(Class::Read)).map(|read| read.id.0).collect();
        assert_eq!(order, [3, 2, 5, 4]);
    }
}
