//! The largest depth at which latencies keep below a target (fio's `latency_target`).
//!
//! As in fio: the depth begins at 1 and doubles while the target is met, up to that of the job;
//! where it is missed, what is outstanding is waited for, and the search goes on between the
//! largest depth that met it and the smallest that did not. A depth that no longer changes is
//! measured once more, and the figures are those of this last window alone.

use drivelab_core::units::{Ratio, Span, Time};
use drivelab_core::workload::LatencyGoal;

/// Windows in a row that meet the target before the next larger depth is tried again.
const STABLE: u32 = 3;

/// The consequence of a completed request, or of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The search goes on.
    On,
    /// The depth is found: the figures so far are not those of it.
    Begin,
    /// The depth was measured.
    Done,
    /// Even one request at a time takes longer than the target.
    Missed,
}

/// The depth during the search.
#[derive(Debug)]
pub(crate) struct Depth {
    goal: LatencyGoal,
    most: u32,
    now: u32,
    /// The largest depth that met the target, and the smallest that did not.
    met: u32,
    missed: u32,
    stable: u32,
    since: Time,
    /// Requests in this window, and those of them that took too long.
    requests: u64,
    late: u64,
    is_final: bool,
    /// Outstanding requests are waited for.
    quiesces: bool,
}

impl Depth {
    pub(crate) fn new(goal: LatencyGoal, most: u32, start: Time) -> Self {
        debug_assert!(most > 0, "a job has a depth");
        Self {
            goal,
            most,
            now: 1,
            met: 1,
            missed: most,
            stable: 0,
            since: start,
            requests: 0,
            late: 0,
            is_final: false,
            quiesces: false,
        }
    }

    /// The depth that is tried, and at the end the one that was found.
    pub(crate) fn current(&self) -> u32 {
        self.now
    }

    /// True if another request may be sent.
    #[inline]
    pub(crate) fn admits(&mut self, outstanding: usize) -> bool {
        self.quiesces &= outstanding > 0;
        !self.quiesces && outstanding < self.now as usize
    }

    /// Counts a request that completed at `at`.
    pub(crate) fn completed(&mut self, latency: Span, at: Time) -> Step {
        if self.quiesces {
            // It was sent at the larger depth: the window begins behind it.
            self.begin(at);
            return Step::On;
        }
        self.requests += 1;
        if latency <= self.goal.target {
            return Step::On;
        }
        self.late += 1;
        // With a share below all, only the whole window decides.
        if self.goal.share < Ratio::ONE {
            return Step::On;
        }
        if self.now == 1 {
            return Step::Missed;
        }
        self.lower(at);
        Step::On
    }

    /// Judges the window if it is over.
    pub(crate) fn judge(&mut self, at: Time) -> Step {
        if at.since(self.since) < self.goal.window || self.requests == 0 {
            return Step::On;
        }
        let met = u128::from(self.requests - self.late) * u128::from(Ratio::ONE.billionths());
        if met >= u128::from(self.requests) * u128::from(self.goal.share.billionths()) {
            return self.raise(at);
        }
        if self.now > 1 {
            self.lower(at);
        }
        Step::On
    }

    fn raise(&mut self, at: Time) -> Step {
        let before = self.now;
        self.met = before;
        if before + 1 == self.missed {
            self.stable += 1;
            if self.stable >= STABLE {
                (self.missed, self.stable) = (self.missed + 1, 0);
            }
        }
        // Without a miss it doubles, instead of trying half of the most first.
        self.now = if self.missed == self.most { before * 2 } else { before.midpoint(self.missed) };
        self.now = self.now.min(self.most);
        self.begin(at);
        if self.goal.endless || self.now != before {
            return Step::On;
        }
        if std::mem::replace(&mut self.is_final, true) { Step::Done } else { Step::Begin }
    }

    fn lower(&mut self, at: Time) {
        self.missed = self.now;
        self.met -= u32::from(self.met == self.now);
        self.now = self.now.midpoint(self.met).max(1);
        (self.stable, self.quiesces) = (0, true);
        self.begin(at);
    }

    /// Begins a window.
    fn begin(&mut self, at: Time) {
        (self.since, self.requests, self.late) = (at, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(percent: u64) -> LatencyGoal {
        let share = Ratio::from_billionths(percent * 10_000_000);
        let (target, window) = (Span::from_ms(10), Span::from_ms(1000));
        LatencyGoal { target, window, share, endless: false }
    }

    /// The depths of the windows over a device that takes a millisecond for each request
    /// outstanding, and the last step.
    fn depths(goal: LatencyGoal, most: u32) -> (Vec<u32>, Step) {
        let mut depth = Depth::new(goal, most, Time::ZERO);
        let (mut depths, mut now) = (Vec::new(), Time::ZERO);
        for _ in 0..100 {
            depths.push(depth.now);
            assert!(depth.admits(0) && !depth.admits(depth.now as usize));
            now += Span::from_ms(1000);
            let took = Span::from_ms(u64::from(depth.now));
            let steps = [depth.completed(took, now), depth.judge(now)];
            if let Some(end) = steps.iter().find(|it| matches!(it, Step::Done | Step::Missed)) {
                return (depths, *end);
            }
        }
        panic!("no depth was found: {depths:?}");
    }

    #[test]
    fn the_largest_depth_that_meets_the_target_is_found() {
        // 16 is too deep, and of 8 to 16 the largest is 10; it is measured once more.
        let (found, end) = depths(goal(100), 64);
        assert_eq!((&found[..5], end), (&[1, 2, 4, 8, 16][..], Step::Done));
        assert!(found.ends_with(&[10, 10]), "{found:?}");
        let (found, _) = depths(goal(100), 8);
        assert_eq!(found, [1, 2, 4, 8, 8]);
        let (found, _) = depths(goal(90), 64);
        assert!(found.ends_with(&[10, 10]), "{found:?}");
    }

    #[test]
    fn a_target_that_one_request_misses_ends_the_search() {
        let goal = LatencyGoal { target: Span::from_us(1), ..goal(100) };
        assert_eq!(depths(goal, 64), (vec![1], Step::Missed));
    }

    #[test]
    fn what_is_outstanding_is_waited_for_before_a_smaller_depth() {
        let mut depth = Depth::new(goal(100), 64, Time::ZERO);
        (depth.now, depth.met) = (8, 4);
        assert_eq!(depth.completed(Span::from_ms(11), Time::ZERO), Step::On);
        assert_eq!(depth.now, 6);
        assert!(!depth.admits(3));
        // Those that were sent at the larger depth are not held against this one.
        let later = Time::ZERO + Span::from_ms(5);
        assert_eq!(depth.completed(Span::from_ms(11), later), Step::On);
        assert!(depth.admits(0) && depth.now == 6);
        assert_eq!((depth.since, depth.requests, depth.late), (later, 0, 0));
    }
}
