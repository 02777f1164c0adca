//! The control of long work: the user's request to stop, work that must stay whole, and events on
//! the way. Every instrument takes one [`Control`].

mod snapshots;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

pub use snapshots::Snapshots;

use crate::units::Span;

/// The phase of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A file is being laid out, so that there is something to read.
    LayOut,
    /// Requests are sent but not yet measured.
    Ramp,
    /// Requests are measured.
    Measure,
    /// No more requests are sent; outstanding ones are awaited.
    Drain,
}

/// The progress of a job of a load, or of all its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Its phase.
    pub phase: Phase,
    /// Time since its phase began; in the drain, since measuring began.
    pub elapsed: Span,
    /// Duration of the phase; absent if only the number of requests ends it.
    pub whole: Option<Span>,
    /// Requests measured so far.
    pub ios: u64,
    /// Bytes that they moved, or bytes laid out.
    pub bytes: u64,
    /// Requests that failed.
    pub errors: u64,
}

/// An event of work under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The progress of a load.
    Load(Progress),
    /// The progress of a load that is one of several tests.
    Test {
        /// The name of the test.
        name: &'a str,
        /// Its progress.
        progress: Progress,
    },
    /// Steps of known number; one that only the clock ends has none.
    Steps {
        /// The work.
        what: &'a str,
        /// Steps that are done.
        done: u64,
        /// All steps.
        of: u64,
    },
    /// Work whose time is known.
    Time {
        /// The work.
        what: &'a str,
        /// The time that has passed.
        done: Span,
        /// The expected time.
        of: Span,
    },
    /// A run of a series begins.
    Begins {
        /// The run.
        run: &'a str,
        /// Runs that are finished.
        done: u64,
    },
    /// A run of a series is finished and on the disk.
    Finished {
        /// The run.
        run: &'a str,
        /// Runs that are finished.
        done: u64,
        /// All runs.
        of: u64,
    },
    /// A message that is no result.
    Note(&'a str),
    /// A warning.
    Warning(&'a str),
}

/// A receiver of events, called from any thread of the work; it must return at once. In virtual
/// time events come thousands of times a second: an observer that draws must limit its drawing.
pub trait Observer: Sync {
    /// Receives an event.
    fn observe(&self, event: Event<'_>);
}

impl<F: Fn(Event<'_>) + Sync> Observer for F {
    fn observe(&self, event: Event<'_>) {
        self(event);
    }
}

/// An observer that ignores every event.
#[derive(Debug, Clone, Copy)]
struct Silent;

impl Observer for Silent {
    fn observe(&self, _: Event<'_>) {}
}

/// The control of a piece of work.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    stop: &'a AtomicBool,
    observer: &'a dyn Observer,
    shields: Option<&'a Shields>,
    snapshots: Option<&'a Snapshots>,
}

impl<'a> Control<'a> {
    /// Work that ends with the results so far once `stop` is set, and reports to `observer`.
    pub const fn new(stop: &'a AtomicBool, observer: &'a dyn Observer) -> Self {
        Self { stop, observer, shields: None, snapshots: None }
    }

    /// The same without an observer.
    pub const fn silent(stop: &'a AtomicBool) -> Self {
        Self::new(stop, &Silent)
    }

    /// Work that is neither stopped nor observed.
    pub const fn unattended() -> Control<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Control::silent(&NEVER)
    }

    /// The flag that is set to stop it, for a loop that looks at nothing else.
    pub const fn stop_flag(&self) -> &'a AtomicBool {
        self.stop
    }

    /// The same work, whose shields keep a process from being ended.
    #[must_use]
    pub const fn shielded_by(self, shields: &'a Shields) -> Self {
        Self { shields: Some(shields), ..self }
    }

    /// The same work, observed by another.
    #[must_use]
    pub const fn observed_by<'b>(self, observer: &'b dyn Observer) -> Control<'b>
    where
        'a: 'b,
    {
        Control { stop: self.stop, observer, shields: self.shields, snapshots: self.snapshots }
    }

    /// The same work, whose jobs hand over their counts when they are asked.
    #[must_use]
    pub const fn asked_by(self, snapshots: &'a Snapshots) -> Self {
        Self { snapshots: Some(snapshots), ..self }
    }

    /// A reader of the counts of its jobs.
    pub const fn snapshots(&self) -> Option<&'a Snapshots> {
        self.snapshots
    }

    /// True if the user asked to stop.
    #[inline]
    pub fn stopped(&self) -> bool {
        // The flag guards no other memory, so no order is needed.
        self.stop.load(Ordering::Relaxed)
    }

    /// The flag that is set when the user asks to stop.
    pub const fn flag(&self) -> &'a AtomicBool {
        self.stop
    }

    /// Reports an event.
    pub fn report(&self, event: Event<'_>) {
        self.observer.observe(event);
    }

    /// Warns the user.
    pub fn warn(&self, warning: &str) {
        self.report(Event::Warning(warning));
    }

    /// Keeps the process from being ended by a first signal while the shield lives.
    pub fn shield(&self) -> Option<Shield<'a>> {
        self.shields.map(Shields::raise)
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("stop", self.stop).finish_non_exhaustive()
    }
}

