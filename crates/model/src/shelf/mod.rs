//! Several drives behind one controller: requests split as by the host, a shared bus, and a queue
//! of limited depth.
//!
//! The drives have equal capacities and consecutive addresses. A request takes the path of Linux:
//! the block layer splits it into pieces, each piece waits in its drive's queue until the
//! controller accepts another command, the data of a write crosses the bus before the drive has it,
//! that of a read after the drive has begun to send it.

mod bus;
mod lane;
mod pending;
mod slot;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;
use std::ops::Range;

use drivelab_core::{
    Completion, Destaged, Device, IoError, Lba, Op, Request, RequestId, Sectors, ServedBy, Span,
    Time,
};

use slab::Slab;

use bus::Crossing;
pub use bus::{Bus, Rates, Switching};
use lane::{HeadStart, Lane, LaneEvent, Load};
pub(crate) use pending::Pending;
pub use slot::Member;
use slot::Slot;

/// Resources shared by the drives.
#[derive(Debug, Clone, Copy)]
pub struct Sharing {
    /// The bus, if they share one.
    pub bus: Option<(Bus, Rates)>,
    /// Maximum size of a piece of a request.
    pub piece: Sectors,
    /// Maximum commands at the controller, over all drives.
    pub host_queue: usize,
}

/// Maximum waiting pieces: far more than any load keeps outstanding.
const MAX_WAITING: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
struct Command {
    request: usize,
    slot: usize,
    op: Op,
    fua: bool,
    submitter: u16,
    lba: Lba,
    sectors: Sectors,
    /// For a write: the drive has it; all of its data has crossed.
    sent: bool,
    crossed: bool,
    answer: Option<(Result<(), IoError>, ServedBy)>,
}

#[derive(Debug)]
struct Crossings {
    lanes: Vec<Lane>,
    crossing: Crossing,
    one_at_a_time: bool,
}

impl Crossings {
    /// Returns the lane of a direction; both directions share a single lane.
    #[inline]
    fn lane(&mut self, op: Op) -> &mut Lane {
        let index = usize::from(op == Op::Write).min(self.lanes.len() - 1);
        &mut self.lanes[index]
    }
}

/// Drives behind one controller.
#[derive(Debug)]
pub struct Shelf<D> {
    slots: Vec<Slot<D>>,
    member: Sectors,
    crossings: Option<Crossings>,
    piece: Sectors,
    host_queue: usize,
    commands: Slab<Command>,
    requests: Slab<Pending>,
    /// Commands under way, over all slots.
    under_way: usize,
    /// Pieces in the queues of the slots.
    waiting: usize,
    /// The slot that may send the next command first.
    turn: usize,
    /// Answers of requests that never become commands.
    answered: VecDeque<Completion>,
    next: Option<Time>,
    clock: Time,
    scratch: Vec<Completion>,
    /// Pieces written to the medium without a cache; `None` until the first request for them. A
    /// request with another piece in a cache counts as cached, so all of its pieces need a record.
    direct: Option<Vec<Destaged>>,
}

impl<D: Device> Shelf<D> {
    /// The `members`, which have equal capacities, behind shared resources.
    pub fn new(members: Vec<Member<D>>, sharing: Sharing) -> Self {
        assert!(!members.is_empty(), "a shelf holds at least one drive");
        let capacity = members.iter().map(|member| member.device.capacity()).min();
        let slots: Vec<Slot<D>> = members.into_iter().map(Slot::new).collect();
        let crossings = sharing.bus.map(|(bus, rates)| Crossings {
            lanes: vec![Lane::new(slots.len()); if rates.shared { 1 } else { 2 }],
            crossing: Crossing::new(rates),
            one_at_a_time: bus.one_at_a_time(),
        });
        Self {
            slots,
            member: capacity.expect("there is a member"),
            crossings,
            piece: sharing.piece,
            host_queue: sharing.host_queue,
            commands: Slab::new(),
            requests: Slab::new(),
            under_way: 0,
            waiting: 0,
            turn: 0,
            answered: VecDeque::new(),
            next: None,
            clock: Time::ZERO,
            scratch: Vec::with_capacity(64),
            direct: None,
        }
    }

    /// The drives.
    pub fn members(&self) -> impl Iterator<Item = &D> {
        self.slots.iter().map(|slot| &slot.device)
    }

    /// The total time of all transfers on the bus so far.
    pub fn bus_time(&self) -> Span {
        let lanes = self.crossings.iter().flat_map(|crossings| &crossings.lanes);
        lanes.fold(Span::ZERO, |sum, lane| sum + lane.requested)
    }

    /// Queues a piece of `request` on `slot`.
    fn queue_piece(
        &mut self,
        request: &Request,
        parent: usize,
        slot: usize,
        lba: Lba,
        sectors: Sectors,
    ) {
        let piece = self.commands.insert(Command {
            request: parent,
            slot,
            op: request.op,
            fua: request.fua,
            submitter: request.submitter,
            lba,
            sectors,
            sent: false,
            crossed: false,
            answer: None,
        });
        self.slots[slot].waiting.push_back(piece);
    }

