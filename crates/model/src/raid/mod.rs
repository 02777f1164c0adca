//! Arrays after Linux md: RAID 0, 1, 5, 6 and 10 over consecutive members of one device.
//!
//! Not modelled: md's stripe cache, which gathers small sequential writes into whole stripes;
//! locks on a stripe that two requests touch; superblocks, bitmaps, resync and rebuild; processor
//! time for parity. Stripes are counted in sectors, not in pages of 4 KiB, so a write that is not
//! aligned to 4 KiB costs less here.

mod balance;
mod destage;
mod layout;
mod level;
mod plan;
#[cfg(test)]
mod tests;

pub use level::Level;

use std::collections::VecDeque;

use drivelab_core::{
    Completion, Destaged, Device, IoError, Lba, Op, Request, RequestId, Sectors, ServedBy, Time,
};
use slab::Slab;

use crate::shelf::Pending;
use balance::Balance;
use layout::{Extent, ExtentList, Layout, index};
use plan::plan_groups;

/// The shape of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// RAID level.
    pub level: Level,
    /// Members, including the failed one.
    pub members: usize,
    /// Data of one stripe on one member.
    pub chunk: Sectors,
    /// The failed member, if any.
    pub failed: Option<usize>,
}

/// Accesses under way, and the writes that follow them.
#[derive(Debug)]
struct Group {
    request: usize,
    left: usize,
    writes: Vec<Extent>,
    fua: bool,
    submitter: u16,
}

#[derive(Debug, Clone, Copy)]
struct Child {
    group: usize,
    op: Op,
    extent: Extent,
}

/// An array over a device that holds consecutive members of equal size.
#[derive(Debug)]
pub struct Array<D> {
    inner: D,
    layout: Layout,
    failed: Option<usize>,
    member: Sectors,
    balance: Balance,
    requests: Slab<Pending>,
    groups: Slab<Group>,
    children: Slab<Child>,
    /// Accesses that the members had no room for.
    held: VecDeque<Request>,
    answered: VecDeque<Completion>,
    clock: Time,
    scratch: Vec<Completion>,
}

impl<D: Device> Array<D> {
    /// The array of `shape` over `inner`, whose address space concatenates the members.
    pub fn new(inner: D, shape: Shape) -> Self {
        let members = shape.members as u64;
        let least = if shape.level.has_parity() { shape.level.least() as u64 } else { 1 };
        assert!((least..=32).contains(&members), "{members} members make no RAID {}", shape.level);
        assert!(shape.failed.is_none_or(|failed| failed < shape.members), "no such member");
        assert!(shape.failed.is_none() || shape.level != Level::Raid0, "nothing is left of it");
        let member = Sectors::new(inner.capacity().get() / members);
        let chunk = shape.chunk.get();
        assert!(chunk > 0, "a stripe holds data");
        Self {
            layout: Layout { level: shape.level, members, chunk, rows: member.get() / chunk },
            inner,
            failed: shape.failed,
            member,
            balance: Balance::new(shape.members, shape.failed),
            requests: Slab::new(),
            groups: Slab::new(),
            children: Slab::new(),
            held: VecDeque::new(),
            answered: VecDeque::new(),
            clock: Time::ZERO,
            scratch: Vec::new(),
        }
    }

