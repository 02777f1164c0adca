//! Observes a running job, and stops it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use drivelab_core::units::Span;

/// The phase of a job.
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

/// The progress of a job, or of a whole run.
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

/// Observes a running job. The loop calls all these functions, so they must return at once.
pub trait Watch {
    /// True if the job must stop sending and keep its results; called between batches.
    fn stop(&mut self) -> bool;

    /// A new phase began.
    fn enter(&mut self, _phase: Phase) {}

    /// The progress of the job; called about every 100 ms of the target's time. In virtual time
    /// this is thousands of times per second: the caller that draws must limit its drawing.
    fn tick(&mut self, _progress: &Progress) {}
}

/// The command line's control of a run: a flag that a signal handler may set, and a listener.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// If set, the results so far become the result.
    pub stop: &'a AtomicBool,
    /// Receives the progress of the run; called from the threads of the jobs.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
}

impl Control<'_> {
    /// True if the run must stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("stop", self.stop).finish_non_exhaustive()
    }
}

impl Watch for Control<'_> {
    #[inline]
    fn stop(&mut self) -> bool {
        self.stopped()
    }

    fn tick(&mut self, progress: &Progress) {
        (self.progress)(progress);
    }
}
