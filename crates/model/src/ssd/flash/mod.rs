//! Timing of dies and channels.
//!
//! A read occupies its die from the command until its data has left the register over the channel;
//! a program first transfers its data. A die executes one command at a time; the blocks of its
//! planes are read separately, but programmed and erased together.

mod channel;
mod command;
mod die;
mod timing;

pub use command::{Command, Kind};
pub use timing::{COMMIT_PAGE, FlashRules, PageTimes, Retry, SLC_PAGE, Suspend};

use drivelab_core::{Rng, Span, Time};

use super::ftl::Die;
use crate::event::EventQueue;
use channel::Channel;
use die::{DieState, Doing, Next};

#[derive(Debug, Clone, Copy)]
enum Event {
    /// The cells of a die have finished or stopped; stale if the generation has changed.
    Array { die: Die, generation: u32 },
    /// A channel has finished its transfer.
    Channel { channel: usize },
}

/// Work of cells and channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Busy {
    /// Busy time of all channels.
    pub channels: Span,
    /// Finished commands.
    pub commands: u64,
    /// Interruptions of programs and erases.
    pub interruptions: u64,
}

/// The flash of a drive: executes commands on its dies and returns their tokens.
#[derive(Debug, Clone)]
pub struct Flash {
    rules: FlashRules,
    dies: Vec<DieState>,
    channels: Vec<Channel>,
    events: EventQueue<Event>,
    rng: Rng,
    busy: Busy,
}

/// Initial capacity of a die's queue: more than most loads need.
const USUAL_QUEUE: usize = 64;

impl Flash {
    /// Idle flash.
    ///
    /// # Panics
    /// There is no die, no channel or no kind of page.
    pub fn new(rules: FlashRules) -> Self {
        assert!(!rules.pages.is_empty(), "no kind of page");
        assert!(rules.channels > 0 && rules.dies > 0, "no channel or no die");
        let (dies, channels) = (rules.dies as usize, rules.channels as usize);
        Self {
            dies: (0..dies).map(|_| DieState::new(USUAL_QUEUE)).collect(),
            channels: (0..channels).map(|_| Channel::new(dies.div_ceil(channels))).collect(),
            events: EventQueue::with_capacity(dies * 4),
            rng: Rng::new(rules.seed),
            rules,
            busy: Busy::default(),
        }
    }

    /// Its times and counts.
    pub fn rules(&self) -> &FlashRules {
        &self.rules
    }

    /// Its work so far.
    pub fn busy(&self) -> Busy {
        self.busy
    }

    /// Returns true if pages that a commit closes have a separate time.
    pub(super) fn commits_in_own_time(&self) -> bool {
        self.rules.commit.is_some()
    }

    /// Commands that `die` has not finished.
    pub fn held(&self, die: Die) -> usize {
        self.dies[die.0 as usize].held()
    }

    /// The command that `die` executes; `None` while it is idle, or stops one for a read.
    pub fn command(&self, die: Die) -> Option<Command> {
        match self.dies[die.0 as usize].doing {
            Doing::Nothing | Doing::Stopping => None,
            Doing::Array { command, .. } | Doing::Channel { command } => Some(command),
        }
    }

    /// Submits a command for `die`.
    #[inline]
    pub fn submit(&mut self, now: Time, die: Die, command: Command) {
        let state = &mut self.dies[die.0 as usize];
        state.queue(command);
        if matches!(state.doing, Doing::Nothing) {
            self.begin(now, die);
        // Only a read is urgent enough to interrupt; others wait in the queue of the die.
        } else if command.kind == Kind::Read {
            self.interrupt(now, die);
        }
    }

