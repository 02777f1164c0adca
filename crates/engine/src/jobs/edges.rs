//! The work of a job around its requests: a delay before, a flush after.

use std::fs::File;

use drivelab_core::target::TargetError;
use drivelab_core::units::Span;
use drivelab_core::{JobSchedule, Target};
use drivelab_load::{JobOutcome, Watch as _};

use super::watch::JobWatch;

/// Time between two checks of a waiting job for the end of the run.
const LOOK_UP: Span = Span::from_ms(100);

#[derive(Clone, Copy)]
pub(super) struct JobEdges<'a> {
    pub(super) schedule: JobSchedule,
    pub(super) file: &'a File,
}

impl JobEdges<'_> {
    /// Waits until it is this job's turn, or until the run has ended.
    pub(super) fn delay<T: Target>(
        self,
        target: &mut T,
        watch: &mut JobWatch<'_>,
    ) -> Result<(), TargetError> {
        let due = target.now() + self.schedule.start_delay;
        // Nothing is outstanding that could complete.
        let mut completed = Vec::new();
        while target.now() < due && !watch.stop() {
            let soon = target.now() + LOOK_UP;
            target.wait(due.min(soon), &mut completed)?;
        }
        Ok(())
    }

    /// Flushes what was written to the medium.
    pub(super) fn flush<T: Target>(self, target: &mut T, outcome: &mut JobOutcome) {
        let before = target.now();
        let failed = self.file.sync_all().is_err();
        outcome.flushed(target.now().since(before), failed);
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::Tally;
    use drivelab_core::target::Rejected;
    use drivelab_core::units::{Bytes, Time};
    use drivelab_core::{Completion, Request};
    use rustix::fs::{Mode, OFlags};

    use super::*;
    use crate::testing::Scratch;
    use drivelab_load::End;

    /// A clock that advances by a millisecond each time it is read.
    struct Hurried(u64);

    impl Target for Hurried {
        fn now(&mut self) -> Time {
            self.0 += 1_000_000;
            Time::from_ns(self.0)
        }

        fn capacity(&self) -> Bytes {
            Bytes::mib(1)
        }

        fn submit(&mut self, _: Request) -> Result<(), Rejected> {
            unreachable!("nothing is asked of it")
        }

        fn wait(&mut self, _: Time, _: &mut Vec<Completion>) -> Result<(), TargetError> {
            Ok(())
        }
    }

    #[test]
    fn a_flush_after_the_end_takes_its_time_and_may_fail() {
        let scratch = Scratch::new("jobs");
        let good = File::open(scratch.file("data", b"data")).unwrap();
        // A file that is opened as a path only (O_PATH) cannot be flushed.
        let bad = rustix::fs::open("/", OFlags::PATH, Mode::empty()).unwrap();
        for (file, errors) in [(good, 0), (bad.into(), 1)] {
            let edges = JobEdges { schedule: JobSchedule::default(), file: &file };
            let tally = Tally { elapsed: Span::from_ms(5), ..Tally::default() };
            let mut loaded = JobOutcome { tally, end: End::Runtime };
            edges.flush(&mut Hurried(0), &mut loaded);
            assert_eq!((loaded.tally.elapsed, loaded.tally.errors), (Span::from_ms(6), errors));
        }
    }
}
