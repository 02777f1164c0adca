//! Another program is using the disk.

use drivelab_core::outline::Severity;

use super::context::{Context, Findings, attribute};
use crate::found::FindingId;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let flight = context.device.in_flight;
    if flight.total() == 0 {
        return;
    }
    let (reads, writes) = (flight.reads.unwrap_or(0), flight.writes.unwrap_or(0));
    findings
        .add(FindingId::DeviceBusy, Severity::Warn)
        .says(format!("in use by other processes: {reads} reads and {writes} writes in flight"))
        .seen(vec![attribute(context, "inflight", &format!("{reads} {writes}"))])
        .fix(
            "find the process (`drivelab inspect --watch`, iotop, fuser), and wait for it or stop \
              it",
        );
}
