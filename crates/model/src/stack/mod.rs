//! The host's side of a drive: elevator, tags and wire, in front of any mechanism.

mod mechanism;
mod tag;

pub use mechanism::Mechanism;
pub use tag::Tag;

use drivelab_core::{
    Completion, Destaged, Device, IoError, Lba, Request, RequestId, Sectors, ServedBy, Time,
};

use crate::about::Attachment;
use crate::controller::Wire;
use crate::counters::Counters;
use crate::elevator::HostQueue;
use crate::event::{Event, EventQueue};
use crate::watch::Step;

/// The whole way of a request: elevator, tags, wire, mechanism, and back.
#[derive(Debug)]
pub struct Stack<M> {
    host: HostQueue,
    wire: Wire,
    mechanism: M,
    events: EventQueue<Event>,
    /// The command that holds each tag.
    on_wire: Vec<Option<Request>>,
    free_tags: Vec<Tag>,
    /// The last time that was told, to assert that it never runs backwards.
    clock: Time,
}

impl<M: Mechanism> Stack<M> {
    /// Puts `mechanism` behind a host and a wire as `attached` says; with `flush_alone` a flush or
    /// trim shares the wire with no other command.
    pub fn new(attached: &Attachment, flush_alone: bool, mechanism: M) -> Self {
        let wire = Wire::new(attached.dispatch, attached.tags, flush_alone);
        Self {
            host: HostQueue::new(attached.scheduler, attached.nr_requests),
            mechanism,
            events: EventQueue::with_capacity(wire.tags() * 2 + 8),
            on_wire: vec![None; wire.tags()],
            free_tags: (0..wire.tags()).rev().map(Tag::new).collect(),
            wire,
            clock: Time::ZERO,
        }
    }

    pub(crate) fn watch(&mut self, steps: &mut Vec<Step>) {
        self.mechanism.watch(steps);
    }

    #[cfg(test)]
    pub(crate) fn mechanism(&self) -> &M {
        &self.mechanism
    }

    #[inline]
    fn complete(&mut self, tag: Tag) -> RequestId {
        let request = self.on_wire[tag.index()].take().expect("the tag was in use");
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
            let before = self.on_wire[tag.index()].replace(request);
            debug_assert!(before.is_none(), "tag {tag} is given out twice");
            self.mechanism.note(|| Step::Sent { at: now, tag, request });
            self.mechanism.accept(now, tag, &request, &mut self.events);
        }
    }

    /// What the mechanism has done, and the most that wire and host held.
    pub fn counters(&self) -> Counters {
        Counters {
            max_tags_in_use: self.wire.max_in_use,
            max_requests_held: self.host.max_held(),
            ..self.mechanism.counters()
        }
    }
}

impl<M: Mechanism> Device for Stack<M> {
    fn capacity(&self) -> Sectors {
        self.mechanism.capacity()
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        assert!(now >= self.clock, "time ran backwards");
        assert!(self.events.next_time().is_none_or(|due| due >= now), "an event was passed over");
        self.clock = now;
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

    fn next_event(&self) -> Option<Time> {
        self.events.next_time()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        assert!(now >= self.clock, "time ran backwards");
        self.clock = now;
        while let Some((at, event)) = self.events.pop_due(now) {
            match event {
                Event::Wake => self.mechanism.wake(at, &mut self.events),
                Event::MediumFree => self.mechanism.medium_free(at, &mut self.events),
                Event::Done { tag, served_by } => {
                    let id = self.complete(tag);
                    self.mechanism.note(|| Step::Done { at, tag });
                    let done = Completion { id, at, result: Ok(()), served_by };
                    completed.push(done);
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

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        self.mechanism.drain_destaged(self.clock, records);
    }
}
