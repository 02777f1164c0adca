//! The output of `blkparse`: `8,0 1 42 0.001234567 99 Q WS 1234 + 8 [name]` (man 1 blkparse).

use drivelab_core::config::Choice;
use drivelab_core::{Invalid, Op, Request, TraceEntry as Entry, choice_as_text, invalid};

use super::device::Device;
use super::fields::{Parsed, is_device, time, transfer, whole};
use super::issued::Issued;

/// The events of `blkparse` that are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// `Q`: requests of programs to the device, before the kernel merged and sorted them.
    Queued,
    /// `D`: requests that the drive received, with the times until their completion (`C`), which
    /// are the service times of the drive.
    Issued,
}

impl Choice for Events {
    const WHAT: &'static str = "kind of events";
    const NAMES: &'static [(&'static str, Self)] =
        &[("queued", Self::Queued), ("issued", Self::Issued)];
}
choice_as_text!(Events);

/// The state of the trace so far.
#[derive(Debug)]
pub(super) struct State {
    events: Events,
    pub(super) issued: Issued,
    /// Events that are neither read, write, trim nor flush.
    pub(super) left_out: u64,
    /// True if the trace contains events of the other kind.
    pub(super) has_other_events: bool,
    /// The first line that is not an event: the summary, with which the output ends.
    summary: Option<u64>,
    has_begun: bool,
}

impl State {
    pub(super) fn new(events: Events) -> Self {
        Self {
            events,
            issued: Issued::default(),
            left_out: 0,
            has_other_events: false,
            summary: None,
            has_begun: false,
        }
    }

    /// The events that are read.
    pub(super) fn events(&self) -> Events {
        self.events
    }

    /// Reads line number `line`. Issued requests go to `issued`, queued ones are returned.
    pub(super) fn read(
        &mut self,
        text: &str,
        line: u64,
        device: &mut Device,
    ) -> Result<Option<Parsed>, Invalid> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        if !is_device(name) {
            // Lines before the first event are messages of blkparse itself.
            self.summary = self.summary.or(self.has_begun.then_some(line));
            return Ok(None);
        }
        if let Some(summary) = self.summary {
            return Err(invalid!(
                "an event follows line {summary}, which is not an event: check whether the file \
                 is the output of one `blkparse` without `-f`"
            ));
        }
        self.has_begun = true;
        let (_cpu, _sequence) = (words.next(), words.next());
        let at_ns = time(words.next(), 1_000_000_000, "time in seconds")?.ns();
        let (_process, action) = (words.next(), words.next());
        let Some(event) = self.event(action) else { return Ok(None) };
        let kind = words.next().ok_or("the line ends before the request type")?;
        let request = read_request(kind, &mut words)?;
        let is_taken = match event {
            Event::Request => device.takes(name, "the devices")?,
            Event::Completion | Event::Requeue => device.is_taken(name),
        };
        let Some((request, flushes_before)) = request.filter(|_| is_taken) else {
            self.left_out += u64::from(is_taken && event == Event::Request);
            return Ok(None);
        };
        let entry = Entry { request, at: None, think: None, measured: None };
        let parsed = Parsed { entry, flushes_before, arrival_ns: Some(at_ns) };
        match event {
            Event::Request if self.events == Events::Queued => return Ok(Some(parsed)),
            Event::Request => self.issued.issue(parsed),
            Event::Completion => {
                // The line ends with the error of the request: `[0]`.
                let has_failed = words.last().is_some_and(|error| error != "[0]");
                self.issued.complete(&request, at_ns, has_failed);
            }
            Event::Requeue => self.issued.requeue(&request),
        }
        Ok(None)
    }

    /// The meaning of an action, if it is needed.
    fn event(&mut self, action: Option<&str>) -> Option<Event> {
        match (action?, self.events) {
            ("Q", Events::Queued) | ("D", Events::Issued) => Some(Event::Request),
            ("C", Events::Issued) => Some(Event::Completion),
            ("R", Events::Issued) => Some(Event::Requeue),
            (action, _) => {
                self.has_other_events |= matches!(action, "Q" | "D");
                None
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Request,
    Completion,
    Requeue,
}

/// The request of a line from its type on; true if the cache is flushed before it. Commands
/// that carry no data of the drive, such as SMART queries, are none.
fn read_request<'a>(
    kind: &str,
    words: &mut impl Iterator<Item = &'a str>,
) -> Result<Option<(Request, bool)>, Invalid> {
    // An F before the direction: the cache is flushed first (`REQ_PREFLUSH`).
    let (direction, flushes) = (kind.trim_start_matches('F'), kind.starts_with('F'));
    let flush = flushes.then(|| (Request::flush(0), false));
    let op = match direction.chars().next() {
        Some('R') => Op::Read,
        Some('W') => Op::Write,
        Some('D') => Op::Trim,
        _ => return Ok(flush),
    };
    let first = words.next();
    if first.is_some_and(|word| word.starts_with('[')) {
        return Ok(flush);
    }
    let lba = whole(first, "first sector")?;
    match words.next() {
        Some("+") => {}
        // The bytes of a command for the drive, or the error of a request without data.
        Some(word) if word.starts_with(['(', '[']) => return Ok(flush),
        _ => return Err("expected `+` between first sector and length".into()),
    }
    let request = transfer(op, lba, whole(words.next(), "number of sectors")?)?;
    // A second F, after the direction, is force unit access.
    let fua = op == Op::Write && direction.contains('F');
    Ok(Some((Request { fua, ..request }, flushes)))
}
