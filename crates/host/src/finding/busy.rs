//! Another program is using the disk, or could without being seen.

use drivelab_core::outline::Severity;

use super::context::{Context, Findings, attribute};
use crate::found::FindingId;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    if context.device.queue.iostats == Some(false) {
        findings
            .add(FindingId::IostatsOff, Severity::Info)
            .says("the kernel does not count its requests: other programs use it unseen".to_owned())
            .seen(vec![attribute(context, "queue/iostats", "0")])
            .fix(format!("echo 1 > /sys/block/{}/queue/iostats", context.device.name));
    }
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
