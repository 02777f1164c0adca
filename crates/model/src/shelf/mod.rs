//! Several drives behind one controller: requests split as the host does, a bus that all share,
//! and a queue that has its limits.
//!
//! The drives lie one after another in the address space, each with the same capacity. A request
//! goes the way of Linux: the block layer cuts it into pieces, each piece waits in its drive's
//! queue until the controller takes one more command, the data of a write crosses the bus before
//! the drive has it, that of a read after the drive has begun to send it.

mod bus;
mod lane;
mod pending;
mod slot;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;

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

/// What drives share, besides their host.
#[derive(Debug, Clone, Copy)]
pub struct Sharing {
    /// The bus; without one nothing is shared on the way.
    pub bus: Option<(Bus, Rates)>,
    /// The longest piece that a request is cut into.
    pub piece: Sectors,
    /// Commands that the controller takes at once, over all drives.
    pub host_queue: usize,
}

/// The most pieces that may wait: far more than any load keeps outstanding.
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
    /// Of a write: whether the drive has it, and whether all of its data has crossed.
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
    /// The lane of a direction: the only one of a wire that both share.
    #[inline]
    fn lane(&mut self, op: Op) -> &mut Lane {
        let place = usize::from(op == Op::Write).min(self.lanes.len() - 1);
        &mut self.lanes[place]
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
    /// Commands under way, over all slots, and pieces that wait for that.
    under_way: usize,
    waiting: usize,
    /// The slot that is asked first for the next command.
    turn: usize,
    /// Requests that never become commands.
    answered: VecDeque<Completion>,
    next: Option<Time>,
    clock: Time,
    scratch: Vec<Completion>,
    /// Pieces that went to the medium and through no cache, once somebody asks: a request of which
    /// another piece is cached counts as cached, and must be told of in whole.
    direct: Option<Vec<Destaged>>,
}

impl<D: Device> Shelf<D> {
    /// The `members`, all of one capacity, behind what they share.
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

    /// The time that the bus would have needed so far for everything it was given.
    pub fn bus_time(&self) -> Span {
        let lanes = self.crossings.iter().flat_map(|crossings| &crossings.lanes);
        lanes.fold(Span::ZERO, |sum, lane| sum + lane.asked)
    }

    /// Cuts a request into pieces, each in its slot's queue; says how many.
    fn cut(&mut self, request: &Request, parent: usize) -> usize {
        let command = |slot: usize, lba, sectors| Command {
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
        };
        let mut pieces = 0;
        if request.op == Op::Flush {
            for slot in 0..self.slots.len() {
                let place = self.commands.insert(command(slot, Lba::ZERO, Sectors::ZERO));
                self.slots[slot].waiting.push_back(place);
                pieces += 1;
            }
            return pieces;
        }
        let (mut lba, end) = (request.lba, request.end());
        while lba < end {
            let slot = usize::try_from(lba.get() / self.member.get()).expect("few slots");
            let base = Lba::ZERO + Sectors::new(slot as u64 * self.member.get());
            let last = end.min(base + self.member);
            let longest = if request.op == Op::Trim { self.member } else { self.piece };
            let sectors = (last - lba).min(longest);
            let place = self.commands.insert(command(slot, Lba::ZERO + (lba - base), sectors));
            self.slots[slot].waiting.push_back(place);
            lba = lba + sectors;
            pieces += 1;
        }
        pieces
    }

    /// Whether `slot` may send one more command now, as far as the controller takes one.
    fn may_start(&self, slot: usize) -> bool {
        let drive = &self.slots[slot];
        if drive.waiting.is_empty() || drive.under_way >= drive.limit {
            return false;
        }
        let exclusive = self.crossings.as_ref().is_some_and(|crossings| crossings.one_at_a_time);
        if !exclusive || self.under_way == 0 {
            return true;
        }
        // The drive that has the link keeps it until its commands are done; it gets no more while
        // another waits for its turn.
        let others = self.waiting > drive.waiting.len();
        drive.under_way > 0 && !others
    }

    /// Sends what may be sent, one command a slot in turn.
    fn start(&mut self, now: Time) {
        let slots = self.slots.len();
        let mut idle = 0;
        while idle < slots && self.waiting > 0 && self.under_way < self.host_queue {
            let slot = self.turn;
            if self.may_start(slot) {
                self.start_one(now, slot);
                idle = 0;
                // With one drive at a time the turn stays until nothing more may be sent.
                if self.crossings.as_ref().is_some_and(|crossings| crossings.one_at_a_time) {
                    self.fill(now, slot);
                }
            } else {
                idle += 1;
            }
            self.turn = if slot + 1 == slots { 0 } else { slot + 1 };
        }
    }

