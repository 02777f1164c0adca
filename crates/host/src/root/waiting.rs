//! The path that a reading thread waits for, so that another thread can detect when it takes too
//! long.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The path that the reading thread waits for at present.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    now: Mutex<Moment>,
}

/// One observation of it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    /// Number of queries so far, which distinguishes two waits for one file.
    count: u64,
    pub(super) path: String,
    pub(super) waits: bool,
}

impl Waiting {
    /// Runs a call that may never return, and records its path meanwhile.
    pub(super) fn for_path<T>(&self, path: &str, ask: impl FnOnce() -> T) -> T {
        self.set(path, true);
        let answer = ask();
        self.set("", false);
        answer
    }

    fn set(&self, path: &str, waits: bool) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(!(waits && now.waits), "one thread reads, one file at a time");
        now.count += 1;
        now.waits = waits;
        now.path.clear();
        now.path.push_str(path);
    }

    pub(super) fn moment(&self) -> Moment {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The beginning of the problem that a file does not answer.
pub(super) const SILENCE: &str = "did not answer within";

pub(super) fn silence(deadline: Duration) -> String {
    format!("{SILENCE} {} s", deadline.as_secs_f32())
}
