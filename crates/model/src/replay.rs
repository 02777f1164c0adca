//! A recorded trace against a device in virtual time.

use std::collections::VecDeque;

use drivelab_core::TraceEntry as Entry;
use drivelab_core::{Completion, Device, IoError, ServedBy, Span, Time};

/// When the next request goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loop {
    /// When the one before is done and its recorded think time has passed: one at a time.
    Closed,
    /// When it was recorded to come, however many are still waiting.
    Open,
}

/// What the device made of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayAnswer {
    /// The recorded request.
    pub entry: Entry,
    /// From the moment it came until it was done.
    pub latency: Span,
    /// How long it waited for the device to accept it: a part of the latency.
    pub late: Span,
    /// Whether the device could do it.
    pub result: Result<(), IoError>,
    /// What answered it.
    pub served_by: ServedBy,
}

/// A replay under way: feed it entries, take answers in the order of the requests.
///
/// It holds the requests that are not answered yet, and nothing else.
#[derive(Debug)]
pub struct Replay<D> {
    device: D,
    how: Loop,
    now: Time,
    /// The think time of the last request has passed by then.
    next: Time,
    /// Requests in order, answered ones in front of unanswered ones too.
    waiting: VecDeque<Waiting>,
    first: u64,
    /// Requests that the device has not answered, now and at most.
    unanswered: u64,
    unanswered_max: u64,
    completed: Vec<Completion>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    entry: Entry,
    came: Time,
    accepted: Time,
    done: Option<Completion>,
}

impl<D: Device> Replay<D> {
    /// A replay on `device`, which stands at time 0.
    pub fn new(device: D, how: Loop) -> Self {
        Self {
            device,
            how,
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

    /// Requests that waited for an answer at the same time, at most.
    pub fn unanswered_max(&self) -> u64 {
        self.unanswered_max
    }

    /// Hands `entry` to the device when its time has come, and calls `each` for everything that is
    /// answered up to then.
    pub fn push(&mut self, entry: Entry, each: &mut impl FnMut(ReplayAnswer)) {
        let due = match self.how {
            Loop::Closed => self.next,
            Loop::Open => entry.at.unwrap_or(self.now).max(self.now),
        };
        self.run_until(due);
        // A request that the device accepts late has waited since it was recorded to come.
        let came = if self.how == Loop::Open { entry.at.unwrap_or(due) } else { due };
        self.waiting.push_back(Waiting { entry, came, accepted: due, done: None });
        self.unanswered += 1;
        self.unanswered_max = self.unanswered_max.max(self.unanswered);
        let mut request = entry.request;
        request.id.0 = self.first + self.waiting.len() as u64 - 1;
        while let Err(back) = self.device.submit(self.now, request) {
            // So many wait that the device takes no more: the host has to hold it.
            request = back;
            self.step();
        }
        if let Some(waiting) = self.waiting.back_mut() {
            waiting.accepted = self.now;
        }
        if self.how == Loop::Closed {
            while self.waiting.back().is_some_and(|waiting| waiting.done.is_none()) {
                self.step();
            }
            self.next = self.now + entry.think.unwrap_or(Span::ZERO);
        }
        self.tell(each);
    }

    /// Waits for everything that is still unanswered.
    pub fn finish(&mut self, each: &mut impl FnMut(ReplayAnswer)) {
        while self.unanswered > 0 {
            self.step();
        }
        self.tell(each);
    }

    fn run_until(&mut self, due: Time) {
        while self.device.next_event().is_some_and(|event| event <= due) {
            self.step();
        }
        self.now = self.now.max(due);
    }

    fn step(&mut self) {
        self.now = self.device.next_event().expect("a device answers every request it took");
        self.device.advance(self.now, &mut self.completed);
        for completion in self.completed.drain(..) {
            let index = usize::try_from(completion.id.0 - self.first).expect("it waits in memory");
            self.waiting[index].done = Some(completion);
            self.unanswered -= 1;
        }
    }

    fn tell(&mut self, each: &mut impl FnMut(ReplayAnswer)) {
        while let Some(waiting) = self.waiting.front().copied()
            && let Some(done) = waiting.done
        {
            self.waiting.pop_front();
            self.first += 1;
            each(ReplayAnswer {
                entry: waiting.entry,
                latency: done.at.since(waiting.came),
                late: waiting.accepted.since(waiting.came),
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