    /// The members' device.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    fn groups_of(&mut self, request: &Request) -> Vec<plan::Group> {
        match self.layout.level {
            Level::Raid1 => {}
            Level::Raid10 => return vec![self.copies_of(request)],
            _ => return plan_groups(&self.layout, self.failed, request),
        }
        let Request { lba, sectors, .. } = *request;
        if request.op == Op::Read {
            let member = self.balance.choose(lba, sectors);
            let reads = vec![Extent { member, lba, sectors }];
            return vec![plan::Group { reads, writes: Vec::new() }];
        }
        let alive = (0..index(self.layout.members)).filter(|member| Some(*member) != self.failed);
        let writes = alive.map(|member| Extent { member, lba, sectors }).collect();
        vec![plan::Group { reads: Vec::new(), writes }]
    }

    /// RAID 10: one copy of each chunk to read, or both to write.
    fn copies_of(&self, request: &Request) -> plan::Group {
        let (mut reads, mut writes) = (ExtentList::default(), ExtentList::default());
        self.layout.copies(request.lba, request.end(), |copies| {
            if request.op == Op::Read {
                // Chunk by chunk, so that a long read uses all members.
                let chosen = self.balance.choose_copy(copies.map(|it| (it.member, it.lba)));
                copies.into_iter().filter(|it| it.member == chosen).for_each(|it| reads.add(it));
            } else {
                let alive = copies.into_iter().filter(|it| Some(it.member) != self.failed);
                alive.for_each(|extent| writes.add(extent));
            }
        });
        plan::Group { reads: reads.extents, writes: writes.extents }
    }

    fn send(&mut self, now: Time, group: usize, op: Op, extents: &[Extent], fua: bool) {
        for &extent in extents {
            self.balance.sent(extent.member);
            let child = self.children.insert(Child { group, op, extent });
            let end = extent.lba + extent.sectors;
            debug_assert!(end <= Lba::ZERO + self.member, "an access stays on its member");
            debug_assert_ne!(Some(extent.member), self.failed, "an access to a failed member");
            // Members are numbered by their position in the address space of the inner device.
            let base = Sectors::new(extent.member as u64 * self.member.get());
            let (id, lba) = (RequestId(child as u64), extent.lba + base);
            let (sectors, submitter) = (extent.sectors, self.groups[group].submitter);
            self.submit_inner(now, Request { id, op, lba, sectors, fua, submitter });
        }
    }

    fn submit_inner(&mut self, now: Time, request: Request) {
        if !self.held.is_empty() {
            // Behind earlier accesses, so that none overtakes another.
            self.held.push_back(request);
        } else if let Err(request) = self.inner.submit(now, request) {
            self.held.push_back(request);
        }
    }

    /// Completes an access; its group proceeds to its writes, or ends.
    fn done(&mut self, completion: &Completion, completed: &mut Vec<Completion>) {
        let Completion { at, result, served_by, .. } = *completion;
        let child = self.children.remove(usize::try_from(completion.id.0).expect("named by us"));
        if child.op != Op::Flush {
            self.balance.done(child.extent.member, child.extent.lba + child.extent.sectors);
        }
        let group = &mut self.groups[child.group];
        debug_assert!(group.left > 0, "an access completes twice");
        group.left -= 1;
        let request = &mut self.requests[group.request];
        if child.op != Op::Read || group.writes.is_empty() {
            request.add(result, served_by);
        } else if let Err(error) = result {
            // Reads before a write do not count for the durability of the write, but if one of
            // them fails, the parity is wrong.
            request.fail(error);
        }
        if group.left == 0 && !group.writes.is_empty() {
            let (writes, fua) = (std::mem::take(&mut group.writes), group.fua);
            group.left = writes.len();
            self.send(at, child.group, Op::Write, &writes, fua);
            return;
        }
        let finished = request.left == 0;
        if group.left == 0 {
            let group = self.groups.remove(child.group);
            if finished {
                completed.push(self.requests.remove(group.request).completion(at));
            }
        }
    }

    /// Advances the members to `now`, which is not after their next event.
    fn advance_inner(&mut self, now: Time, completed: &mut Vec<Completion>) {
        let mut done = std::mem::take(&mut self.scratch);
        self.inner.advance(now, &mut done);
        for completion in done.drain(..) {
            self.done(&completion, completed);
        }
        self.scratch = done;
        while let Some(request) = self.held.pop_front() {
            if let Err(request) = self.inner.submit(now, request) {
                self.held.push_front(request);
                break;
            }
        }
    }

    fn answer(&mut self, now: Time, request: &Request, result: Result<(), IoError>) {
        let served_by = ServedBy::Unknown;
        self.answered.push_back(Completion { id: request.id, at: now, result, served_by });
    }

    fn flush(&mut self, now: Time, request: &Request) {
        let parent = self.requests.insert(Pending::new(request.id, 1));
        let writes = Vec::new();
        let submitter = request.submitter;
        let group = Group { request: parent, left: 1, writes, fua: false, submitter };
        let group = self.groups.insert(group);
        let extent = Extent { member: 0, lba: Lba::ZERO, sectors: Sectors::ZERO };
        let child = self.children.insert(Child { group, op: Op::Flush, extent });
        // The inner device passes a flush on to all members.
        self.submit_inner(now, Request { id: RequestId(child as u64), ..*request });
    }
}

impl<D: Device> Device for Array<D> {
    fn capacity(&self) -> Sectors {
        self.layout.capacity()
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        assert!(now >= self.clock, "time ran backwards");
        assert!(self.next_event().is_none_or(|next| next >= now), "an event was passed over");
        self.clock = now;
        // Given back: the host's queue is the only one that may grow.
        if !self.held.is_empty() {
            return Err(request);
        }
        let last = Lba::ZERO + self.capacity();
        let beyond = request.lba > last || last - request.lba < request.sectors;
        // md passes discards on to members with parity only with `devices_handle_discard_safely`.
        let discarded = request.op == Op::Trim && self.layout.level.has_parity();
        if request.op == Op::Flush {
            self.flush(now, &request);
        } else if beyond {
            self.answer(now, &request, Err(IoError::OutOfRange));
        } else if discarded || request.sectors == Sectors::ZERO {
            self.answer(now, &request, Ok(()));
        } else {
            let groups = self.groups_of(&request);
            // A group ends with its writes; the reads before them are not parts of the answer.
            let last_accesses = groups
                .iter()
                .map(|group| if group.writes.is_empty() { &group.reads } else { &group.writes });
            let left = last_accesses.map(Vec::len).sum();
            let parent = self.requests.insert(Pending::new(request.id, left));
            for plan::Group { reads, writes } in groups {
                let first = if reads.is_empty() { &writes } else { &reads };
                let left = first.len();
                let later = if reads.is_empty() { Vec::new() } else { writes.clone() };
                let Request { fua, submitter, .. } = request;
                let group = Group { request: parent, left, writes: later, fua, submitter };
                let group = self.groups.insert(group);
                let op = if reads.is_empty() { request.op } else { Op::Read };
                self.send(now, group, op, first, fua && reads.is_empty());
            }
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        let answered = self.answered.front().map(|answer| answer.at);
        self.inner.next_event().into_iter().chain(answered).min()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        assert!(now >= self.clock, "time ran backwards");
        self.clock = now;
        while self.answered.front().is_some_and(|answer| answer.at <= now) {
            completed.extend(self.answered.pop_front());
        }
        // Event by event: each completion may start the next accesses at its time.
        while let Some(next) = self.inner.next_event().filter(|next| *next <= now) {
            self.advance_inner(next, completed);
        }
        self.advance_inner(now, completed);
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        let from = records.len();
        self.inner.destaged(records);
        destage::translate(&self.layout, self.failed, self.member, records, from);
    }
}
