//! Observes a running job, and stops it.

use drivelab_core::Control;
use drivelab_core::control::{Event, Phase, Progress};
use drivelab_core::record::Tally;

/// Observes a running job. The loop calls all these functions, so they must return at once.
pub trait Watch {
    /// True if the job must stop sending and keep its results; called between batches.
    fn stop(&mut self) -> bool;

    /// A new phase began.
    fn enter(&mut self, _phase: Phase) {}

    /// The measurement begins again, and counts so far are dropped.
    fn restart(&mut self) {}

    /// The progress of the job; called about every 100 ms of the target's time. In virtual time
    /// this is thousands of times per second: the caller that draws must limit its drawing.
    fn tick(&mut self, _progress: &Progress) {}

    /// The number of a question for the counts so far that was not answered yet; asked after each
    /// tick.
    fn question(&self) -> Option<u64> {
        None
    }

    /// The answer to it.
    fn answer(&mut self, _question: u64, _tally: Tally) {}
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
