//! The policy of spinning: shortly before a deadline, and shortly after an answer.
//!
//! A sleeping thread wakes up late, by a time that depends on the host and its other load. So the
//! loop sets its timer early and spins until the deadline. It learns how early from how late the
//! timer expires. After an answer a client at depth 1 sends its next request at once, and the loop
//! is awake for it if clients recently did so.

use std::fmt;
use std::str::FromStr;

use drivelab_core::units::ParseUnitError;
use drivelab_core::{Span, Time};

/// The time before a deadline at which the loop stops sleeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spin {
    /// As long as this host needs, for at most a quarter of the time.
    Auto,
    /// This long, at any cost; 0 for never.
    Fixed(Span),
}

impl FromStr for Spin {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Fixed) }
    }
}

impl fmt::Display for Spin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Fixed(span) => span.fmt(f),
        }
    }
}

/// Limits of the learnt time: below the first a timer is no earlier than the call that sets it
/// takes, and above the second it would cost 5 % of a processor at 130 requests per second.
const EARLY_MIN: Span = Span::from_us(20);
const EARLY_MAX: Span = Span::from_us(400);

/// One timer in 33 may expire too late before the time is increased: a late one increases the
/// margin by 32 steps of a microsecond, any other reduces it by one.
const STEP: Span = Span::from_us(1);
const STEPS_UP: u64 = 32;

/// Time in which a client at depth 1 sends its next request: longer than a thread takes to wake up,
/// and short enough to cost little.
const FOLLOW_UP: Span = Span::from_us(200);

/// This many of the last answers must have been followed by a request within [`FOLLOW_UP`].
const FOLLOWED_MIN: u32 = 4;
const FOLLOWED_MAX: u32 = 16;

/// After one in this many answers the loop polls anyway, to detect whether clients have changed.
const TRY_EVERY: u32 = 16;

/// The share of the time that may be spent awake, and how much of it may be accumulated.
const SHARE: i64 = 4;
const SAVED_MAX_NS: i64 = 25_000_000;

#[derive(Debug)]
pub(in crate::server) struct SpinPolicy {
    spin: Spin,
    early: Span,
    /// Nanoseconds that may be spun, below zero if more was spun than allowed; and the time until
    /// which they were counted.
    saved: i64,
    counted: Time,
    spinning: bool,
    /// Time until which the loop polls for the next request after an answer.
    polls_until: Option<Time>,
    answered: Option<Time>,
    followed: u32,
    answers: u32,
}

impl SpinPolicy {
    pub(in crate::server) fn new(spin: Spin) -> Self {
        Self {
            spin,
            early: match spin {
                Spin::Auto => Span::from_us(100),
                Spin::Fixed(fixed) => fixed,
            },
            saved: SAVED_MAX_NS,
            counted: Time::ZERO,
            spinning: false,
            polls_until: None,
            answered: None,
            followed: 0,
            answers: 0,
        }
    }

    /// Returns the time before a deadline at which the loop wakes up and spins.
    pub(in crate::server) fn early(&self) -> Span {
        self.early
    }

    /// Returns the time at which the timer must expire for a deadline at `next`.
    pub(in crate::server) fn alarm(&self, next: Time) -> Time {
        // If there is no time left to spin, an early timer would only expire again and again.
        if self.may_spin() { next - self.early } else { next }
    }

    /// Returns whether to stay awake at `now`, with the next deadline at `next`.
    pub(in crate::server) fn is_awake(&mut self, now: Time, next: Option<Time>) -> bool {
        self.count(now);
        let near = next.is_some_and(|next| next <= now + self.early);
        let polls = self.polls_until.is_some_and(|until| now < until);
        let due = next.is_some_and(|next| next <= now);
        self.spinning = (near || polls) && (due || self.may_spin());
        self.spinning
    }

    fn may_spin(&self) -> bool {
        self.spin != Spin::Auto || self.saved > 0
    }

    fn count(&mut self, now: Time) {
        let passed = now.since(self.counted);
        self.counted = now;
        let passed = i64::try_from(passed.ns()).unwrap_or(i64::MAX);
        let spent = if self.spinning { passed } else { 0 };
        let earned = passed / SHARE;
        self.saved = self.saved.saturating_add(earned).saturating_sub(spent).min(SAVED_MAX_NS);
    }

    /// Learns from a timer that expired `late` after the time it was set to.
    pub(in crate::server) fn woke(&mut self, late: Span) {
        if self.spin != Spin::Auto {
            return;
        }
        let early = if late > self.early {
            self.early.ns() + STEPS_UP * STEP.ns()
        } else {
            self.early.ns() - STEP.ns()
        };
        self.early = Span::from_ns(early).clamp(EARLY_MIN, EARLY_MAX);
    }

