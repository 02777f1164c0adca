//! Host, controller and disk as one machine.

use drivelab_core::{
    Completion, Destaged, IoError, Lba, Request, RequestId, Sectors, ServedBy, Time,
};

use super::Counters;
use super::event::Event;
use crate::controller::Wire;
use crate::drive::mechanism::Mechanism;
use crate::event::EventQueue;
use crate::host::Host;
use crate::planted::planted;
use crate::watch::Step;

/// The whole way of a request: elevator, tags, wire, disk, and back.
#[derive(Debug)]
pub(crate) struct Stack {
    host: Host,
    wire: Wire,
    disk: Mechanism,
    events: EventQueue<Event>,
    /// The command that holds each tag.
    on_wire: Vec<Option<Request>>,
    free_tags: Vec<u8>,
    /// The last time that was told, to assert that it never runs backwards.
    told: Time,
}

impl Stack {
    pub(crate) fn new(host: Host, wire: Wire, disk: Mechanism) -> Self {
        let tags = u8::try_from(wire.tags()).expect("no controller has more than 255 tags");
        Self {
            host,
            disk,
            events: EventQueue::with_capacity(usize::from(tags) * 2 + 8),
            on_wire: vec![None; wire.tags()],
            free_tags: (0..tags).rev().collect(),
            wire,
            told: Time::ZERO,
        }
    }

    pub(crate) fn capacity(&self) -> Sectors {
        self.disk.capacity()
    }

    pub(crate) fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        assert!(now >= self.told, "time ran backwards");
        assert!(self.events.next_time().is_none_or(|due| due >= now), "an event was passed over");
        self.told = now;
        let id = request.id;
        let last = Lba::ZERO + self.capacity();
        let beyond = request.lba > last || (last - request.lba) < request.sectors;
        if request.op.transfers() && beyond {
            let result = Err(IoError::OutOfRange);
            self.events.push(now, Event::Answered { id, result });
            return Ok(());
        }
        if request.op.transfers() && request.sectors == Sectors::ZERO {
            self.events.push(now, Event::Answered { id, result: Ok(()) });
            return Ok(());
        }
        self.host.submit(now, request)?;
        self.dispatch(now);
        Ok(())
    }

    pub(crate) fn next_event(&self) -> Option<Time> {
        self.events.next_time()
    }

    pub(crate) fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        assert!(now >= self.told, "time ran backwards");
        self.told = now;
        while let Some((at, event)) = self.events.pop_due(now) {
            match event {
                Event::Wake => self.disk.wake(at, &mut self.events),
                Event::MediumFree => self.disk.medium_free(at, &mut self.events),
                Event::Done { tag, served_by } => {
                    let id = self.complete(tag);
                    self.disk.note(|| Step::Done { at, tag });
                    let done = Completion { id, at, result: Ok(()), served_by };
                    completed.push(done);
                    if planted!(DoneTwice) && id.0.is_multiple_of(64) {
                        completed.push(done);
                    }
                    self.dispatch(at);
                    if self.host.admit_waiting(at) {
                        self.dispatch(at);
                    }
                }
                Event::Answered { id, result } => {
                    let served_by = ServedBy::Unknown;
                    completed.push(Completion { id, at, result, served_by });
                }
            }
        }
    }

    pub(crate) fn drain_destaged(&mut self, records: &mut Vec<Destaged>) {
        self.disk.drain_destaged(self.told, records);
    }

    pub(crate) fn watch(&mut self, steps: &mut Vec<Step>) {
        self.disk.watch(steps);
    }

    #[inline]
    fn complete(&mut self, tag: u8) -> RequestId {
        let request = self.on_wire[usize::from(tag)].take().expect("the tag was in use");
        self.free_tags.push(tag);
        self.wire.release(request.op);
        self.host.completed();
        request.id
    }

    /// Sends what the rules of the wire let through.
    #[inline]
    fn dispatch(&mut self, now: Time) {
        while let Some(class) = self.wire.next(self.host.waiting()) {
            if !self.wire.may_join(self.host.peek(class)) {
                return;
            }
            let request = self.host.pop(now, class);
            let tag = self.free_tags.pop().expect("the pool said that a tag is free");
            self.wire.take(request.op);
            self.on_wire[usize::from(tag)] = Some(request);
            self.disk.note(|| Step::Sent { at: now, tag, request });
            self.disk.accept(now, tag, &request, &mut self.events);
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters {
            max_tags_in_use: self.wire.max_in_use,
            max_requests_held: self.host.max_held(),
            ..self.disk.counters()
        }
    }
}
