//! Looking on while a job runs, and stopping it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use drivelab_core::units::Span;

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A file is being written so that there is something to read.
    LayOut,
    /// Requests are sent but not yet measured.
    Ramp,
    /// Requests are measured.
    Measure,
    /// No more requests are sent; what is outstanding is waited for.
    Drain,
}

/// How far a job, or a whole run, is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// Time since its phase began; in the drain, since measuring began.
    pub elapsed: Span,
    /// How long the phase lasts; absent where only the number of requests ends it.
    pub whole: Option<Span>,
    /// Requests measured so far.
    pub ios: u64,
    /// Bytes they moved, or bytes laid out.
    pub bytes: u64,
    /// Requests that failed.
    pub errors: u64,
}

/// Looks on while a job runs. Everything here is called from the loop and must return at once.
pub trait Watch {
    /// Whether the job shall stop sending and keep what is done; asked between any two batches.
    fn stop(&mut self) -> bool;

    /// A new phase began.
    fn enter(&mut self, _phase: Phase) {}

    /// How far the job is; told about every 100 ms of the target's time. In virtual time those pass
    /// thousands of times a second: whoever draws limits the drawing.
    fn tick(&mut self, _progress: &Progress) {}
}

/// The command line's hold on a run: a flag that a signal handler may set, and a listener.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Set it, and what is done so far becomes the result.
    pub stop: &'a AtomicBool,
    /// Told how far the run is; called from the threads of the jobs.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
}

impl Control<'_> {
    /// Whether the run shall stop.
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
