//! How late answers left, and whether the run counts.

use drivelab_core::{Histogram, Ratio, Span};
use serde::Serialize;

/// How late the answers were, and whether the run counts.
#[derive(Debug)]
pub(in crate::server) struct Lateness {
    histogram: Histogram,
    /// What the 99th percentile must not exceed.
    bound: Span,
}

/// Quantiles of lateness in nanoseconds; `null` before the first answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LatenessNs {
    /// Median.
    pub p50: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// The latest.
    pub max: Option<u64>,
}

impl Lateness {
    pub(in crate::server) fn new(bound: Span) -> Self {
        Self { histogram: Histogram::new(), bound }
    }

    pub(in crate::server) fn record(&mut self, late: Span) {
        self.histogram.record(late);
    }

    pub(in crate::server) fn bound(&self) -> Span {
        self.bound
    }

    pub(in crate::server) fn quantiles(&self) -> LatenessNs {
        let quantile = |percent| self.histogram.quantile(Ratio::percent(percent)).map(Span::ns);
        let max = self.histogram.max().map(Span::ns);
        LatenessNs { p50: quantile(50), p99: quantile(99), max }
    }

    /// A run with lateness above the bound is void: it measured this host, not the drive.
    pub(in crate::server) fn is_valid(&self) -> bool {
        self.quantiles().p99.is_some_and(|p99| p99 <= self.bound.ns())
    }
}
