//! What happened on a drive under a workload, and when: what cuts are placed by.

use drivelab_core::Time;

/// The instants of a workload, each list in order.
#[derive(Debug, Clone, Default)]
pub struct Moments {
    /// When it began and ended.
    pub window: (Time, Time),
    /// When its writes were submitted.
    pub writes: Vec<Time>,
    /// When its flushes were submitted and acknowledged.
    pub flushes: Vec<(Time, Time)>,
    /// When its lines were printed.
    pub lines: Vec<Time>,
    /// When anything changed what a cut could leave, and in how many ways a cut right after could
    /// end; only where it is asked for.
    pub changes: Vec<(Time, u64)>,
}
