//! The caller of a study, which talks to the user and to the process's signals.

use std::any::Any;
use std::fmt;

use drivelab_core::Refusal;

use crate::stage::StoredRun;

/// The caller of a study.
pub trait Watch {
    /// True if the user asked to stop.
    fn is_stopping(&self) -> bool;

    /// Keeps the process from being ended by a signal while the shield lives.
    fn shield(&self) -> Shield;

    /// Warns the user.
    fn warn(&self, warning: &str);

    /// A run begins; `done` runs are finished.
    fn begins(&self, done: usize, run: &str);

    /// A run is finished and on the disk, `done` of `all`.
    fn finished(&self, done: usize, all: usize, run: &str);

    /// The reason why more runs like this one would be useless.
    fn refuses(&self, _run: &StoredRun) -> Option<Refusal> {
        None
    }
}

/// A guard that the caller makes.
pub struct Shield(#[expect(dead_code, reason = "it works by being dropped")] Box<dyn Any>);

impl Shield {
    /// Wraps the guard.
    pub fn new(guard: impl Any) -> Self {
        Self(Box::new(guard))
    }
}

impl fmt::Debug for Shield {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shield")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A caller that never stops a study and keeps every warning.
    #[derive(Debug, Default)]
    pub(crate) struct Quiet {
        pub(crate) warnings: RefCell<Vec<String>>,
    }

    impl Watch for Quiet {
        fn is_stopping(&self) -> bool {
            false
        }

        fn shield(&self) -> Shield {
            Shield::new(())
        }

        fn warn(&self, warning: &str) {
            self.warnings.borrow_mut().push(warning.to_owned());
        }

        fn begins(&self, _done: usize, _run: &str) {}

        fn finished(&self, _done: usize, _all: usize, _run: &str) {}
    }
}
