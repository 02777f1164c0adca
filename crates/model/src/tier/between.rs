//! Two drives as one device: the common part of all kinds of tier.

use drivelab_core::{Completion, Destaged, Device, Request, RequestId, Sectors, Time};
use slab::Slab;

use super::host::Host;
use super::pair::{Pair, Side};

/// The two drives, the requests of the host, and the commands that serve them.
#[derive(Debug)]
pub(crate) struct Front<D, N, P> {
    pub(super) pair: Pair<D>,
    pub(super) host: Host<N>,
    parts: Slab<P>,
    pub(super) clock: Time,
    pub(super) last_request: Time,
    done: Vec<Completion>,
}

impl<D: Device, N, P> Front<D, N, P> {
    pub(super) fn new(slow: D, fast: D) -> Self {
        Self {
            host: Host::new(slow.capacity()),
            pair: Pair::new(slow, fast),
            parts: Slab::new(),
            clock: Time::ZERO,
            last_request: Time::ZERO,
            done: Vec::new(),
        }
    }

    /// Sends `request` as soon as the drive accepts it; its completion returns `part`.
    pub(super) fn send(&mut self, now: Time, side: Side, part: P, request: Request) {
        let id = RequestId(self.parts.insert(part) as u64);
        self.pair.send(now, side, Request { id, ..request });
    }

    fn part(&mut self, done: &Completion) -> P {
        self.parts.remove(usize::try_from(done.id.0).expect("`send` numbers the commands"))
    }
}

/// The policy that distributes requests over two drives.
pub(crate) trait Policy {
    type Drive: Device;
    /// State of a request of the host.
    type Note;
    /// Purpose of a command to a drive.
    type Part;
    /// Due times of each kind of background work.
    type Due: AsRef<[Option<Time>]>;

    fn front(&self) -> &Front<Self::Drive, Self::Note, Self::Part>;
    fn front_mut(&mut self) -> &mut Front<Self::Drive, Self::Note, Self::Part>;

    /// Sends the commands for a request of the host.
    fn serve(&mut self, now: Time, request: Request);
    /// Handles the completion of a command to a drive.
    fn part_done(&mut self, part: Self::Part, done: &Completion, completed: &mut Vec<Completion>);
    fn due(&self) -> Self::Due;
    /// Does the background work that was `due` before the drives advanced to `at`, and still is.
    fn background_work(&mut self, at: Time, due: Self::Due);
    /// Appends cached data that has become durable.
    fn destaged(&mut self, records: &mut Vec<Destaged>);
}

/// Two drives and a policy, as one device.
#[derive(Debug)]
pub(crate) struct Tiered<P>(pub(crate) P);

impl<P: Policy> Tiered<P> {
    /// The slow drive and the fast one.
    pub(crate) fn drives(&self) -> [&P::Drive; 2] {
        [Side::Slow, Side::Fast].map(|side| self.0.front().pair.device(side))
    }
}

impl<P: Policy> Device for Tiered<P> {
    fn capacity(&self) -> Sectors {
        self.0.front().host.capacity()
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        assert!(now >= self.0.front().clock, "time ran backwards");
        assert!(self.next_event().is_none_or(|next| next >= now), "an event was passed over");
        let front = self.0.front_mut();
        (front.clock, front.last_request) = (now, now);
        if !front.host.answer_trivial(now, &request) {
            self.0.serve(now, request);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        let front = self.0.front();
        let drives = [front.pair.next_event(), front.host.next_answer()];
        drives.iter().chain(self.0.due().as_ref()).flatten().min().copied()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        assert!(now >= self.0.front().clock, "time ran backwards");
        while let Some(at) = self.next_event().filter(|next| *next <= now) {
            let due = self.0.due();
            let front = self.0.front_mut();
            debug_assert!(at >= front.clock, "an event before the last call");
            front.clock = at;
            front.host.pop_answers(at, completed);
            // The policy needs all of the front meanwhile; put back below, it keeps its allocation.
            let mut all_done = std::mem::take(&mut front.done);
            front.pair.advance(at, &mut all_done);
            for done in all_done.drain(..) {
                let part = self.0.front_mut().part(&done);
                self.0.part_done(part, &done, completed);
            }
            self.0.front_mut().done = all_done;
            // After the completions at the same time, which may have made some of it unnecessary.
            self.0.background_work(at, due);
        }
        self.0.front_mut().clock = now;
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        self.0.destaged(records);
    }
}
