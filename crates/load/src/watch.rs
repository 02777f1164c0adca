//! Observes a running job, and stops it.

use drivelab_core::Control;
use drivelab_core::control::{Event, Phase, Progress};

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

impl Watch for Control<'_> {
    #[inline]
    fn stop(&mut self) -> bool {
        self.stopped()
    }

    fn tick(&mut self, progress: &Progress) {
        self.report(Event::Load(*progress));
    }
}
