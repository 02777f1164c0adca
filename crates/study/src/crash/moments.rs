//! The events on a drive under a workload, by which cuts are planned.

use drivelab_core::Time;

/// The instants of a workload, each list in order.
#[derive(Debug, Clone, Default)]
pub struct Moments {
    /// Begin and end.
    pub window: (Time, Time),
    /// Times at which writes were submitted.
    pub writes: Vec<Time>,
    /// Times at which flushes were submitted and acknowledged.
    pub flushes: Vec<(Time, Time)>,
    /// Times at which lines were printed.
    pub lines: Vec<Time>,
    /// Times of every change in the data that a cut could leave, each with the number of outcomes
    /// of a cut right after it; only where requested.
    pub changes: Vec<(Time, u64)>,
}
