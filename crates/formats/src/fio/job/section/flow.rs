//! The options of a rate that jobs share.

use drivelab_core::units::Span;
use drivelab_core::workload::FlowShare;

/// The options of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::fio::job) struct Flow {
    pub(in crate::fio::job) weight: u32,
    pub(in crate::fio::job) id: u32,
    pub(in crate::fio::job) sleep: Span,
}

impl Flow {
    /// The share of a job; a weight of 0 is none.
    pub(in crate::fio::job) fn share(self) -> Option<FlowShare> {
        let Self { weight, id, sleep } = self;
        (weight > 0).then_some(FlowShare { id, weight, sleep })
    }
}
