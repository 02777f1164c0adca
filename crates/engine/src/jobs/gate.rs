//! Jobs start together.

use std::sync::{Condvar, Mutex};

/// Starts all jobs together, or none.
pub(super) struct Gate {
    numjobs: u32,
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    ready: u32,
    /// Some job will never be ready.
    given_up: bool,
}

impl Gate {
    pub(super) fn new(numjobs: u32) -> Self {
        Self { numjobs, state: Mutex::new(GateState::default()), changed: Condvar::new() }
    }

    /// Waits for the other jobs; returns false if one of them gave up.
    pub(super) fn pass(&self) -> bool {
        let mut state = self.state.lock().expect("no job panics while it holds the lock");
        state.ready += 1;
        if state.ready == self.numjobs {
            // Not earlier: each of a thousand jobs would wake all that are already waiting.
            self.changed.notify_all();
        }
        let waits = |state: &mut GateState| state.ready < self.numjobs && !state.given_up;
        let state = self.changed.wait_while(state, waits);
        !state.expect("no job panics while it holds the lock").given_up
    }

    pub(super) fn give_up(&self) {
        self.state.lock().expect("no job panics while it holds the lock").given_up = true;
        self.changed.notify_all();
    }
}