    pub(in crate::server) fn answered(&mut self, now: Time) {
        if self.spin == Spin::Fixed(Span::ZERO) {
            return;
        }
        if self.answered.is_some() {
            // No request came since the answer before: it would be unknown which of the two a
            // request follows.
            self.followed = self.followed.saturating_sub(1);
        }
        debug_assert!(self.followed <= FOLLOWED_MAX, "a bounded score");
        self.answers += 1;
        self.answered = Some(now);
        let pays = self.followed >= FOLLOWED_MIN;
        let tries = self.answers.is_multiple_of(TRY_EVERY);
        self.polls_until = (pays || tries).then(|| now + FOLLOW_UP);
    }

    pub(in crate::server) fn request_arrived(&mut self, now: Time) {
        self.polls_until = None;
        let Some(answered) = self.answered.take() else { return };
        let soon = now.since(answered) <= FOLLOW_UP;
        self.followed = if soon {
            (self.followed + 1).min(FOLLOWED_MAX)
        } else {
            self.followed.saturating_sub(1)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn the_alarm_is_as_early_as_alarms_are_late() {
        let mut policy = SpinPolicy::new(Spin::Auto);
        for turn in 0..2000_u64 {
            // One in a hundred is very late, the others by up to 60 us.
            let late = if turn % 100 == 0 { 2000 } else { turn * 7 % 60 };
            policy.woke(Span::from_us(late));
        }
        let early = policy.early();
        assert!(early > Span::from_us(50) && early < Span::from_us(100), "{early}");
    }

    #[test]
    fn a_fixed_span_is_not_learnt_and_knows_no_budget() {
        let mut policy = SpinPolicy::new(Spin::Fixed(Span::from_us(50)));
        policy.woke(Span::from_ms(1));
        assert_eq!(policy.early(), Span::from_us(50));
        for us in 0..100_000 {
            assert!(policy.is_awake(at_us(us), Some(at_us(us + 50))), "at {us} us");
        }
    }

    #[test]
    fn what_is_spun_is_a_quarter_of_the_time_and_what_was_saved() {
        let mut policy = SpinPolicy::new(Spin::Auto);
        let awake =
            (0..1_000_000_u64).filter(|us| policy.is_awake(at_us(*us), Some(at_us(us + 1))));
        let spun_us = awake.count();
        let (now, next) = (at_us(1_000_000), at_us(1_000_001));
        assert!(policy.is_awake(now, Some(next)) || policy.alarm(next) == next);
        assert!(spun_us > 200_000 && spun_us < 280_000, "{spun_us} us of a second");
    }

    #[test]
    fn what_is_due_is_never_slept_over() {
        let mut policy = SpinPolicy::new(Spin::Fixed(Span::ZERO));
        assert!(policy.is_awake(at_us(10), Some(at_us(10))));
        assert!(!policy.is_awake(at_us(10), Some(at_us(11))));
        assert!(!policy.is_awake(at_us(10), None));
    }

    #[test]
    fn the_loop_listens_to_clients_that_ask_again_at_once() {
        let mut policy = SpinPolicy::new(Spin::Auto);
        let mut listened = 0;
        for turn in 0..100 {
            let now = at_us(turn * 10_000);
            policy.answered(now);
            listened += u32::from(policy.is_awake(now + Span::from_us(50), None));
            policy.request_arrived(now + Span::from_us(100));
            assert!(!policy.is_awake(now + Span::from_us(110), None), "it has heard it");
        }
        assert!(listened > 90, "{listened} of 100");
    }

    #[test]
    fn the_loop_does_not_listen_to_clients_that_think() {
        let mut policy = SpinPolicy::new(Spin::Auto);
        let mut listened = 0;
        for turn in 0..160 {
            let now = at_us(turn * 10_000);
            policy.answered(now);
            listened += u32::from(policy.is_awake(now + Span::from_us(50), None));
            policy.request_arrived(now + Span::from_us(5000));
        }
        assert_eq!(listened, 10, "one in sixteen, to see whether they still do");
    }

    #[test]
    fn spin_is_auto_or_a_span() {
        assert_eq!("auto".parse(), Ok(Spin::Auto));
        assert_eq!("50us".parse(), Ok(Spin::Fixed(Span::from_us(50))));
        assert_eq!(Spin::Auto.to_string(), "auto");
        assert_eq!("often".parse::<Spin>().ok(), None);
    }
}