    /// The slots that a flush concerns: all of them, or that of the address which it has.
    fn flushed(&self, request: &Request) -> Range<usize> {
        if request.sectors == Sectors::ZERO {
            return 0..self.slots.len();
        }
        let slot = usize::try_from(request.lba.get() / self.member.get()).expect("few slots");
        slot..slot + 1
    }

    /// Splits a request into pieces, each in its slot's queue; returns their number.
    fn split(&mut self, request: &Request, parent: usize) -> usize {
        if request.op == Op::Flush {
            let all = self.flushed(request);
            let count = all.len();
            for slot in all {
                self.queue_piece(request, parent, slot, Lba::ZERO, Sectors::ZERO);
            }
            return count;
        }
        let mut pieces = 0;
        let (mut lba, end) = (request.lba, request.end());
        while lba < end {
            let slot = usize::try_from(lba.get() / self.member.get()).expect("few slots");
            let base = Lba::ZERO + Sectors::new(slot as u64 * self.member.get());
            let last = end.min(base + self.member);
            // The limit is that of a data transfer, which a trim does not have.
            let longest = if request.op == Op::Trim { self.member } else { self.piece };
            let sectors = (last - lba).min(longest);
            debug_assert!(sectors > Sectors::ZERO, "an empty piece makes no progress");
            self.queue_piece(request, parent, slot, Lba::ZERO + (lba - base), sectors);
            lba = lba + sectors;
            pieces += 1;
        }
        pieces
    }

    /// Returns true if `slot` may send another command, apart from the controller's limit.
    fn may_start(&self, slot: usize) -> bool {
        let drive = &self.slots[slot];
        if drive.waiting.is_empty() || drive.under_way >= drive.limit {
            return false;
        }
        let exclusive = self.crossings.as_ref().is_some_and(|crossings| crossings.one_at_a_time);
        if !exclusive || self.under_way == 0 {
            return true;
        }
        // The drive that has the link keeps it until its commands are done, and gets no more
        // while another waits for its turn.
        let others = self.waiting > drive.waiting.len();
        drive.under_way > 0 && !others
    }

    /// Sends waiting commands within the limits, one from each slot in turn.
    fn start(&mut self, now: Time) {
        let slots = self.slots.len();
        let mut idle = 0;
        while idle < slots && self.waiting > 0 && self.under_way < self.host_queue {
            // Round robin, so that no drive starves the others.
            let slot = self.turn;
            if self.may_start(slot) {
                self.start_one(now, slot);
                idle = 0;
                // With one drive at a time the turn includes all its commands.
                if self.crossings.as_ref().is_some_and(|crossings| crossings.one_at_a_time) {
                    self.fill(now, slot);
                }
            } else {
                idle += 1;
            }
            self.turn = if slot + 1 == slots { 0 } else { slot + 1 };
        }
    }

    /// Sends the commands of the drive that now holds the link, within its limits.
    fn fill(&mut self, now: Time, slot: usize) {
        let drive = &self.slots[slot];
        let room = (drive.limit - drive.under_way).min(self.host_queue - self.under_way);
        for _ in 0..room.min(drive.waiting.len()) {
            self.start_one(now, slot);
        }
    }

    fn start_one(&mut self, now: Time, slot: usize) {
        let drive = &mut self.slots[slot];
        let index = drive.waiting.pop_front().expect("a command waits");
        drive.under_way += 1;
        debug_assert!(drive.under_way <= drive.limit, "more commands than the drive accepts");
        self.under_way += 1;
        self.waiting -= 1;
        debug_assert!(self.under_way <= self.host_queue, "the controller is above its queue depth");
        let Command { op, sectors, .. } = self.commands[index];
        // A write crosses the bus before the drive sees it, a read after the drive has begun to
        // send.
        match &mut self.crossings {
            Some(crossings) if op == Op::Write => {
                let whole = crossings.crossing.time(op, sectors);
                let early = self.slots[slot].overlap(whole, sectors).most;
                let load = Load { command: index, whole, early };
                crossings.lane(op).push(now, slot, load, HeadStart::default());
            }
            _ => self.send_to_drive(now, index),
        }
    }

    fn send_to_drive(&mut self, now: Time, index: usize) {
        let Command { slot, op, fua, submitter, lba, sectors, .. } = self.commands[index];
        let id = RequestId(index as u64);
        self.slots[slot].submit(now, Request { id, op, lba, sectors, fua, submitter });
    }

    fn answer(&mut self, done: Completion, completed: &mut Vec<Completion>) {
        let index = usize::try_from(done.id.0).expect("the shelf numbers its commands");
        let command = &mut self.commands[index];
        let (op, sectors, slot) = (command.op, command.sectors, command.slot);
        command.answer = Some((done.result, done.served_by));
        match (&mut self.crossings, op) {
            (Some(crossings), Op::Read) if done.result.is_ok() => {
                let whole = crossings.crossing.time(op, sectors);
                let load = Load { command: index, whole, early: Span::ZERO };
                let begun = self.slots[slot].overlap(whole, sectors);
                crossings.lane(op).push(done.at, slot, load, begun);
            }
            (Some(_), Op::Write) if !command.crossed => {}
            _ => self.finish(done.at, index, completed),
        }
    }