/// The shields that are up around work that must not be cut in two: a line of a journal, a file
/// while it is written.
#[derive(Debug, Default)]
pub struct Shields {
    up: Mutex<u32>,
    lowered: Condvar,
}

const HELD: &str = "no code panics while it holds the lock";

impl Shields {
    /// None is up.
    pub const fn new() -> Self {
        Self { up: Mutex::new(0), lowered: Condvar::new() }
    }

    /// Raises a shield.
    pub fn raise(&self) -> Shield<'_> {
        *self.up.lock().expect(HELD) += 1;
        Shield(self)
    }

    /// True if a shield is up.
    pub fn is_any_up(&self) -> bool {
        *self.up.lock().expect(HELD) > 0
    }

    /// Waits until no shield is up, and lets no thread raise one while the guard lives.
    pub fn wait_until_lowered(&self) -> MutexGuard<'_, u32> {
        let up = self.up.lock().expect(HELD);
        self.lowered.wait_while(up, |up| *up > 0).expect(HELD)
    }
}

/// A raised shield, lowered when it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Shield<'a>(&'a Shields);

impl Drop for Shield<'_> {
    fn drop(&mut self) {
        // The waiting thread looks at the count again, so every change is announced.
        let mut up = self.0.up.lock().expect(HELD);
        debug_assert!(*up > 0, "every shield was raised once");
        *up -= 1;
        // A waiter looks again at each shield that is lowered.
        self.0.lowered.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_reach_the_observer_and_a_stop_reaches_the_work() {
        let (stop, seen) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let observer = |event: Event<'_>| {
            let Event::Steps { what, done, of } = event else { return };
            seen.lock().unwrap().push((what.to_owned(), done, of));
        };
        let control = Control::new(&stop, &observer);
        control.report(Event::Steps { what: "files", done: 1, of: 2 });
        control.observed_by(&|_: Event<'_>| ()).report(Event::Steps { what: "x", done: 0, of: 0 });
        Control::silent(&stop).report(Event::Note("unheard"));
        assert_eq!(*seen.lock().unwrap(), [("files".to_owned(), 1, 2)]);
        assert!(!control.stopped());
        stop.store(true, Ordering::Relaxed);
        assert!(control.stopped());
    }

    #[test]
    fn shields_are_counted_and_waited_for() {
        let (stop, shields) = (AtomicBool::new(false), Shields::new());
        assert!(Control::silent(&stop).shield().is_none(), "a test has no process to keep");
        let control = Control::silent(&stop).shielded_by(&shields);
        let first = control.shield();
        let second = shields.raise();
        drop(first);
        assert!(shields.is_any_up());
        std::thread::scope(|scope| {
            scope.spawn(|| drop(second));
            assert_eq!(*shields.wait_until_lowered(), 0);
        });
        assert!(!shields.is_any_up());
    }
}
