//! What a reading thread waits for, so that another can tell when that takes too long.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What the reading thread waits for at the moment.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    now: Mutex<Moment>,
}

/// One look at it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    /// Counts what was asked, so that two waits for one file are told apart.
    count: u64,
    pub(super) path: String,
    pub(super) waits: bool,
}

impl Waiting {
    /// Does what may never return, and says meanwhile for which path.
    pub(super) fn for_path<T>(&self, path: &str, ask: impl FnOnce() -> T) -> T {
        self.set(path, true);
        let answer = ask();
        self.set("", false);
        answer
    }

    fn set(&self, path: &str, waits: bool) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.count += 1;
        now.waits = waits;
        now.path.clear();
        now.path.push_str(path);
    }

    pub(super) fn moment(&self) -> Moment {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How a problem begins that is a file's silence.
pub(super) const SILENCE: &str = "did not answer within";

pub(super) fn silence(deadline: Duration) -> String {
    format!("{SILENCE} {} s", deadline.as_secs_f32())
}
