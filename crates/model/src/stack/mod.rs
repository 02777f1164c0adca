//! The host's side of a drive: elevator, tags and wire, in front of any mechanism.

mod arbiter;
mod mechanism;
mod pair;
mod tag;

pub use mechanism::Mechanism;
pub use tag::Tag;

use drivelab_core::{
    Completion, Destaged, Device, IoError, Lba, Request, RequestId, Sectors, ServedBy, Time,
};

use crate::about::Attachment;
use crate::counters::Counters;
use crate::event::{Event, EventQueue};
use crate::watch::Step;
use arbiter::Arbiter;
use pair::Pair;

/// The whole way of a request: elevator, tags, wire, mechanism, and back.
#[derive(Debug)]
pub struct Stack<M> {
    /// The only queue, or the first queue pair of an `NVMe` controller: here, and not in a list
    /// with the others, since most drives have one and every step looks at it.
    first: Pair,
    others: Vec<Pair>,
    arbiter: Arbiter,
    /// There is one queue, and the drive takes all of it: nothing to choose.
    takes_all: bool,
    mechanism: M,
    events: EventQueue<Event>,
    /// The command that holds each tag: those that the drive works on.
    on_wire: Vec<Option<Request>>,
    free_tags: Vec<Tag>,
    /// The last time that was told, to assert that it never runs backwards.
    clock: Time,
}

impl<M: Mechanism> Stack<M> {
    /// Puts `mechanism` behind a host and a wire as `attached` says; with `flush_alone` a flush or
    /// trim shares the wire with no other command.
    pub fn new(attached: &Attachment, flush_alone: bool, mechanism: M) -> Self {
        let queues = attached.queue_pairs.as_ref();
        let count = queues.map_or(1, |queues| queues.count);
        let first = Pair::new(attached, flush_alone);
        let others = (1..count).map(|_| Pair::new(attached, flush_alone)).collect();
        // Every queue has as many.
        let tags = attached.commands_at_once().min(count * first.wire.tags());
        Self {
            takes_all: count == 1 && tags == first.wire.tags(),
            first,
            others,
            arbiter: Arbiter::new(queues),
            mechanism,
            events: EventQueue::with_capacity(tags * 2 + 8),
            on_wire: vec![None; tags],
            free_tags: (0..tags).rev().map(Tag::new).collect(),
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
    fn queue_of(&self, request: &Request) -> usize {
        let others = self.others.len();
        if others == 0 { 0 } else { usize::from(request.submitter) % (1 + others) }
    }

    #[inline]
    fn pair(&mut self, queue: usize) -> &mut Pair {
        if queue == 0 { &mut self.first } else { &mut self.others[queue - 1] }
    }

    /// Frees a tag; gives the request that held it, and its queue.
    #[inline]
    fn complete(&mut self, tag: Tag) -> (RequestId, usize) {
        let request = self.on_wire[tag.index()].take().expect("the tag was in use");
        self.free_tags.push(tag);
        let queue = self.queue_of(&request);
        self.pair(queue).completed(&request);
        (request.id, queue)
    }

    /// Sends what the rules of the wire let through, as far as the drive takes it.
    #[inline]
    fn dispatch(&mut self, now: Time, queue: usize) {
        if !self.takes_all {
            return self.arbitrate(now, queue);
        }
        while let Some(request) = self.first.next(now) {
            self.send(now, request);
        }
    }

    /// Submits what the wire of `queue` lets through, and sends what the drive takes of all queues.
    #[inline(never)]
    fn arbitrate(&mut self, now: Time, queue: usize) {
        if self.pair(queue).submit(now) {
            self.arbiter.filled(queue);
        }
        while !self.free_tags.is_empty()
            && let Some(queue) = self.arbiter.next()
        {
            let submitted = &mut self.pair(queue).submitted;
            let request = submitted.pop_front().expect("the queue holds commands");
            if submitted.is_empty() {
                self.arbiter.emptied(queue);
            }
            self.send(now, request);
        }
    }

    #[inline]
    fn send(&mut self, now: Time, request: Request) {
        let tag = self.free_tags.pop().expect("whoever sends knows of a free tag");
        let before = self.on_wire[tag.index()].replace(request);
        debug_assert!(before.is_none(), "tag {tag} is given out twice");
        self.mechanism.note(|| Step::Sent { at: now, tag, request });
        self.mechanism.accept(now, tag, &request, &mut self.events);
    }

    /// What the mechanism has done, and the most that the wire and the host held of one queue.
    pub fn counters(&self) -> Counters {
        let most = |held: fn(&Pair) -> usize| {
            self.others.iter().map(held).fold(held(&self.first), usize::max)
        };
        Counters {
            max_tags_in_use: most(|pair| pair.wire.max_in_use),
            max_requests_held: most(|pair| pair.host.max_held()),
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
        let queue = self.queue_of(&request);
        self.pair(queue).host.submit(now, request)?;
        self.dispatch(now, queue);
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
                    let (id, queue) = self.complete(tag);
                    self.mechanism.note(|| Step::Done { at, tag });
                    let done = Completion { id, at, result: Ok(()), served_by };
                    completed.push(done);
                    self.dispatch(at, queue);
                    if self.pair(queue).host.admit_waiting(at) {
                        self.dispatch(at, queue);
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
