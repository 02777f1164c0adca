//! A drive whose service time is known exactly.

use std::collections::VecDeque;

use drivelab_core::{Completion, Device, IoError, Lba, Request, Sectors, ServedBy, Span, Time};

use crate::counters::Counters;
use crate::event::EventQueue;

/// A fixed service time on one of several servers, first come, first served.
///
/// Queueing theory has its response in closed form, which makes it the reference for load loops
/// and statistics.
#[derive(Debug)]
pub(crate) struct Fixed {
    capacity: Sectors,
    service: Span,
    servers: usize,
    busy: usize,
    waiting: VecDeque<Request>,
    done: EventQueue<(Request, bool)>,
    counters: Counters,
    clock: Time,
}

/// Maximum queue length; further requests are given back.
const MAX_WAITING: usize = 1 << 16;

impl Fixed {
    pub(crate) fn new(capacity: Sectors, service: Span, servers: usize) -> Self {
        Self {
            capacity,
            service,
            servers,
            busy: 0,
            waiting: VecDeque::new(),
            done: EventQueue::with_capacity(servers),
            counters: Counters::default(),
            clock: Time::ZERO,
        }
    }

    fn serve(&mut self, now: Time, request: Request) {
        self.busy += 1;
        debug_assert!(self.busy <= self.servers, "more requests in service than servers");
        self.counters.count(request.op);
        self.counters.max_tags_in_use = self.counters.max_tags_in_use.max(self.busy);
        self.counters.medium_busy += self.service;
        self.done.push(now + self.service, (request, true));
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }
}

impl Device for Fixed {
    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        assert!(now >= self.clock, "time ran backwards");
        assert!(self.done.next_time().is_none_or(|due| due >= now), "an event was passed over");
        self.clock = now;
        let last = Lba::ZERO + self.capacity;
        // Also out of range: the answer takes no server, so it must not count as service.
        if request.op.transfers() && (request.lba > last || last - request.lba < request.sectors) {
            self.done.push(now, (request, false));
        } else if self.busy < self.servers {
            self.serve(now, request);
        } else if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(request);
        } else {
            return Err(request);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.done.next_time()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        assert!(now >= self.clock, "time ran backwards");
        self.clock = now;
        while let Some((at, (request, in_range))) = self.done.pop_due(now) {
            let id = request.id;
            if !in_range {
                let (result, served_by) = (Err(IoError::OutOfRange), ServedBy::Unknown);
                completed.push(Completion { id, at, result, served_by });
                continue;
            }
            completed.push(Completion { id, at, result: Ok(()), served_by: ServedBy::Medium });
            debug_assert!(self.busy > 0, "a request completes without a server");
            self.busy -= 1;
            // The freed server continues at the time of the completion, not at the end of this
            // call.
            if let Some(next) = self.waiting.pop_front() {
                self.serve(at, next);
            }
        }
    }
}
