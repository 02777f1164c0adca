//! The options of a target for latencies.

use drivelab_core::units::{Ratio, Span};
use drivelab_core::workload::LatencyGoal;

#[derive(Debug, Clone, Copy)]
pub(in crate::fio::job) struct Latency {
    pub(in crate::fio::job) target: Span,
    pub(in crate::fio::job) window: Span,
    pub(in crate::fio::job) percent: f64,
    pub(in crate::fio::job) endless: bool,
}

impl Default for Latency {
    fn default() -> Self {
        Self { target: Span::ZERO, window: Span::ZERO, percent: 100.0, endless: false }
    }
}

impl Latency {
    /// The goal; as in fio, the other options change nothing without a target.
    pub(in crate::fio::job) fn goal(self) -> Option<LatencyGoal> {
        let Self { target, window, percent, endless } = self;
        debug_assert!((0.0..=100.0).contains(&percent), "the option was read");
        // Billionths of a percentage with a few digits are exact.
        let share: Ratio = format!("{:.9}", percent / 100.0).parse().ok()?;
        (!target.is_zero()).then_some(LatencyGoal { target, window, share, endless })
    }
}
