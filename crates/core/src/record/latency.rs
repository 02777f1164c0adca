//! A latency distribution in commonly quoted figures.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::units::{Ratio, Span};

/// Quantiles of a latency in nanoseconds; all zero if `n` is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the quantiles")]
pub struct Latency {
    pub min: u64,
    pub mean: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub p99_9: u64,
    pub p99_99: u64,
    pub max: u64,
    /// Number of requests: p99 means little below 10,000.
    pub n: u64,
}

impl Latency {
    /// The figures of `histogram`.
    pub fn of(histogram: &Histogram) -> Self {
        Self {
            min: ns(histogram.min()),
            mean: ns(histogram.mean()),
            p50: quantile_ns(histogram, 500_000_000),
            p90: quantile_ns(histogram, 900_000_000),
            p99: quantile_ns(histogram, 990_000_000),
            p99_9: quantile_ns(histogram, 999_000_000),
            p99_99: quantile_ns(histogram, 999_900_000),
            max: ns(histogram.max()),
            n: histogram.n(),
        }
    }
}

fn quantile_ns(histogram: &Histogram, billionths: u64) -> u64 {
    ns(histogram.quantile(Ratio::from_billionths(billionths)))
}

fn ns(span: Option<Span>) -> u64 {
    span.map_or(0, Span::ns)
}
