//! What the host that served a modelled drive in real time says of its own lateness.

use serde::{Deserialize, Serialize};

use super::Latency;

/// How a modelled drive was served while it was measured: the view of the measuring system, beside
/// that of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Requests answered.
    pub ios: u64,
    /// How late answers left, against the moment that the model gave; `None` before the first.
    pub lateness_ns: LatenessNs,
    /// How long requests took by the model's word, from their arrival at the server until they were
    /// due; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ns: Option<Latency>,
    /// What an answer may be late.
    pub lateness_bound_ns: u64,
    /// Answers that were later.
    pub late: u64,
    /// Whether the run measured the drive: at most one answer in a hundred was later.
    pub valid: bool,
    /// How the server was scheduled: `fifo` or `normal`.
    pub scheduling: String,
}

/// Quantiles of lateness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatenessNs {
    /// Median.
    pub p50: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// The latest.
    pub max: Option<u64>,
}
