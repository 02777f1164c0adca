//! One direction of a bus: a rate that the ports share fairly.

use std::collections::VecDeque;

use drivelab_core::{Span, Time};

/// Work is counted in units of 2^-8 ns at the full rate of the lane: fine enough for a sector on
/// the fastest bus, and 2^64 units last two years on a lane that is never idle.
const SHIFT: u32 = 8;

#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) command: usize,
    /// Its time on an otherwise idle lane.
    pub(super) whole: Span,
    /// Time before its end at which the receiver can begin.
    pub(super) early: Span,
}

/// The part of a load that may have crossed before its arrival: at most `most`, during the last
/// `within`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HeadStart {
    pub(super) within: Span,
    pub(super) most: Span,
}

/// Number of remembered idle periods: about as many as fit into one transfer over a drive's wire.
// Fewer underestimate the head start, but never overestimate it.
const IDLE_KEPT: usize = 8;

/// Progress of a load on a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneEvent {
    /// The receiver can begin; the remainder is still crossing.
    Early(usize),
    /// All of it has crossed.
    Done(usize),
}

/// A port's loads, which cross in order.
#[derive(Debug, Clone, Default)]
struct Queue {
    /// Command, total work and work of the early part.
    loads: VecDeque<(usize, u64, u64)>,
    /// Values of `served` at which the first load is early, and done.
    due: Option<(Option<u64>, u64)>,
}

impl Queue {
    fn next(&self) -> Option<u64> {
        self.due.map(|(early, done)| early.unwrap_or(done))
    }
}

/// Carries the loads of several ports at once, each busy port getting the same share.
///
/// This is the limit of time slices that are short compared with a load: a burst or a packet is at
/// most a few hundred bytes, a command a thousand times that. The lane is never idle while a load
/// waits, and never exceeds its rate.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    ports: Vec<Queue>,
    busy: u64,
    /// Service received by a port that was always busy.
    served: u64,
    /// Time for which `served` holds.
    at: Time,
    idle_since: Time,
    /// Recent idle periods, oldest first, less the parts consumed by head starts.
    idle: VecDeque<(Time, Time)>,
    next: Option<Time>,
    /// Total work so far, as time at the full rate.
    pub(super) requested: Span,
}

impl Lane {
    pub(super) fn new(ports: usize) -> Self {
        Self {
            ports: vec![Queue::default(); ports],
            busy: 0,
            served: 0,
            at: Time::ZERO,
            idle_since: Time::ZERO,
            idle: VecDeque::with_capacity(IDLE_KEPT),
            next: None,
            requested: Span::ZERO,
        }
    }

    /// Adds a load of `port` at `now`. Part of it may have crossed already, because the port passes
    /// data on as it arrives.
    pub(super) fn push(&mut self, now: Time, port: usize, load: Load, begun: HeadStart) {
        self.move_to(now);
        self.requested += load.whole;
        if self.busy == 0 && now > self.idle_since {
            if self.idle.len() == IDLE_KEPT {
                self.idle.pop_front();
            }
            self.idle.push_back((self.idle_since, now));
            self.idle_since = now;
        }
        let crossed = self.consume_idle(now, begun);
        let whole = load.whole.saturating_sub(crossed).ns() << SHIFT;
        let early = (load.early.ns() << SHIFT).min(whole);
        let queue = &mut self.ports[port];
        queue.loads.push_back((load.command, whole, early));
        // The first load of an idle port joins the others at once; later ones wait behind it.
        if queue.loads.len() == 1 {
            self.busy += 1;
            self.begin(port);
        }
        self.update_next();
    }

    /// Consumes past idle time for a load's head start, so that no moment serves two loads; returns
    /// the part that has crossed.
    fn consume_idle(&mut self, now: Time, begun: HeadStart) -> Span {
        let mut crossed = Span::ZERO;
        let earliest = now - begun.within;
        for (from, to) in self.idle.iter_mut().rev() {
            let left = begun.most.saturating_sub(crossed);
            if *to <= earliest || left.is_zero() {
                break;
            }
            let used = to.since((*from).max(earliest)).ns().min(left.ns());
            *to = *to - Span::from_ns(used);
            crossed += Span::from_ns(used);
        }
        crossed
    }

    fn begin(&mut self, port: usize) {
        let queue = &mut self.ports[port];
        let (_, whole, early) = *queue.loads.front().expect("the port is busy");
        let done = self.served + whole;
        queue.due = Some(((early > 0).then(|| done - early), done));
    }

