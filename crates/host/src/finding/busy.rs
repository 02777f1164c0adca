//! Others use the disk while it is looked at.

use super::{Context, FindingId, Findings, Severity, attribute};

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let flight = context.device.in_flight;
    if flight.total() == 0 {
        return;
    }
    let (reads, writes) = (flight.reads.unwrap_or(0), flight.writes.unwrap_or(0));
    findings
        .add(FindingId::DeviceBusy, Severity::Warn)
        .says(format!("others use the disk: {reads} reads and {writes} writes under way"))
        .seen(vec![attribute(context, "inflight", &format!("{reads} {writes}"))])
        .fix(
            "find who it is (`drivelab inspect --watch`, iotop, fuser) and wait or stop it; what \
             is measured meanwhile is shared",
        );
}
