//! Jobs start together.

use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Instant;

use drivelab_core::units::Span;

/// Starts all jobs together, or none.
pub(super) struct Gate {
    numjobs: u32,
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    ready: u32,
    /// Some job will never be ready, or something outside has refused.
    given_up: bool,
    /// Opens when all are ready, unless something outside decides when.
    is_held: bool,
    /// The time at which they begin.
    opens: Option<Instant>,
    /// The delay after that until the last of them began.
    late: Span,
}

const HELD: &str = "no job panics while it holds the lock";

impl Gate {
    pub(super) fn new(numjobs: u32) -> Self {
        Self { numjobs, state: Mutex::new(GateState::default()), changed: Condvar::new() }
    }

    /// Waits for the other jobs; returns false if one of them gave up.
    pub(super) fn pass(&self) -> bool {
        let mut state = self.state.lock().expect(HELD);
        state.ready += 1;
        assert!(state.ready <= self.numjobs, "each job comes once");
        if state.ready == self.numjobs {
            if !state.is_held {
                state.opens = Some(Instant::now());
            }
            // Not earlier: each of a thousand jobs would wake all that are already waiting.
            self.changed.notify_all();
        }
        let state = self
            .changed
            .wait_while(state, |state| state.opens.is_none() && !state.given_up)
            .expect(HELD);
        let Some(opens) = state.opens.filter(|_| !state.given_up) else { return false };
        if !state.is_held {
            return true;
        }
        // Released before the sleep, or the jobs would pass one after the other.
        drop(state);
        thread::sleep(opens.saturating_duration_since(Instant::now()));
        let late = opens.elapsed().as_nanos();
        let mut state = self.state.lock().expect(HELD);
        state.late = state.late.max(Span::from_ns(u64::try_from(late).unwrap_or(u64::MAX)));
        true
    }

    pub(super) fn give_up(&self) {
        self.state.lock().expect(HELD).given_up = true;
        self.changed.notify_all();
    }

    /// Keeps it closed when all are ready, before any job comes to it.
    pub(super) fn hold(&self) {
        let mut state = self.state.lock().expect(HELD);
        debug_assert!(state.opens.is_none(), "what is open cannot be held");
        state.is_held = true;
    }

    /// Waits until all jobs are ready; returns false if one of them gave up.
    pub(super) fn all_ready(&self) -> bool {
        let state = self.state.lock().expect(HELD);
        let state = self
            .changed
            .wait_while(state, |state| state.ready < self.numjobs && !state.given_up)
            .expect(HELD);
        !state.given_up
    }

    /// Lets the jobs that it held begin at this instant.
    pub(super) fn open(&self, at: Instant) {
        self.state.lock().expect(HELD).opens = Some(at);
        self.changed.notify_all();
    }

    /// Returns the delay after the opening until the last job began; zero where it was not held.
    pub(super) fn late(&self) -> Span {
        self.state.lock().expect(HELD).late
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_held_gate_opens_at_the_instant_that_it_is_given() {
        let gate = Gate::new(3);
        gate.hold();
        let at = Instant::now() + Duration::from_millis(20);
        let passed = thread::scope(|scope| {
            let pass = || gate.pass().then(Instant::now);
            let jobs: Vec<_> = (0..3).map(|_| scope.spawn(pass)).collect();
            assert!(gate.all_ready());
            gate.open(at);
            jobs.into_iter().map(|job| job.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(passed.iter().all(|passed| passed.is_some_and(|passed| passed >= at)));
    }

    #[test]
    fn nothing_begins_where_one_gives_up_or_the_gate_is_not_opened() {
        let gate = Gate::new(2);
        gate.hold();
        thread::scope(|scope| {
            let job = scope.spawn(|| gate.pass());
            gate.give_up();
            assert!(!gate.all_ready());
            assert!(!job.join().unwrap());
        });
    }
}
