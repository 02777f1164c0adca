//! The observer of a long piece of work.

use std::fmt;

/// A function that gets the number of runs that are done and that of all; none by default.
#[derive(Default)]
pub(super) struct Watch(Option<Box<dyn Fn(u64, u64)>>);

impl Watch {
    pub(super) fn new(seen: impl Fn(u64, u64) + 'static) -> Self {
        Self(Some(Box::new(seen)))
    }

    /// Returns true with an observer: only then is the number of all runs of use.
    pub(super) fn is_set(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn at(&self, done: u64, all: u64) {
        if let Some(seen) = &self.0 {
            seen(done, all);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.is_set()).finish()
    }
}
