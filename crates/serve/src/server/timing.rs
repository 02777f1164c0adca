//! The clock of the loop: when it is, when to wake up, and how late that was.

use std::io;
use std::os::fd::OwnedFd;

use drivelab_core::{Histogram, Ratio, Span, Time};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use serde::Serialize;

/// The host's monotonic clock, counted from when the server began, and an alarm on it.
#[derive(Debug)]
pub(super) struct Clock {
    began: u64,
    alarm: OwnedFd,
    /// What the alarm is set to.
    set: Option<Time>,
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).expect("the clock counts from boot");
    let ns = u64::try_from(now.tv_nsec).expect("below a second");
    seconds * 1_000_000_000 + ns
}

impl Clock {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let alarm = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { began: monotonic_ns(), alarm, set: None })
    }

    pub(super) fn now(&self) -> Time {
        Time::from_ns(monotonic_ns() - self.began)
    }

    /// What becomes readable when the alarm rings.
    pub(super) fn alarm(&self) -> &OwnedFd {
        &self.alarm
    }

    /// Sets the alarm to a moment, not to a distance: what the loop does until then costs nothing.
    pub(super) fn set_alarm(&mut self, at: Option<Time>) -> io::Result<()> {
        if self.set == at {
            return Ok(());
        }
        self.set = at;
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A moment of zero would stop the clock instead of ringing it.
        let ns = at.map_or(0, |at| (self.began.saturating_add(at.ns())).max(1));
        let seconds = |ns: u64| i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX);
        let part = i64::try_from(ns % 1_000_000_000).expect("below a second");
        let value = Timespec { tv_sec: seconds(ns), tv_nsec: part };
        let times = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(&self.alarm, TimerfdTimerFlags::ABSTIME, &times)?;
        Ok(())
    }

    /// The alarm has rung.
    pub(super) fn acknowledge(&mut self) {
        self.set = None;
        // Empty if it was set anew in between: then there is nothing to acknowledge.
        let _ = rustix::io::read(&self.alarm, &mut [0; 8]);
    }
}

/// How late the answers were, and whether the run counts.
#[derive(Debug)]
pub(super) struct Lateness {
    histogram: Histogram,
    /// What the 99th percentile must not exceed.
    bound: Span,
}

/// Quantiles of lateness in nanoseconds; `null` before the first answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LatenessNs {
    /// Median.
    pub p50: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// The latest.
    pub max: Option<u64>,
}

impl Lateness {
    pub(super) fn new(bound: Span) -> Self {
        Self { histogram: Histogram::new(), bound }
    }

    pub(super) fn record(&mut self, late: Span) {
        self.histogram.record(late);
    }

    pub(super) fn bound(&self) -> Span {
        self.bound
    }

    pub(super) fn quantiles(&self) -> LatenessNs {
        let quantile = |percent| self.histogram.quantile(Ratio::percent(percent)).map(Span::ns);
        let max = self.histogram.max().map(Span::ns);
        LatenessNs { p50: quantile(50), p99: quantile(99), max }
    }

    /// A run with lateness above the bound is void: it measured this host, not the drive.
    pub(super) fn is_valid(&self) -> bool {
        self.quantiles().p99.is_some_and(|p99| p99 <= self.bound.ns())
    }
}
