//! Follows a drive step by step.

use std::collections::VecDeque;

use drivelab_core::dispatch::Dispatch;
use drivelab_core::{Completion, Op, Request, ServedBy, Time};
use drivelab_model::stack::Tag;
use drivelab_model::{Access, Step};

use super::ledger::{Ledger, Taken, Turn};
use super::medium::Medium;
use super::plan::Plan;
use super::rule::{Rule, Tally, Violation};

/// How many times older than a command cached data may become before it comes first.
const CACHED_PATIENCE: u64 = 5;

/// A command on the wire.
#[derive(Debug, Clone)]
struct Command {
    request: Request,
    sent: Time,
    turn: Turn,
    /// For writes: their number in the ledger.
    number: u32,
    cached: bool,
    /// It has to go to the medium.
    waits_for_medium: bool,
    begun: bool,
    ended: Option<Time>,
    /// An access was preferred to it that should not have been, by this rule.
    passed_over: Option<Rule>,
    /// Whether the write cache, or the read buffer, may hold it.
    may_hit: (bool, bool),
    /// For flushes: what was volatile when it was sent.
    volatile: Vec<(u32, Turn)>,
}

/// All that is known of a drive from outside.
#[derive(Debug)]
pub(crate) struct Watcher<'a> {
    plan: &'a Plan,
    tally: &'a mut Tally,
    /// When each request was submitted, and whether it is done.
    submitted: Vec<(Time, bool)>,
    on_wire: Vec<Option<Command>>,
    /// Done commands whose completion is still to come.
    finished: VecDeque<(Command, Time)>,
    ledger: Ledger,
    medium: Medium,
    taken: Option<Taken>,
    last: Time,
    last_sent: Option<u64>,
    turn: Turn,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(plan: &'a Plan, tally: &'a mut Tally) -> Self {
        Self {
            plan,
            tally,
            submitted: Vec::new(),
            on_wire: vec![None; 256],
            finished: VecDeque::new(),
            ledger: Ledger::new(plan.capacity),
            medium: Medium::new(),
            taken: None,
            last: Time::ZERO,
            last_sent: None,
            turn: 0,
        }
    }

    pub(crate) fn submitted(&mut self, at: Time) {
        self.submitted.push((at, false));
        self.tally.requests += 1;
    }

    pub(crate) fn saw(&mut self, step: Step) -> Result<(), Violation> {
        self.turn += 1;
        match step {
            Step::Sent { at, tag, request } => {
                self.runs_on(at)?;
                self.sent(at, tag, request)
            }
            Step::Cached { at, tag } => {
                self.runs_on(at)?;
                self.cached(at, tag)
            }
            Step::Begun { at, access } => {
                self.runs_on(at)?;
                self.begun(at, access)
            }
            Step::Ended { at } => {
                self.runs_on(at)?;
                self.ended(at)
            }
            Step::ReadsAhead { from, to } => {
                self.medium.reads_ahead(self.plan, (from, to), self.tally)?;
                self.ledger.buffered(from.get(), (to - from).get());
                Ok(())
            }
            Step::Done { at, tag } => {
                self.runs_on(at)?;
                self.done(at, tag)
            }
        }
    }

    fn runs_on(&mut self, at: Time) -> Result<(), Violation> {
        let before = std::mem::replace(&mut self.last, at);
        self.tally.hold(Rule::Clock, before <= at, || format!("{at} comes after {before}"))
    }

    fn sent(&mut self, at: Time, tag: Tag, request: Request) -> Result<(), Violation> {
        let id = request.id.0;
        let asked = self.submitted.get(index(id)).copied();
        let known = asked.is_some_and(|(since, done)| since <= at && !done);
        self.tally.hold(Rule::Clock, known, || format!("{id} is sent at {at}, not asked for"))?;
        self.joins_the_wire(tag, &request)?;
        if self.plan.in_order && request.op.transfers() {
            let in_order = self.last_sent.replace(id).is_none_or(|before| before < id);
            self.tally.hold(Rule::Order, in_order, || format!("{id} left the host out of turn"))?;
        }
        let (mut number, mut volatile, mut may_hit) = (0, Vec::new(), (false, false));
        match request.op {
            Op::Read => may_hit = self.ledger.may_hit(&request, self.taken.as_ref()),
            Op::Write => {
                self.last_chance_to_hit(&request);
                number = self.ledger.write_sent(self.turn, &request);
            }
            Op::Flush => volatile = self.ledger.volatile(),
            Op::Trim => self.ledger.trim_sent(self.turn, &request),
        }
        let fits = self.plan.write_cache.is_some_and(|size| request.sectors.get() <= size);
        let by_medium = request.op == Op::Read || request.fua || !fits;
        self.on_wire[tag.index()] = Some(Command {
            request,
            sent: at,
            turn: self.turn,
            number,
            cached: false,
            waits_for_medium: request.op.transfers() && by_medium,
            begun: false,
            ended: None,
            passed_over: None,
            may_hit,
            volatile,
        });
        Ok(())
    }

    /// Reads on the wire may have been answered out of the buffer up to now.
    fn last_chance_to_hit(&mut self, write: &Request) {
        for command in self.on_wire.iter_mut().flatten() {
            let read = &command.request;
            if read.op == Op::Read && read.lba < write.end() && write.lba < read.end() {
                command.may_hit.1 |= self.ledger.may_hit(read, None).1;
            }
        }
    }

    /// Tags, shares of classes, and who may be on the wire together.
    fn joins_the_wire(&mut self, tag: Tag, request: &Request) -> Result<(), Violation> {
        let plan = self.plan;
        let free = self.on_wire[tag.index()].is_none();
        self.tally.hold(Rule::Tags, free, || format!("tag {tag} is given out twice"))?;
        let on_wire = self.on_wire.iter().flatten();
        let reading = |request: &Request| request.op == Op::Read;
        let (mut all, mut of_class, mut queued) = (1, 1, 0);
        for other in on_wire {
            all += 1;
            of_class += usize::from(reading(&other.request) == reading(request));
            queued += usize::from(other.request.op.transfers());
        }
        self.tally.hold(Rule::Tags, all <= plan.tags, || {
            format!("{all} tags are in use, there are {}", plan.tags)
        })?;
        if plan.dispatch == Dispatch::Split {
            let share = plan.tags * 2 / 3 + 1;
            self.tally.hold(Rule::Tags, of_class <= share, || {
                format!("one class holds {of_class} of {} tags, {share} are its share", plan.tags)
            })?;
        }
        if plan.sata {
            let others = all - 1;
            let holds = if request.op.transfers() { queued == others } else { others == 0 };
            self.tally.hold(Rule::Alone, holds, || {
                format!("{:?} joins {others} commands, {queued} of them queued", request.op)
            })?;
        }
        Ok(())
    }

    fn cached(&mut self, at: Time, tag: Tag) -> Result<(), Violation> {
        let Some(command) = &mut self.on_wire[tag.index()] else {
            return self.tally.hold(Rule::Once, false, || format!("tag {tag} is not in use"));
        };
        let may = command.request.op == Op::Write && !command.request.fua && !command.cached;
        self.tally.hold(Rule::Cache, may && self.plan.write_cache.is_some(), || {
            format!("{:?} is taken into the cache", command.request)
        })?;
        command.cached = true;
        let held = self.ledger.write_cached(at, command.number, &command.request);
        let size = self.plan.write_cache.unwrap_or(0);
        self.tally
            .hold(Rule::Cache, held <= size, || format!("{held} sectors in a cache of {size}"))
    }

    fn begun(&mut self, at: Time, access: Access) -> Result<(), Violation> {
        self.medium.begun(self.plan, at, access, self.tally)?;
        let (lba, sectors) = (access.lba.get(), access.sectors.get());
        let turn = if let Some(tag) = access.tag {
            let Some(command) = &mut self.on_wire[tag.index()] else {
                return self.tally.hold(Rule::Once, false, || format!("tag {tag} is not in use"));
            };
            let request = command.request;
            let asked = request.lba == access.lba
                && request.sectors == access.sectors
                && (request.op == Op::Write) == access.write
                && request.op.transfers();
            self.tally.hold(Rule::Range, asked && !command.begun, || {
                format!("{access:?} is not what was asked: {request:?}")
            })?;
            let passed = command.passed_over;
            self.tally.hold(passed.unwrap_or(Rule::Age), passed.is_none(), || {
                format!("{request:?} was passed over")
            })?;
            command.begun = true;
            if access.write {
                self.taken = Some(self.ledger.take_direct(command.number, lba, sectors));
            }
            Some((command.turn, command.request.op))
        } else {
            self.taken = Some(self.ledger.take_cached(lba, sectors, self.tally)?);
            None
        };
        self.passes_over(at, turn);
        Ok(())
    }

    /// Marks what should have come before the access just begun.
    fn passes_over(&mut self, at: Time, begun: Option<(Turn, Op)>) {
        let limit = self.plan.age_limit_ns;
        let since = self.taken.as_ref().map_or(Time::ZERO, |taken| taken.since);
        for command in self.on_wire.iter_mut().flatten() {
            if !command.waits_for_medium || command.begun {
                continue;
            }
            let older = begun.is_none_or(|(turn, _)| command.turn < turn);
            let over_age = at.since(command.sent).ns() > limit;
            let cached_is_over_age =
                begun.is_none() && at.ns() - since.ns() > limit * CACHED_PATIENCE;
            if !self.plan.fifo && older && over_age && !cached_is_over_age {
                command.passed_over = Some(Rule::Age);
            }
            let both_read =
                command.request.op == Op::Read && begun.is_some_and(|(_, op)| op == Op::Read);
            if self.plan.fifo && older && both_read {
                command.passed_over = Some(Rule::Order);
            }
        }
    }

    fn ended(&mut self, at: Time) -> Result<(), Violation> {
        let access = self.medium.ended(self.plan, at, self.tally)?;
        if let Some(taken) = self.taken.take() {
            self.ledger.written(&taken, access.tag.is_none());
        } else {
            self.ledger.buffered(access.lba.get(), access.sectors.get());
        }
        if let Some(tag) = access.tag {
            let Some(command) = &mut self.on_wire[tag.index()] else {
                return self.tally.hold(Rule::Clock, false, || {
                    format!("tag {tag} was answered before its access ended")
                });
            };
            command.ended = Some(at);
        }
        Ok(())
    }

    fn done(&mut self, at: Time, tag: Tag) -> Result<(), Violation> {
        let command = self.on_wire[tag.index()].take();
        self.tally.hold(Rule::Once, command.is_some(), || format!("tag {tag} was not in use"))?;
        let mut command = command.expect("it is there");
        let request = command.request;
        // The data crosses the wire while the command is on it.
        let bytes = u128::from(request.sectors.get()) * 512;
        let wire = bytes * 1_000_000_000 / u128::from(self.plan.wire_bytes_per_s);
        let took = at.since(command.sent).ns();
        let holds = !request.op.transfers() || u128::from(took) >= wire;
        self.tally.hold(Rule::Clock, holds, || {
            format!("{request:?} took {took} ns, its data alone needs {wire}")
        })?;
        match request.op {
            Op::Write => self.ledger.write_done(self.turn, command.number, &request),
            Op::Flush => {
                self.tally.flushes += 1;
                self.ledger.flushed(command.turn, &command.volatile, self.tally)?;
                let later = self.ledger.volatile().iter().any(|(_, sent)| *sent > command.turn);
                self.tally.flushes_before_later_writes += u64::from(later);
            }
            Op::Read => command.may_hit.1 |= self.ledger.may_hit(&request, None).1,
            Op::Trim => {}
        }
        self.finished.push_back((command, at));
        Ok(())
    }

    pub(crate) fn completed(&mut self, done: Completion) -> Result<(), Violation> {
        let id = done.id.0;
        let (since, before) = self.submitted[index(id)];
        self.tally.hold(Rule::Once, !before, || format!("{id} completes twice"))?;
        self.submitted[index(id)].1 = true;
        self.tally.hold(Rule::Clock, since <= done.at, || {
            format!("{id} is done at {}, asked for at {since}", done.at)
        })?;
        let Some((command, at)) = self.finished.pop_front() else {
            return self.tally.hold(Rule::Once, false, || format!("{id} was never a command"));
        };
        let same = command.request.id == done.id && at == done.at && done.result.is_ok();
        self.tally.hold(Rule::Once, same, || format!("{done:?} for {:?}", command.request))?;
        self.served_by(&command, done)
    }

    /// Whether what is said to have answered can have done so.
    fn served_by(&mut self, command: &Command, done: Completion) -> Result<(), Violation> {
        let request = &command.request;
        let said = || format!("{request:?} served by {:?}", done.served_by);
        match (request.op, done.served_by) {
            (Op::Flush | Op::Trim, _) => Ok(()),
            (Op::Read | Op::Write, ServedBy::Medium) => {
                let moved = command.ended.is_some_and(|ended| ended <= done.at);
                self.tally.hold(Rule::Clock, moved, || said() + " before the medium was done")
            }
            (Op::Read, ServedBy::DriveWriteCache) => {
                self.tally.hold(Rule::Cache, command.may_hit.0 && !command.begun, said)
            }
            (Op::Read, ServedBy::DriveReadCache) => {
                self.tally.hold(Rule::Cache, command.may_hit.1 && !command.begun, said)
            }
            (Op::Write, _) => {
                let holds = command.cached && !request.fua;
                self.tally.hold(Rule::Cache, holds, said)
            }
            (Op::Read, ServedBy::Unknown) => self.tally.hold(Rule::Cache, false, said),
        }
    }

    /// The drive has nothing left to do.
    pub(crate) fn at_rest(mut self) -> Result<(), Violation> {
        for (id, (_, done)) in self.submitted.iter().enumerate() {
            self.tally.hold(Rule::Once, *done, || format!("{id} never completes"))?;
        }
        let left = self.ledger.volatile();
        self.tally.hold(Rule::Durable, left.is_empty(), || {
            format!("at rest, but sector {} is not on the medium", left[0].0)
        })
    }
}

fn index(id: u64) -> usize {
    usize::try_from(id).expect("a short history")
}
