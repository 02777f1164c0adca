//! Counts of one second.

use serde::{Deserialize, Serialize};

/// Counts of one second of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Second {
    /// Requests completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Sum of latencies.
    pub lat_sum_ns: u64,
    /// Longest latency.
    pub lat_max_ns: u64,
}
