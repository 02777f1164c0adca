//! An elevator with expiry times, after Linux' mq-deadline.

use std::collections::{BTreeMap, VecDeque};

use drivelab_core::dispatch::{Class, Waiting};
use drivelab_core::{Lba, Request, Span, Time};

// The defaults of Linux' block/mq-deadline.c: `fifo_batch`, `read_expire`, `write_expire` and
// `writes_starved`.
/// Requests of one direction in a batch.
const BATCH: u32 = 16;
const READ_EXPIRE: Span = Span::from_ms(500);
const WRITE_EXPIRE: Span = Span::from_secs(5);
/// Batches of reads that may be preferred while writes wait.
const WRITES_STARVED: u32 = 2;

#[derive(Debug)]
struct Direction {
    /// By address; the number keeps equal addresses in order of arrival.
    sorted: BTreeMap<(Lba, u64), Request>,
    /// By arrival, with the time at which each expires. May name requests already sent.
    expiry: VecDeque<(Time, (Lba, u64))>,
    patience: Span,
    /// End of the last request of this direction; the next one is above.
    position: Lba,
}

impl Direction {
    fn new(patience: Span) -> Self {
        Self { sorted: BTreeMap::new(), expiry: VecDeque::new(), patience, position: Lba::ZERO }
    }

    fn expired(&self, now: Time) -> bool {
        self.expiry.front().is_some_and(|(at, _)| *at <= now)
    }

    /// Returns the key of the next request in ascending order.
    fn next_above(&self) -> Option<(Lba, u64)> {
        self.sorted.range((self.position, 0)..).next().map(|(key, _)| *key)
    }

    fn take(&mut self, key: (Lba, u64)) -> Option<Request> {
        let request = self.sorted.remove(&key)?;
        self.position = request.end();
        // Lazy deletion: entries of requests sent out of turn leave the list once they reach its
        // front.
        while self.expiry.front().is_some_and(|(_, key)| !self.sorted.contains_key(key)) {
            self.expiry.pop_front();
        }
        Some(request)
    }
}

/// The elevator: reads and writes sorted separately and sent in ascending batches; an expired
/// request moves the elevator to its address.
#[derive(Debug)]
pub(crate) struct Deadline {
    reads: Direction,
    writes: Direction,
    arrived: u64,
    /// The direction of the batch under way.
    batch: Class,
    sent_in_batch: u32,
    /// Number of batches in which reads were preferred while writes waited.
    starved: u32,
}

impl Default for Deadline {
    fn default() -> Self {
        Self {
            reads: Direction::new(READ_EXPIRE),
            writes: Direction::new(WRITE_EXPIRE),
            arrived: 0,
            batch: Class::Read,
            sent_in_batch: 0,
            starved: 0,
        }
    }
}

impl Deadline {
    pub(crate) fn push(&mut self, now: Time, request: Request) {
        self.arrived += 1;
        let key = (request.lba, self.arrived);
        let direction = self.direction_mut(request.op.into());
        direction.expiry.push_back((now + direction.patience, key));
        direction.sorted.insert(key, request);
    }

    pub(crate) fn waiting(&self) -> Waiting {
        let (reads, writes) = (self.reads.sorted.len(), self.writes.sorted.len());
        Waiting { reads, writes, head: self.next_class() }
    }

    /// Returns the direction that is due: the current batch if it can continue, else reads, unless
    /// writes have been passed over twice.
    fn next_class(&self) -> Option<Class> {
        if self.batch_continues(self.batch) {
            return Some(self.batch);
        }
        match (self.reads.sorted.is_empty(), self.writes.sorted.is_empty()) {
            (true, true) => None,
            (false, false) if self.starved >= WRITES_STARVED => Some(Class::Write),
            (false, _) => Some(Class::Read),
            (true, false) => Some(Class::Write),
        }
    }

    fn batch_continues(&self, class: Class) -> bool {
        let started = self.sent_in_batch > 0 && self.batch == class;
        started && self.sent_in_batch < BATCH && self.direction(class).next_above().is_some()
    }

    pub(crate) fn pop(&mut self, now: Time, class: Class) -> Option<Request> {
        let continues = self.batch_continues(class);
        if !continues {
            let writes_wait = !self.writes.sorted.is_empty();
            // Starvation counts batches, not requests, as in the kernel.
            self.starved = match class {
                Class::Read if writes_wait => self.starved + 1,
                _ => 0,
            };
            self.batch = class;
            self.sent_in_batch = 0;
        }
        self.sent_in_batch += 1;
        debug_assert!(self.sent_in_batch <= BATCH, "a batch has {BATCH} requests");
        let direction = self.direction_mut(class);
        let oldest = direction.expiry.front().map(|(_, key)| *key);
        let above = direction.next_above();
        // Expiry counts only between batches, as in the kernel. At the upper end the elevator
        // returns to the oldest request, not to the lowest address.
        let restart = !continues && direction.expired(now);
        let key = if restart { oldest } else { above.or(oldest) };
        direction.take(key?)
    }

    fn direction(&self, class: Class) -> &Direction {
        match class {
            Class::Read => &self.reads,
            Class::Write => &self.writes,
        }
    }

    fn direction_mut(&mut self, class: Class) -> &mut Direction {
        match class {
            Class::Read => &mut self.reads,
            Class::Write => &mut self.writes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::Sectors;

    fn request(id: u64, lba: u64, write: bool) -> Request {
        let make = if write { Request::write } else { Request::read };
        make(id, Lba::new(lba), Sectors::new(8))
    }

    fn drain(elevator: &mut Deadline, now: Time) -> Vec<u64> {
        let mut order = Vec::new();
        while let Some(class) = elevator.waiting().head {
            order.push(elevator.pop(now, class).unwrap().id.0);
        }
        order
    }

    #[test]
    fn reads_go_upwards_and_start_again_from_the_oldest() {
        let mut elevator = Deadline::default();
        for (id, lba) in [(1, 500), (2, 100), (3, 900), (4, 300)] {
            elevator.push(Time::ZERO, request(id, lba, false));
        }
        assert_eq!(elevator.pop(Time::ZERO, Class::Read).unwrap().id.0, 2);
        assert_eq!(elevator.pop(Time::ZERO, Class::Read).unwrap().id.0, 4);
        elevator.push(Time::ZERO, request(5, 50, false));
        assert_eq!(drain(&mut elevator, Time::ZERO), [1, 3, 5]);
    }

    #[test]
    fn an_expired_request_moves_the_elevator() {
        let mut elevator = Deadline::default();
        elevator.push(Time::ZERO, request(1, 900, false));
        elevator.push(Time::ZERO + Span::from_ms(1), request(2, 100, false));
        assert_eq!(drain(&mut elevator, Time::ZERO + Span::from_ms(499)), [2, 1]);
        elevator.push(Time::ZERO, request(3, 950, false));
        elevator.push(Time::ZERO + Span::from_ms(1), request(4, 910, false));
        elevator.sent_in_batch = BATCH;
        assert_eq!(drain(&mut elevator, Time::ZERO + Span::from_ms(500)), [3, 4]);
    }

    #[test]
    fn writes_are_passed_over_twice_at_most() {
        let mut elevator = Deadline::default();
        elevator.push(Time::ZERO, request(1000, 0, true));
        for id in 0..64 {
            elevator.push(Time::ZERO, request(id, id * 8, false));
        }
        let order = drain(&mut elevator, Time::ZERO);
        assert_eq!(order.iter().position(|id| *id == 1000), Some(32));
    }
}
