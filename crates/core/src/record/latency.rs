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
        let ns = |span: Option<Span>| span.map_or(0, Span::ns);
        let quantile = |billionths| ns(histogram.quantile(Ratio::from_billionths(billionths)));
        Self {
            min: ns(histogram.min()),
            mean: ns(histogram.mean()),
            p50: quantile(500_000_000),
            p90: quantile(900_000_000),
            p99: quantile(990_000_000),
            p99_9: quantile(999_000_000),
            p99_99: quantile(999_900_000),
            max: ns(histogram.max()),
            n: histogram.n(),
        }
    }
}
