//! The clock of the loop, and a timer that expires at a given time.

use std::io;
use std::os::fd::OwnedFd;

use drivelab_core::Time;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

/// The host's monotonic clock, counted from when the server began, and a timer on it.
#[derive(Debug)]
pub(in crate::server) struct Clock {
    began: u64,
    alarm: OwnedFd,
    set: Option<Time>,
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).expect("the clock counts from boot");
    let ns = u64::try_from(now.tv_nsec).expect("below a second");
    seconds * 1_000_000_000 + ns
}

impl Clock {
    pub(in crate::server) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let alarm = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { began: monotonic_ns(), alarm, set: None })
    }

    pub(in crate::server) fn now(&self) -> Time {
        let now = monotonic_ns();
        debug_assert!(now >= self.began, "CLOCK_MONOTONIC does not run backwards");
        Time::from_ns(now - self.began)
    }

    /// Becomes readable when the timer expires.
    pub(in crate::server) fn alarm(&self) -> &OwnedFd {
        &self.alarm
    }

    /// Sets the timer to an absolute time, so that a delay until the call does not add to it.
    pub(in crate::server) fn set_alarm(&mut self, at: Option<Time>) -> io::Result<()> {
        if self.set == at {
            return Ok(());
        }
        self.set = at;
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A time of zero would disarm the timer.
        let ns = at.map_or(0, |at| (self.began.saturating_add(at.ns())).max(1));
        let seconds = i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX);
        let part = i64::try_from(ns % 1_000_000_000).expect("below a second");
        let value = Timespec { tv_sec: seconds, tv_nsec: part };
        let times = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(&self.alarm, TimerfdTimerFlags::ABSTIME, &times)?;
        Ok(())
    }

    pub(in crate::server) fn acknowledge(&mut self) -> Option<Time> {
        // Empty if the timer was set again in between: then there is nothing to acknowledge.
        let _ = rustix::io::read(&self.alarm, &mut [0; 8]);
        self.set.take()
    }
}
