//! The load loop: written once, over any [`Target`].
//!
//! What is simulated is what ships: in virtual time the loop is tested to the nanosecond, on a
//! ring it measures a disk. It is compiled anew for each target and each kind of pace, so nothing
//! is called through a pointer between two requests, and it allocates only before the first one.
//!
//! Three moments belong to a request: when it was *meant* to be sent, when it *was* sent (stamped
//! before it is handed over, so submission is part of its latency) and when it was done. A closed
//! loop means to send a request as soon as a slot falls free, think time added; an open loop when
//! the arrival process says so, however late the target keeps it.

mod cycle;
mod measure;
mod pace;
mod slots;
#[cfg(test)]
mod tests;
mod watch;

pub use watch::{Control, Phase, Progress, Watch};

use drivelab_core::record::{Stamp, Tally};
use drivelab_core::target::TargetError;
use drivelab_core::units::Bytes;
use drivelab_core::workload::{Arrivals, Requests, Workload, WorkloadError};
use drivelab_core::{Request, RequestId, Target};

use cycle::Cycle;
use pace::{Closed, Open};

/// What one job does.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Requests and their pace.
    pub workload: &'a Workload,
    /// Seed of everything random in it.
    pub seed: u64,
    /// How often the moment of sending is stamped.
    pub stamp: Stamp,
}

/// What one job left.
#[derive(Debug)]
pub struct JobOutcome {
    /// Its counts.
    pub tally: Tally,
    /// Why it ended.
    pub end: End,
}

/// Why a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its time was up.
    Runtime,
    /// It made the number of requests it was asked for.
    NumberIos,
    /// Its figures held still.
    Steady,
    /// It was told to stop.
    Stopped,
}

/// Why a job could not be done.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// Runs `job` against `target` until its time is up, its requests are made, or `watch` stops it,
/// then waits for what is outstanding.
///
/// Throughput is what completes within the measured time, whenever it was sent: neither the
/// requests that fill the queue at the start nor those that drain it at the end bias it. Latency
/// is that of every request *meant* for the measured time, drained ones included, so a stall at
/// the very end is not cut off. What an open loop owes at the end is sent and drained, too; what is
/// not done when the drain ends is entered with what it had waited. With `number_ios` the measured
/// time ends at the last completion. Flushes are timed too, but are neither throughput nor arrivals
/// of an open loop.
///
/// # Errors
/// The workload does not fit the target, or the target breaks. Failed requests are no error: they
/// are counted.
pub fn run<T: Target, W: Watch>(
    target: &mut T,
    job: Job<'_>,
    watch: &mut W,
) -> Result<JobOutcome, LoadError> {
    let mut requests = Requests::new(job.workload, target.capacity(), job.seed)?;
    run_from(target, job, &mut requests, watch)
}

/// The same with requests of another making; of the job's workload only pace and times count.
///
/// # Errors
/// The target breaks.
pub fn run_from<T: Target, S: Source, W: Watch>(
    target: &mut T,
    job: Job<'_>,
    source: &mut S,
    watch: &mut W,
) -> Result<JobOutcome, LoadError> {
    let start = target.now();
    let pace = job.workload.pace;
    match Arrivals::new(pace, job.seed) {
        Some(arrivals) => {
            Cycle::new(target, job, Open::new(arrivals, start), start, source, watch).run()
        }
        None => Cycle::new(target, job, Closed::new(pace, start), start, source, watch).run(),
    }
}

/// Where requests come from.
pub trait Source {
    /// The next request of the slot `id`.
    fn next(&mut self, id: RequestId) -> Request;

    /// Whether that will be a flush.
    fn flush_next(&self) -> bool {
        false
    }

    /// A request of the slot `id` completed in the measured time and moved so many bytes.
    fn counted(&mut self, _id: RequestId, _bytes: Bytes) {}
}

impl Source for Requests {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for what it calls")]
    fn next(&mut self, id: RequestId) -> Request {
        Self::next(self, id)
    }

    #[inline]
    fn flush_next(&self) -> bool {
        Self::flush_next(self)
    }
}