    /// Returns the time of the next event.
    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        self.next
    }

    fn update_next(&mut self) {
        let busy = self.ports.iter().filter(|port| !port.loads.is_empty()).count();
        debug_assert_eq!(busy as u64, self.busy, "a busy port is not counted");
        // Each of the `busy` ports gets 1/busy of the rate, so the remaining work takes that many
        // times as long.
        let least = self.ports.iter().filter_map(Queue::next).min();
        self.next = least.map(|due| {
            let left = due.saturating_sub(self.served).saturating_mul(self.busy);
            self.at + Span::from_ns(left.div_ceil(1 << SHIFT))
        });
    }

    fn move_to(&mut self, now: Time) {
        debug_assert!(now >= self.at, "time ran backwards");
        if let Some(passed) = (now.since(self.at).ns() << SHIFT).checked_div(self.busy) {
            self.served += passed;
        }
        self.at = now;
    }

    /// Returns the next event due at `now`, that of the lowest port first.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<LaneEvent> {
        if self.next.is_none_or(|next| next > now) {
            return None;
        }
        self.move_to(now);
        let served = self.served;
        let mut ports = self.ports.iter();
        let port = ports.position(|queue| queue.next().is_some_and(|due| due <= served))?;
        let queue = &mut self.ports[port];
        let command = queue.loads.front().expect("the port is busy").0;
        if let Some((early @ Some(_), _)) = &mut queue.due {
            *early = None;
            self.update_next();
            return Some(LaneEvent::Early(command));
        }
        queue.loads.pop_front();
        queue.due = None;
        if queue.loads.is_empty() {
            self.busy -= 1;
            self.idle_since = now;
        } else {
            self.begin(port);
        }
        self.update_next();
        Some(LaneEvent::Done(command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::from_ns(us * 1000)
    }

    fn load(command: usize, whole: u64) -> Load {
        Load { command, whole: Span::from_us(whole), early: Span::ZERO }
    }

    fn run(lane: &mut Lane) -> Vec<(u64, LaneEvent)> {
        let mut told = Vec::new();
        while let Some(at) = lane.next() {
            while let Some(what) = lane.pop_due(at) {
                told.push((at.ns(), what));
            }
        }
        told
    }

    #[test]
    fn busy_ports_share_alike_and_none_waits_for_an_idle_one() {
        let mut lane = Lane::new(3);
        lane.push(us(0), 0, load(0, 10), HeadStart::default());
        lane.push(us(0), 2, load(1, 30), HeadStart::default());
        // Both at half the rate until 20 us; then the other's remaining 20 us at the full rate.
        assert_eq!(run(&mut lane), [(20_000, LaneEvent::Done(0)), (40_000, LaneEvent::Done(1))]);
    }

    #[test]
    fn loads_of_one_port_cross_in_order_at_its_share() {
        let mut lane = Lane::new(2);
        for command in 0..3 {
            lane.push(us(0), 0, load(command, 10), HeadStart::default());
        }
        lane.push(us(0), 1, load(9, 10), HeadStart::default());
        let done = [(20_000, 0), (20_000, 9), (30_000, 1), (40_000, 2)];
        assert_eq!(run(&mut lane), done.map(|(at, command)| (at, LaneEvent::Done(command))));
    }

    #[test]
    fn what_crossed_while_the_lane_was_idle_counts_once() {
        let mut lane = Lane::new(3);
        let begun = |us| HeadStart { within: Span::from_us(us), most: Span::from_us(us) };
        // 8 us of 10 had time to cross before; the lane was idle for long enough.
        lane.push(us(100), 0, load(0, 10), begun(8));
        assert_eq!(run(&mut lane), [(102_000, LaneEvent::Done(0))]);
        // Idle for 3 us only; what was idle before has been used.
        lane.push(us(105), 0, load(1, 10), begun(8));
        assert_eq!(lane.next(), Some(us(112)));
        // Another port came at the same time: nothing of that is left for it.
        lane.push(us(105), 1, load(2, 7), begun(8));
        assert_eq!(run(&mut lane), [(119_000, LaneEvent::Done(1)), (119_000, LaneEvent::Done(2))]);
        // Three that arrive together share one idle time, 12 us of 15 that they need.
        for port in 0..3 {
            lane.push(us(131), port, load(3, 6), HeadStart { most: Span::from_us(5), ..begun(20) });
        }
        assert_eq!(run(&mut lane).last(), Some(&(137_000, LaneEvent::Done(3))));
    }

    #[test]
    fn a_receiver_is_told_early_once() {
        let mut lane = Lane::new(1);
        let early = Load { early: Span::from_us(4), ..load(5, 10) };
        lane.push(us(0), 0, early, HeadStart::default());
        assert_eq!(run(&mut lane), [(6_000, LaneEvent::Early(5)), (10_000, LaneEvent::Done(5))]);
    }

    proptest::proptest! {
        /// Whatever comes when: nothing gets lost, the rate is kept, and the lane is idle only
        /// while there is nothing to carry.
        #[test]
        fn work_is_conserved_and_the_rate_is_kept(
            loads in proptest::collection::vec((0_u64..200, 0_usize..4, 1_u64..50), 1..40),
        ) {
            let mut loads = loads;
            loads.sort_unstable();
            let (mut lane, mut told) = (Lane::new(4), Vec::new());
            for (command, (at, port, whole)) in loads.iter().enumerate() {
                while let Some(next) = lane.next().filter(|next| *next <= us(*at)) {
                    while let Some(what) = lane.pop_due(next) {
                        told.push((next.ns(), what));
                    }
                }
                lane.push(us(*at), *port, load(command, *whole), HeadStart::default());
            }
            told.extend(run(&mut lane));
            proptest::prop_assert_eq!(told.len(), loads.len());
            // The end of each busy period of one server that serves the same work in any order.
            let mut end = 0;
            for (at, _, whole) in &loads {
                end = end.max(at * 1000) + whole * 1000;
            }
            let last = told.iter().map(|(at, _)| *at).max().unwrap();
            // Each telling may be late by the rounding of one nanosecond.
            let late = last.checked_sub(end);
            let slack = told.len() as u64;
            proptest::prop_assert!(late.is_some_and(|late| late <= slack), "{last} against {end}");
        }
    }
}
