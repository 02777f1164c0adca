//! The controller of UML's time-travel protocol: it owns the virtual time and grants turns.
//!
//! There is one guest, and everything else is the machine that it sees. Either the guest runs, up
//! to the next event of the machine, or it waits and the machine moves to its next event. Times
//! pass through a shared page, so that a message is needed only where the turn changes.

mod message;
mod page;

use drivelab_core::Time;
use thiserror::Error;

pub use message::{MESSAGE_BYTES, Message, Op};
pub use page::{CONTROLLER, GUEST, PAGE_BYTES, Page};

use crate::memory::Memory;

/// The side that runs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The guest runs: wait for its messages.
    Guest,
    /// The guest gets the turn with this message.
    Run(Message),
    /// The machine moves to this time.
    Machine(Time),
}

/// A violation of the protocol by the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CalendarError {
    /// Neither the guest nor the machine has anything to do.
    #[error("the guest waits for something that cannot happen")]
    Deadlock,
    /// An operation that only a controller sends.
    #[error("the guest sent {0:?}, which only a controller sends")]
    Unexpected(Op),
    /// An operation that Linux 6.12 does not have.
    #[error("the guest sent a message of an unknown kind")]
    Unknown,
    /// The guest does not use the shared page.
    #[error("the guest keeps its own time: its kernel is older than 6.12")]
    NoSharedTime,
    /// The guest ran past an event of the machine.
    #[error("the guest moved the time past an event of the machine")]
    Overrun,
    /// The guest set an earlier time than one that had been seen.
    #[error("the guest moved the time back")]
    Backwards,
    /// The guest began to wait while it waited.
    #[error("the guest began to wait while it was waiting for its turn")]
    WaitsTwice,
}

/// The state of the protocol; the times are in the [`Page`].
#[derive(Debug, Default)]
pub struct Calendar {
    /// True while the guest waits for its turn.
    waits: bool,
    sequence: u32,
    /// The latest time that was seen in the page.
    latest: Time,
    /// The time of day at virtual time 0, in nanoseconds since 1970.
    time_of_day: u64,
}

impl Calendar {
    /// A calendar whose virtual time starts at `time_of_day`, in nanoseconds since 1970.
    pub fn new(time_of_day: u64) -> Self {
        Self { time_of_day, ..Self::default() }
    }

    /// Handles a message of the guest; returns the answer, if one is due.
    ///
    /// The answer to [`Op::Start`] carries the page's file descriptor twice (the second is that of
    /// a log, which no kernel writes).
    pub fn take<M: Memory>(
        &mut self,
        page: &mut Page<M>,
        message: Message,
    ) -> Result<Option<Message>, CalendarError> {
        let time = match message.op {
            Op::Ack => return Ok(None),
            Op::Start => {
                // Nothing has happened yet, so nothing limits the first turn.
                page.set_running(GUEST);
                page.set_free_until(None);
                u64::from(GUEST)
            }
            Op::Wait if self.waits => return Err(CalendarError::WaitsTwice),
            Op::Wait if page.guest_shares_time() => {
                self.waits = true;
                return Ok(None);
            }
            Op::Wait => return Err(CalendarError::NoSharedTime),
            Op::Request => {
                // A guest that asks for a turn must not run past it, even if its limit was later.
                page.set_request(Time::from_ns(message.time));
                page.limit(Time::from_ns(message.time));
                0
            }
            Op::Get => page.now().ns(),
            Op::GetTimeOfDay => self.time_of_day.saturating_add(page.now().ns()),
            Op::Update => {
                page.set_now(Time::from_ns(message.time));
                self.checked_now(page)?;
                0
            }
            Op::Broadcast => 0,
            Op::Run | Op::FreeUntil => return Err(CalendarError::Unexpected(message.op)),
        };
        Ok(Some(Message { op: Op::Ack, sequence: message.sequence, time }))
    }

    /// Returns the time in the page, which the guest writes and may only move forward.
    pub fn checked_now<M: Memory>(&mut self, page: &Page<M>) -> Result<Time, CalendarError> {
        let now = page.now();
        if now < self.latest {
            return Err(CalendarError::Backwards);
        }
        self.latest = now;
        Ok(now)
    }

    /// Limits the guest to a new event of the machine, which arose while the guest ran.
    pub fn planned<M: Memory>(
        &mut self,
        page: &mut Page<M>,
        event: Option<Time>,
    ) -> Result<(), CalendarError> {
        let Some(event) = event else { return Ok(()) };
        // The new event lies in the past only if the guest ignored its limit.
        if event < self.checked_now(page)? {
            return Err(CalendarError::Overrun);
        }
        page.limit(event);
        Ok(())
    }

    /// Extends the guest's limit to the machine's next event, after the machine has handled the
    /// notices in the page; the guest had limited itself to the present.
    pub fn noticed<M: Memory>(
        &mut self,
        page: &mut Page<M>,
        event: Option<Time>,
    ) -> Result<(), CalendarError> {
        let now = self.checked_now(page)?;
        if event.is_some_and(|event| event < now) {
            return Err(CalendarError::Overrun);
        }
        page.set_free_until(event);
        Ok(())
    }

    /// Interrupts a waiting guest for one of its queues: its turn is now.
    pub fn call<M: Memory>(&mut self, page: &mut Page<M>, queue: u16) {
        page.add_call(queue);
        // The page holds one request: the present one replaces a later one, which the guest
        // repeats.
        debug_assert!(self.waits, "a running guest finds its interrupts by itself");
        page.set_request(page.now());
    }

    /// Returns the time of the next turn, of the guest or of the machine; `None` while the guest
    /// runs.
    pub fn due<M: Memory>(&self, page: &Page<M>, event: Option<Time>) -> Option<Time> {
        if !self.waits {
            return None;
        }
        event.into_iter().chain(page.request()).min()
    }

    /// Decides the next turn; the machine has its next event at `event`.
    ///
    /// At one instant the machine comes first: an interrupt that is due then is delivered before
    /// the guest runs.
    pub fn turn<M: Memory>(
        &mut self,
        page: &mut Page<M>,
        event: Option<Time>,
    ) -> Result<Turn, CalendarError> {
        if !self.waits {
            return Ok(Turn::Guest);
        }
        // The guest waits, so neither value can change while the decision is made.
        let now = self.checked_now(page)?;
        // The requested time may have passed before the guest began to wait.
        let request = page.request().map(|request| request.max(now));
        page.set_running(CONTROLLER);
        match (event, request) {
            (None, None) => Err(CalendarError::Deadlock),
            (Some(event), request) if request.is_none_or(|request| event <= request) => {
                if event < now {
                    return Err(CalendarError::Overrun);
                }
                page.set_now(event);
                Ok(Turn::Machine(event))
            }
            (_, Some(at)) => {
                page.set_now(at);
                page.set_free_until(event);
                page.set_running(GUEST);
                self.waits = false;
                self.sequence = self.sequence.wrapping_add(1);
                Ok(Turn::Run(Message { op: Op::Run, sequence: self.sequence, time: at.ns() }))
            }
            (Some(_), None) => unreachable!("the machine's turn was decided above"),
        }
    }
}

#[cfg(test)]
mod tests;
