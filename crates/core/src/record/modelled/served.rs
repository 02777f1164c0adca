//! The lateness of a host that served a modelled drive in real time.

use serde::{Deserialize, Serialize};

use crate::record::Latency;

/// Real-time service of a modelled drive during a measurement: the view of the measuring
/// system, in addition to that of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Requests answered.
    pub ios: u64,
    /// Lateness of answers relative to the model's times; `None` before the first.
    pub lateness_ns: LatenessNs,
    /// Duration of requests according to the model, from their arrival at the server until
    /// they were due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ns: Option<Latency>,
    /// Bound on the lateness of an answer.
    pub lateness_bound_ns: u64,
    /// Answers later than the bound.
    pub late: u64,
    /// Time that serving adds to a typical request: the median lateness and the client
    /// round trip; absent before the first answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added_ns: Option<u64>,
    /// True if the run measured the drive: at most one answer in a hundred was later than the
    /// bound, and where that bound is more than a twentieth of what the drive takes, serving added
    /// no more than a twentieth.
    pub valid: bool,
    /// Scheduling of the server: `fifo` or `normal`.
    pub scheduling: String,
}

/// Quantiles of lateness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatenessNs {
    /// Median.
    pub p50: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// Maximum.
    pub max: Option<u64>,
}
