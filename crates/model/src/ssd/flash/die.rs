//! A die: one operation of its cells at a time, and a queue of commands.

use std::collections::VecDeque;

use drivelab_core::{Rng, Span, Time};

use super::command::{Command, Kind};
use super::timing::FlashRules;

/// The activity of a die.
#[derive(Debug, Clone, Copy)]
pub(super) enum Doing {
    Nothing,
    /// The cells work until `until`.
    Array {
        command: Command,
        until: Time,
    },
    /// The register waits for the channel, or is transferred over it.
    Channel {
        command: Command,
    },
    /// A program or an erase stops for a read.
    Stopping,
}

/// A program or an erase interrupted by reads.
#[derive(Debug, Clone, Copy)]
struct Suspended {
    command: Command,
    left: Span,
}

#[derive(Debug, Clone)]
pub(super) struct DieState {
    pub(super) doing: Doing,
    /// Incremented whenever the end of the current operation moves; earlier events are stale.
    pub(super) generation: u32,
    reads: VecDeque<Command>,
    others: VecDeque<Command>,
    suspended: Option<Suspended>,
    /// Interruptions of the current operation.
    interruptions: u32,
    /// Reads that overtook the suspended operation, or else the first of `others`.
    overtaken: u32,
    /// The page in the register, which another read of it finds there.
    register: u32,
}

/// The next activity of a die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    /// The cells work until this time.
    Array(Time),
    /// The die needs the channel.
    Channel,
}

impl DieState {
    pub(super) fn new(queue: usize) -> Self {
        Self {
            doing: Doing::Nothing,
            generation: 0,
            reads: VecDeque::with_capacity(queue),
            others: VecDeque::with_capacity(queue),
            suspended: None,
            interruptions: 0,
            overtaken: 0,
            register: Command::NO_PAGE,
        }
    }

    #[inline]
    pub(super) fn queue(&mut self, command: Command) {
        match command.kind {
            Kind::Read => self.reads.push_back(command),
            Kind::Copy | Kind::Program | Kind::Erase | Kind::Release => {
                self.others.push_back(command);
            }
        }
    }

    /// Waiting and begun commands.
    pub(super) fn held(&self) -> usize {
        let doing = usize::from(!matches!(self.doing, Doing::Nothing | Doing::Stopping));
        self.reads.len() + self.others.len() + doing + usize::from(self.suspended.is_some())
    }

    pub(super) fn has_waiting_reads(&self) -> bool {
        !self.reads.is_empty()
    }

    /// Interrupts a program or an erase for a waiting read; returns the time from which the die
    /// can read.
    pub(super) fn interrupt(&mut self, now: Time, rules: &FlashRules) -> Option<Time> {
        let suspend = rules.suspend?;
        let Doing::Array { command, until } = self.doing else { return None };
        let left = until.since(now);
        // An operation that ends before it could stop runs to its end.
        if command.reads() || self.interruptions >= suspend.most || left <= suspend.stop {
            return None;
        }
        self.interruptions += 1;
        self.suspended = Some(Suspended { command, left });
        self.doing = Doing::Stopping;
        // Invalidates the scheduled end of the operation.
        self.generation += 1;
        Some(now + suspend.stop)
    }

    /// Begins the next activity of an idle die.
    pub(super) fn begin(&mut self, now: Time, rules: &FlashRules, rng: &mut Rng) -> Next {
        let alone = self.suspended.is_none() && self.others.is_empty();
        // The limit keeps a stream of reads from starving programs and erases.
        let may_overtake = alone || self.overtaken < rules.overtaking_reads;
        if may_overtake && let Some(read) = self.reads.pop_front() {
            self.overtaken += u32::from(!alone);
            let loaded = read.looks && read.register == self.register;
            if loaded {
                return self.array(now, Span::ZERO, read);
            }
            self.register = read.register;
            return self.array(now, read.array_time(rules) + rules.repeated(rng), read);
        }
        // Waiting reads go first only as often as the rules allow, counted from the last other
        // command.
        self.overtaken = 0;
        if self.suspended.is_some() || !self.others.is_empty() {
            // A program, an erase or a copy uses the register for other data.
            self.register = Command::NO_PAGE;
        }
        if let Some(Suspended { command, left }) = self.suspended.take() {
            let resume = rules.suspend.map_or(Span::ZERO, |suspend| suspend.resume);
            return self.array(now, resume + left, command);
        }
        let next = self.others.pop_front();
        let Some(command) = next else {
            self.doing = Doing::Nothing;
            return Next::Nothing;
        };
        self.interruptions = 0;
        // The data of a program crosses the channel first; all others start in the cells.
        if command.kind == Kind::Program {
            self.doing = Doing::Channel { command };
            return Next::Channel;
        }
        self.array(now, command.array_time(rules), command)
    }

    /// Makes the cells work on `command` for `span`.
    #[inline]
    pub(super) fn array(&mut self, now: Time, span: Span, command: Command) -> Next {
        let until = now + span;
        self.doing = Doing::Array { command, until };
        Next::Array(until)
    }
}