    /// The time of the next event.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        self.events.next_time()
    }

    /// The time of the next event; `Time::MAX` if none is pending.
    #[inline]
    pub(super) fn next_or_never(&self) -> Time {
        self.events.next_or_never()
    }

    /// Processes all events due by `now`; appends the tokens of finished commands with their times,
    /// in order.
    pub fn advance(&mut self, now: Time, finished: &mut Vec<(Time, u32)>) {
        while let Some((at, event)) = self.events.pop_due(now) {
            match event {
                Event::Array { die, generation } => {
                    if self.dies[die.0 as usize].generation == generation {
                        self.array_done(at, die, finished);
                    }
                }
                Event::Channel { channel } => self.channel_done(at, channel, finished),
            }
        }
    }

    fn interrupt(&mut self, now: Time, die: Die) {
        let state = &mut self.dies[die.0 as usize];
        if let Some(stopped) = state.interrupt(now, &self.rules) {
            let generation = state.generation;
            self.busy.interruptions += 1;
            self.events.push(stopped, Event::Array { die, generation });
        }
    }

    #[inline]
    fn begin(&mut self, now: Time, die: Die) {
        let state = &mut self.dies[die.0 as usize];
        match state.begin(now, &self.rules, &mut self.rng) {
            Next::Nothing => {}
            Next::Array(until) => {
                let generation = state.generation;
                self.events.push(until, Event::Array { die, generation });
                // A read may have arrived during the transfer of a program's data.
                self.interrupt_for_waiting(now, die);
            }
            Next::Channel => self.request_channel(now, die),
        }
    }

    fn interrupt_for_waiting(&mut self, now: Time, die: Die) {
        if self.dies[die.0 as usize].has_waiting_reads() {
            self.interrupt(now, die);
        }
    }

    fn array_done(&mut self, now: Time, die: Die, finished: &mut Vec<(Time, u32)>) {
        let state = &mut self.dies[die.0 as usize];
        match state.doing {
            // A read has its data in the register; it keeps the die until the channel has taken it.
            Doing::Array { command, .. } if command.reads() => {
                state.doing = Doing::Channel { command };
                self.request_channel(now, die);
            }
            Doing::Array { command, .. } => {
                self.finish(now, command, finished);
                self.begin(now, die);
            }
            Doing::Stopping => self.begin(now, die),
            Doing::Nothing | Doing::Channel { .. } => unreachable!("the cells were at rest"),
        }
    }

    fn channel_of(&self, die: Die) -> usize {
        // Dies are assigned to channels in turn.
        (die.0 % self.rules.channels) as usize
    }

    #[inline]
    fn request_channel(&mut self, now: Time, die: Die) {
        let channel = self.channel_of(die);
        if self.channels[channel].request(die) {
            self.move_data(now, die, channel);
        }
    }

    #[inline]
    fn move_data(&mut self, now: Time, die: Die, channel: usize) {
        let Doing::Channel { command } = self.dies[die.0 as usize].doing else {
            unreachable!("the die requested the channel")
        };
        let span = command.channel_time(&self.rules);
        self.busy.channels += span;
        self.events.push(now + span, Event::Channel { channel });
    }

    fn channel_done(&mut self, now: Time, channel: usize, finished: &mut Vec<(Time, u32)>) {
        let (done, next) = self.channels[channel].finish();
        if let Some(die) = next {
            // Before the next command of `done`, which may request the channel again.
            self.move_data(now, die, channel);
        }
        let state = &mut self.dies[done.0 as usize];
        let Doing::Channel { command } = state.doing else {
            unreachable!("the die had the channel")
        };
        if command.reads() {
            self.finish(now, command, finished);
            self.begin(now, done);
            return;
        }
        let span = command.array_time(&self.rules);
        // The data of a program is in the register: now the cells begin.
        if let Next::Array(until) = state.array(now, span, command) {
            let generation = state.generation;
            self.events.push(until, Event::Array { die: done, generation });
        }
        self.interrupt_for_waiting(now, done);
    }

    #[inline]
    fn finish(&mut self, now: Time, command: Command, finished: &mut Vec<(Time, u32)>) {
        self.busy.commands += 1;
        finished.push((now, command.token));
    }
}

#[cfg(test)]
mod tests;
