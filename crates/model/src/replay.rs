//! Replay of a recorded trace on a device in virtual time.

use std::collections::VecDeque;

use drivelab_core::TraceEntry as Entry;
use drivelab_core::{Completion, Device, IoError, ServedBy, Span, Time};

/// The rule for issuing the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loop {
    /// After the previous one has completed and its recorded think time has passed.
    Closed,
    /// At its recorded arrival, regardless of outstanding requests.
    Open,
}

/// The outcome of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayAnswer {
    /// The recorded request.
    pub entry: Entry,
    /// From arrival to completion.
    pub latency: Span,
    /// Wait until the device accepted it; included in the latency.
    pub late: Span,
    /// The device's status.
    pub result: Result<(), IoError>,
    /// The component that answered it.
    pub served_by: ServedBy,
}

/// A replay under way: takes entries, returns answers in the order of the requests.
///
/// Its memory is bounded by the outstanding requests, not by the length of the trace.
#[derive(Debug)]
pub struct Replay<D> {
    device: D,
    kind: Loop,
    now: Time,
    /// End of the last request's think time.
    next: Time,
    /// Requests in order; answered ones wait here for earlier unanswered ones.
    waiting: VecDeque<Waiting>,
    /// Identity of the front of `waiting`.
    first: u64,
    /// Outstanding requests.
    unanswered: u64,
    unanswered_max: u64,
    completed: Vec<Completion>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    entry: Entry,
    arrived: Time,
    accepted: Time,
    done: Option<Completion>,
}

impl<D: Device> Replay<D> {
    /// A replay on `device`, whose clock is at time 0.
    pub fn new(device: D, kind: Loop) -> Self {
        Self {
            device,
            kind,
            now: Time::ZERO,
            next: Time::ZERO,
            waiting: VecDeque::new(),
            first: 0,
            unanswered: 0,
            unanswered_max: 0,
            completed: Vec::with_capacity(64),
        }
    }

    /// The virtual time that has passed.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Maximum of outstanding requests.
    pub fn unanswered_max(&self) -> u64 {
        self.unanswered_max
    }

    /// Submits `entry` to the device at its due time, and calls `each` for every answer up to then.
    pub fn push(&mut self, entry: Entry, each: &mut impl FnMut(ReplayAnswer)) {
        let due = match self.kind {
            Loop::Closed => self.next,
            Loop::Open => entry.at.unwrap_or(self.now).max(self.now),
        };
        self.run_until(due);
        // Latency counts from the recorded arrival even if the device accepts the request late:
        // otherwise a slow drive would hide its queue (coordinated omission).
        let arrived = if self.kind == Loop::Open { entry.at.unwrap_or(due) } else { due };
        self.waiting.push_back(Waiting { entry, arrived, accepted: due, done: None });
        self.unanswered += 1;
        self.unanswered_max = self.unanswered_max.max(self.unanswered);
        let mut request = entry.request;
        request.id.0 = self.first + self.waiting.len() as u64 - 1;
        while let Err(back) = self.device.submit(self.now, request) {
            // The device's queue is full: the host holds the request until an event frees a slot.
            request = back;
            self.step();
        }
        if let Some(waiting) = self.waiting.back_mut() {
            waiting.accepted = self.now;
        }
        if self.kind == Loop::Closed {
            // A closed loop has one request under way: wait for its answer.
            while self.waiting.back().is_some_and(|waiting| waiting.done.is_none()) {
                self.step();
            }
            self.next = self.now + entry.think.unwrap_or(Span::ZERO);
        }
        self.report_answered(each);
    }

    /// Waits for the outstanding requests.
    pub fn finish(&mut self, each: &mut impl FnMut(ReplayAnswer)) {
        while self.unanswered > 0 {
            self.step();
        }
        self.report_answered(each);
    }

    fn run_until(&mut self, due: Time) {
        while self.device.next_event().is_some_and(|event| event <= due) {
            self.step();
        }
        self.now = self.now.max(due);
    }

    fn step(&mut self) {
        let event = self.device.next_event().expect("a device answers every request it took");
        debug_assert!(event >= self.now, "the device's clock ran backwards");
        self.now = event;
        self.device.advance(self.now, &mut self.completed);
        for completion in self.completed.drain(..) {
            let index = usize::try_from(completion.id.0 - self.first).expect("it waits in memory");
            self.waiting[index].done = Some(completion);
            debug_assert!(self.unanswered > 0, "more answers than requests");
            self.unanswered -= 1;
        }
    }

    fn report_answered(&mut self, each: &mut impl FnMut(ReplayAnswer)) {
        while let Some(waiting) = self.waiting.front().copied()
            && let Some(done) = waiting.done
        {
            self.waiting.pop_front();
            self.first += 1;
            each(ReplayAnswer {
                entry: waiting.entry,
                latency: done.at.since(waiting.arrived),
                late: waiting.accepted.since(waiting.arrived),
                result: done.result,
                served_by: done.served_by,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::profile::Profile;
    use drivelab_core::{Lba, Request, RequestId, Sectors};

    /// Latencies in ms of `trace` on a drive that takes 10 ms for each of two requests at a time.
    fn latencies(how: Loop, trace: &[Entry]) -> Vec<u64> {
        let text = "[drive]\nkind = \"fixed\"\nmodel = \"two servers\"\ncapacity_bytes = 1M\n\
                    service = \"10ms\"\nservers = 2\n"
            .replace("1M", "1048576");
        let profile = Profile::parse("two.toml", &text, &|_| None).unwrap();
        let drive = crate::build(&profile, &Options::default(), 1).unwrap();
        let mut replay = Replay::new(drive, how);
        let mut found = Vec::new();
        let mut each = |answer: ReplayAnswer| {
            assert_eq!(answer.entry.request.id.0, found.len() as u64);
            found.push(answer.latency.ns() / 1_000_000);
        };
        for (id, entry) in (0..).zip(trace) {
            let request = Request { id: RequestId(id), ..entry.request };
            replay.push(Entry { request, ..*entry }, &mut each);
        }
        replay.finish(&mut each);
        found
    }

    fn read(lba: u64, at: Option<Time>) -> Entry {
        let request = Request::read(0, Lba::new(lba), Sectors::new(1));
        Entry { request, at, think: None, measured: None }
    }

    #[test]
    fn closed_loops_have_one_request_under_way() {
        let after =
            |lba, think_us| Entry { think: Some(Span::from_us(think_us)), ..read(lba, None) };
        let trace = &[after(0, 5000), after(8, 0), after(16, 0)];
        assert_eq!(latencies(Loop::Closed, trace), [10, 10, 10]);
    }

    #[test]
    fn open_loops_send_when_the_trace_says() {
        // Four at once on two servers; the fifth finds all quiet, the sixth is beyond the end.
        let at = |lba, ms: u64| read(lba, Some(Time::from_ns(ms * 1_000_000)));
        let trace = &[at(0, 0), at(1, 0), at(2, 0), at(3, 1), at(4, 500), at(9999, 600)];
        assert_eq!(latencies(Loop::Open, trace), [10, 10, 20, 19, 10, 0]);
    }

    #[test]
    fn without_times_an_open_loop_sends_at_once() {
        let trace = &[read(0, None), read(1, None), read(2, None)];
        assert_eq!(latencies(Loop::Open, trace), [10, 10, 20]);
    }
}
