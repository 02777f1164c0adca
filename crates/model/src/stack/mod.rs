//! The host's side of a drive: elevator, tags and wire, in front of any mechanism.

mod arbiter;
mod mechanism;
mod pair;
mod syncs;

pub use crate::tag::Tag;
pub use mechanism::Mechanism;
pub use syncs::HostSyncs;

use drivelab_core::{
    Completion, Destaged, Device, IoError, Lba, Request, RequestId, Sectors, ServedBy, Time,
};

use crate::about::Attachment;
use crate::counters::Counters;
use crate::event::{Event, EventQueue};
use crate::watch::Step;
use arbiter::Arbiter;
use pair::Pair;

/// The path of a request: elevator, tags, wire, mechanism, and back.
#[derive(Debug)]
pub struct Stack<M> {
    /// The only queue, or the first queue pair of an `NVMe` controller. It is separate from the
    /// others because most drives have just one, and every step uses it.
    first: Pair,
    others: Vec<Pair>,
    arbiter: Arbiter,
    /// True for a single queue whose commands all fit into the drive, which needs no arbitration.
    takes_all: bool,
    mechanism: M,
    events: EventQueue<Event>,
    /// The command that holds each tag.
    on_wire: Vec<Option<Request>>,
    free_tags: Vec<Tag>,
    /// Time of the last call; must never decrease.
    clock: Time,
}

impl<M: Mechanism> Stack<M> {
    /// Puts `mechanism` behind the host and wire of `attached`; with `flush_alone` a flush or trim
    /// shares the wire with no other command.
    pub fn new(attached: &Attachment, flush_alone: bool, mechanism: M) -> Self {
        let queues = attached.queue_pairs.as_ref();
        let count = queues.map_or(1, |queues| queues.count);
        let first = Pair::new(attached, flush_alone);
        let others = (1..count).map(|_| Pair::new(attached, flush_alone)).collect();
        // All queues have the same number of tags; the drive may take fewer commands than their
        // sum.
        let tags = attached.commands_at_once().min(count * first.wire.tags());
        assert!((1..=Tag::MAX_COUNT).contains(&tags), "{tags} tags");
        Self {
            takes_all: count == 1 && tags == first.wire.tags(),
            first,
            others,
            arbiter: Arbiter::new(queues),
            mechanism,
            // A completion and a wake-up for each tag, and some answers to requests out of range.
            events: EventQueue::with_capacity(tags * 2 + 8),
            on_wire: vec![None; tags],
            // Reversed, so that the lowest free tag is popped first.
            free_tags: (0..tags).rev().map(Tag::new).collect(),
            clock: Time::ZERO,
        }
    }

    pub(crate) fn watch(&mut self, steps: &mut Vec<Step>) {
        self.mechanism.watch(steps);
    }

    pub(crate) fn mechanism(&self) -> &M {
        &self.mechanism
    }

    #[inline]
    fn queue_of(&self, request: &Request) -> usize {
        let others = self.others.len();
        // Most loads have one submitter, and most drives one queue: no division on that path.
        if others == 0 { 0 } else { usize::from(request.submitter) % (1 + others) }
    }

    #[inline]
    fn pair(&mut self, queue: usize) -> &mut Pair {
        if queue == 0 { &mut self.first } else { &mut self.others[queue - 1] }
    }

    /// Frees a tag; returns the identity of its request, and its queue.
    #[inline]
    fn complete(&mut self, tag: Tag) -> (RequestId, usize) {
        let request = self.on_wire[tag.index()].take().expect("the tag was in use");
        self.free_tags.push(tag);
        debug_assert!(self.free_tags.len() <= self.on_wire.len(), "tag {tag} is freed twice");
        let queue = self.queue_of(&request);
        self.pair(queue).completed(&request);
        (request.id, queue)
    }

    /// Sends the requests that the rules of the wire permit and the drive has tags for.
    #[inline]
    fn dispatch(&mut self, now: Time, queue: usize) {
        if !self.takes_all {
            return self.arbitrate(now, queue);
        }
        while let Some(request) = self.first.next(now) {
            self.send(now, request);
        }
    }

    /// Submits the requests that the wire of `queue` permits, and sends commands of all queues
    /// while the drive has tags.
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
        let tag = self.free_tags.pop().expect("the caller checked for a free tag");
        let before = self.on_wire[tag.index()].replace(request);
        debug_assert!(before.is_none(), "tag {tag} is given out twice");
        self.mechanism.note(|| Step::Sent { at: now, tag, request });
        self.mechanism.accept(now, tag, &request, &mut self.events);
    }

    /// The mechanism's work, and the maximum that wire and host held of one queue.
    pub fn counters(&self) -> Counters {
        let (mut max_tags_in_use, mut max_requests_held) = (0, 0);
        for pair in std::iter::once(&self.first).chain(&self.others) {
            max_tags_in_use = max_tags_in_use.max(pair.wire.max_in_use);
            max_requests_held = max_requests_held.max(pair.host.max_held());
        }
        Counters { max_tags_in_use, max_requests_held, ..self.mechanism.counters() }
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
        // Without an addition of the two, which could overflow.
        let beyond = request.lba > last || (last - request.lba) < request.sectors;
        if request.op.transfers() && beyond {
            let result = Err(IoError::OutOfRange);
            self.events.push(now, Event::Answered { id, result });
            return Ok(());
        }
        // An empty transfer never reaches the drive, as in the block layer.
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
                    // The freed tag went to the elevator first; see `HostQueue::admit_waiting`.
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