    /// Sends what one drive has, as far as it may, on a link that it now holds.
    fn fill(&mut self, now: Time, slot: usize) {
        let drive = &self.slots[slot];
        let room = (drive.limit - drive.under_way).min(self.host_queue - self.under_way);
        for _ in 0..room.min(drive.waiting.len()) {
            self.start_one(now, slot);
        }
    }

    fn start_one(&mut self, now: Time, slot: usize) {
        let drive = &mut self.slots[slot];
        let place = drive.waiting.pop_front().expect("a command waits");
        drive.under_way += 1;
        debug_assert!(drive.under_way <= drive.limit, "more commands than the drive takes");
        self.under_way += 1;
        self.waiting -= 1;
        debug_assert!(self.under_way <= self.host_queue, "more commands than the controller takes");
        let Command { op, sectors, .. } = self.commands[place];
        match &mut self.crossings {
            Some(crossings) if op == Op::Write => {
                let whole = crossings.crossing.time(op, sectors);
                let early = self.slots[slot].together(whole, sectors).most;
                let load = Load { command: place, whole, early };
                crossings.lane(op).push(now, slot, load, HeadStart::default());
            }
            _ => self.hand_over(now, place),
        }
    }

    fn hand_over(&mut self, now: Time, place: usize) {
        let Command { slot, op, fua, submitter, lba, sectors, .. } = self.commands[place];
        let id = RequestId(place as u64);
        self.slots[slot].submit(now, Request { id, op, lba, sectors, fua, submitter });
    }

    fn answer(&mut self, done: Completion, completed: &mut Vec<Completion>) {
        let place = usize::try_from(done.id.0).expect("named by us");
        let command = &mut self.commands[place];
        let (op, sectors, slot) = (command.op, command.sectors, command.slot);
        command.answer = Some((done.result, done.served_by));
        match (&mut self.crossings, op) {
            (Some(crossings), Op::Read) if done.result.is_ok() => {
                let whole = crossings.crossing.time(op, sectors);
                let load = Load { command: place, whole, early: Span::ZERO };
                let begun = self.slots[slot].together(whole, sectors);
                crossings.lane(op).push(done.at, slot, load, begun);
            }
            (Some(_), Op::Write) if !command.crossed => {}
            _ => self.finish(done.at, place, completed),
        }
    }

    fn crossed(&mut self, now: Time, told: LaneEvent, completed: &mut Vec<Completion>) {
        let (LaneEvent::Early(place) | LaneEvent::Done(place)) = told;
        let command = &mut self.commands[place];
        command.crossed = matches!(told, LaneEvent::Done(_));
        if command.op == Op::Write && !std::mem::replace(&mut command.sent, true) {
            self.hand_over(now, place);
        } else if command.crossed && command.answer.is_some() {
            self.finish(now, place, completed);
        }
    }

    /// A command is done: its request may be too.
    fn finish(&mut self, now: Time, place: usize, completed: &mut Vec<Completion>) {
        let command = self.commands.remove(place);
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

    fn foresee(&mut self) {
        let commands = self.waiting + self.under_way;
        debug_assert_eq!(commands, self.commands.len(), "a command neither waits nor is under way");
        let slots = self.slots.iter().filter_map(|slot| slot.next);
        let lanes = self.crossings.iter().flat_map(|crossings| &crossings.lanes);
        let lanes = lanes.filter_map(Lane::next);
        let answered = self.answered.front().map(|answer| answer.at);
        self.next = slots.chain(lanes).chain(answered).min();
    }

    fn at(&mut self, now: Time, completed: &mut Vec<Completion>) {
        while self.answered.front().is_some_and(|answer| answer.at <= now) {
            completed.extend(self.answered.pop_front());
        }
        for lane in 0..self.crossings.as_ref().map_or(0, |crossings| crossings.lanes.len()) {
            while let Some(told) =
                self.crossings.as_mut().and_then(|crossings| crossings.lanes[lane].tell(now))
            {
                self.crossed(now, told, completed);
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
            self.foresee();
            return Ok(());
        }
        if self.waiting >= MAX_WAITING {
            return Err(request);
        }
        let parent = self.requests.insert(Pending::new(request.id, 0));
        let pieces = self.cut(&request, parent);
        self.requests[parent].left = pieces;
        self.waiting += pieces;
        self.start(now);
        self.foresee();
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Time> {
        self.next
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        assert!(now >= self.clock, "time ran backwards");
        while let Some(next) = self.next.filter(|next| *next <= now) {
            self.at(next, completed);
            self.foresee();
        }
        self.clock = now;
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        for (place, slot) in (0_u64..).zip(&mut self.slots) {
            let from = records.len();
            slot.device.destaged(records);
            for record in &mut records[from..] {
                record.lba = record.lba + Sectors::new(place * self.member.get());
            }
        }
        records.append(self.direct.get_or_insert_default());
    }
}
