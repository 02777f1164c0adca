//! Jobs start together.

use std::sync::{Condvar, Mutex};

/// Lets all jobs start together, or none.
pub(super) struct Gate {
    numjobs: u32,
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    ready: u32,
    /// One never will be.
    given_up: bool,
}

impl Gate {
    pub(super) fn new(numjobs: u32) -> Self {
        Self { numjobs, state: Mutex::new(GateState::default()), changed: Condvar::new() }
    }

    /// Waits for the other jobs; false where one of them gave up.
    pub(super) fn pass(&self) -> bool {
        let mut state = self.state.lock().expect("no job panics while it holds the lock");
        state.ready += 1;
        if state.ready == self.numjobs {
            // Not before: each of a thousand would wake all that wait already.
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