    fn crossed(&mut self, now: Time, event: LaneEvent, completed: &mut Vec<Completion>) {
        let (LaneEvent::Early(index) | LaneEvent::Done(index)) = event;
        let command = &mut self.commands[index];
        command.crossed = matches!(event, LaneEvent::Done(_));
        if command.op == Op::Write && !std::mem::replace(&mut command.sent, true) {
            self.send_to_drive(now, index);
        } else if command.crossed && command.answer.is_some() {
            self.finish(now, index, completed);
        }
    }

    /// Completes a command, and its request with the last one.
    fn finish(&mut self, now: Time, index: usize, completed: &mut Vec<Completion>) {
        let command = self.commands.remove(index);
        debug_assert!(self.slots[command.slot].under_way > 0 && self.under_way > 0);
        self.slots[command.slot].under_way -= 1;
        self.under_way -= 1;
        let (result, served_by) = command.answer.expect("only answered commands are finished");
        if let Some(direct) = &mut self.direct
            && (command.op, served_by, result) == (Op::Write, ServedBy::Medium, Ok(()))
        {
            let base = Sectors::new(command.slot as u64 * self.member.get());
            let (lba, sectors) = (command.lba + base, command.sectors);
            direct.push(Destaged { lba, sectors, taken: now, at: now });
        }
        let request = &mut self.requests[command.request];
        request.add(result, served_by);
        if request.left == 0 {
            let pending = self.requests.remove(command.request);
            completed.push(pending.completion(now));
        }
    }

    fn update_next(&mut self) {
        let commands = self.waiting + self.under_way;
        debug_assert_eq!(commands, self.commands.len(), "a command neither waits nor is under way");
        let slots = self.slots.iter().filter_map(|slot| slot.next);
        let lanes = self.crossings.iter().flat_map(|crossings| &crossings.lanes);
        let lanes = lanes.filter_map(Lane::next);
        let answered = self.answered.front().map(|answer| answer.at);
        self.next = slots.chain(lanes).chain(answered).min();
    }

    fn process_due(&mut self, now: Time, completed: &mut Vec<Completion>) {
        while self.answered.front().is_some_and(|answer| answer.at <= now) {
            completed.extend(self.answered.pop_front());
        }
        // Lanes before drives: a transfer that ends now can start a command at the same time.
        for lane in 0..self.crossings.as_ref().map_or(0, |crossings| crossings.lanes.len()) {
            while let Some(event) =
                self.crossings.as_mut().and_then(|crossings| crossings.lanes[lane].pop_due(now))
            {
                self.crossed(now, event, completed);
            }
        }
        for slot in 0..self.slots.len() {
            if self.slots[slot].next.is_none_or(|next| next > now) {
                continue;
            }
            let mut done = std::mem::take(&mut self.scratch);
            self.slots[slot].advance(now, &mut done);
            for completion in done.drain(..) {
                self.answer(completion, completed);
            }
            self.scratch = done;
        }
        if self.waiting > 0 {
            self.start(now);
        }
    }
}

impl<D: Device> Device for Shelf<D> {
    fn capacity(&self) -> Sectors {
        Sectors::new(self.member.get() * self.slots.len() as u64)
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        assert!(now >= self.clock, "time ran backwards");
        assert!(self.next.is_none_or(|next| next >= now), "an event was passed over");
        self.clock = now;
        let last = Lba::ZERO + self.capacity();
        let beyond = request.lba > last || last - request.lba < request.sectors;
        let empty = request.sectors == Sectors::ZERO && request.op != Op::Flush;
        if beyond || empty {
            let result = if beyond { Err(IoError::OutOfRange) } else { Ok(()) };
            let served_by = ServedBy::Unknown;
            self.answered.push_back(Completion { id: request.id, at: now, result, served_by });
            self.update_next();
            return Ok(());
        }
        if self.waiting >= MAX_WAITING {
            return Err(request);
        }
        let parent = self.requests.insert(Pending::new(request.id, 0));
        let pieces = self.split(&request, parent);
        self.requests[parent].left = pieces;
        self.waiting += pieces;
        self.start(now);
        self.update_next();
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Time> {
        self.next
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        assert!(now >= self.clock, "time ran backwards");
        while let Some(next) = self.next.filter(|next| *next <= now) {
            debug_assert!(next >= self.clock, "an event before the last call");
            self.process_due(next, completed);
            self.update_next();
        }
        self.clock = now;
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        for (index, slot) in (0_u64..).zip(&mut self.slots) {
            let from = records.len();
            slot.device.destaged(records);
            for record in &mut records[from..] {
                record.lba = record.lba + Sectors::new(index * self.member.get());
            }
        }
        records.append(self.direct.get_or_insert_default());
    }
}
