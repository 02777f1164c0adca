//! The load loop: written once, over any [`Target`].
//!
//! The code that is simulated is the code that ships: in virtual time the loop is tested to the
//! nanosecond, on a ring it measures a disk. It is compiled separately for each target and each
//! kind of pace, so nothing is called through a pointer between two requests, and it allocates only
//! before the first one.
//!
//! A request has three times: when it was *due*, when it was *sent* (stamped before submission, so
//! submission is part of its latency) and when it completed. In a closed loop a request is due as
//! soon as a slot is free, plus think time; in an open loop when the arrival process says so,
//! regardless of how late the target makes it.

mod batching;
mod cycle;
pub mod marks;
mod measure;
mod pace;
mod sharing;
mod simulate;
mod slots;
#[cfg(test)]
mod tests;
mod virtual_target;
mod watch;

pub use marks::few_requests;
pub use pace::flow::{FlowPart, Flows};
pub use sharing::{Sharing, seed_of};
pub use simulate::{Simulation, VirtualJobs, simulate};
pub use virtual_target::VirtualTarget;
pub use watch::Watch;

use drivelab_core::record::{Stamp, Tally};
use drivelab_core::target::TargetError;
use drivelab_core::units::{Span, Time};
use drivelab_core::workload::{Arrivals, LatencyGoal, Requests, Workload, WorkloadError};
use drivelab_core::{Op, Target};

use cycle::Cycle;
use cycle::Stepped;
use pace::{Closed, Open};

/// The workload of one job.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Requests and their pace.
    pub workload: &'a Workload,
    /// Seed of everything random in it.
    pub seed: u64,
    /// The moments at which the time of sending is stamped.
    pub stamp: Stamp,
    /// Its part of a rate that jobs share.
    pub flow: Option<FlowPart<'a>>,
    /// A target for latencies, which its depth follows.
    pub latency: Option<LatencyGoal>,
}

/// The results of one job.
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
    /// It made the requested number of requests.
    NumberIos,
    /// It reached steady state.
    Steady,
    /// It was stopped.
    Stopped,
}

/// Why a job failed.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// Runs `job` against `target` until its time is up, its requests are made, or `watch` stops it,
/// then waits for outstanding requests.
///
/// Throughput is what completes within the measured time, regardless of when it was sent: neither
/// the requests that fill the queue at the start nor those that drain it at the end bias it.
/// Latency is that of every request *due* in the measured time, including those drained later, so a
/// stall at the very end is not cut off. Requests that an open loop owes at the end are sent and
/// drained, too; those not done when the drain ends are recorded with the time that they had
/// waited. With `number_ios` the measured time ends at the last completion. Flushes are timed too,
/// but are neither throughput nor arrivals of an open loop.
///
/// # Errors
/// The workload does not fit the target, or the target breaks. Failed requests are not errors: they
/// are counted.
pub fn run<T: Target, W: Watch>(
    target: &mut T,
    job: Job<'_>,
    watch: &mut W,
) -> Result<JobOutcome, LoadError> {
    let requests = Requests::new(job.workload, target.capacity(), job.seed)?;
    let start = target.now();
    let pace = job.workload.pace;
    match Arrivals::new(pace, job.seed) {
        Some(arrivals) => {
            Cycle::new(target, job, start, Open::new(arrivals, start), requests, watch).run()
        }
        None => Cycle::new(target, job, start, Closed::new(pace, start), requests, watch).run(),
    }
}

/// Begins `job` at `start`, for a caller that drives several jobs step by step.
///
/// # Errors
/// The workload does not fit the target.
fn begin<'a, T: Target, W: Watch>(
    target: &'a mut T,
    job: Job<'a>,
    start: Time,
    watch: &'a mut W,
) -> Result<Box<dyn Stepped + 'a>, LoadError> {
    let requests = Requests::new(job.workload, target.capacity(), job.seed)?;
    let pace = job.workload.pace;
    // Virtual time does not measure the loop, so a call through a pointer distorts no figure.
    Ok(match Arrivals::new(pace, job.seed) {
        Some(arrivals) => {
            Box::new(Cycle::new(target, job, start, Open::new(arrivals, start), requests, watch))
        }
        None => Box::new(Cycle::new(target, job, start, Closed::new(pace, start), requests, watch)),
    })
}

impl JobOutcome {
    /// Adds the flush after the last request: it adds its time to that of the bytes, and a failed
    /// flush is a failed request. The mean queue depth stays that of the requests before it.
    pub fn flushed(&mut self, took: Span, failed: bool) {
        // The area below the queue depth grows with the time, so that their quotient stays the
        // same.
        let queued = self.tally.queued_ns * u128::from(took.ns());
        let meanwhile = queued.checked_div(u128::from(self.tally.elapsed.ns()));
        self.tally.queued_ns += meanwhile.unwrap_or_default();
        self.tally.elapsed += took;
        if failed {
            self.tally.errors += 1;
            return;
        }
        let flushes = self.tally.of_mut(Op::Flush);
        flushes.ios += 1;
        flushes.lat.record(took);
        flushes.service.record(took);
    }
}
