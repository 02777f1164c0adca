//! Software RAID: missing disks, or a resync in progress.

use drivelab_core::outline::Severity;

use super::context::{Context, Findings};
use crate::found::FindingId;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let Some(array) = &context.device.md else { return };
    let name = &context.device.name;
    let missing = array.degraded.unwrap_or(0);
    // States in which it serves no request (Linux, Documentation/admin-guide/md.rst).
    let inactive = matches!(array.array_state.as_deref(), Some("inactive" | "clear" | "broken"));
    if missing > 0 || inactive {
        let disks = array.disks.map_or_else(|| "its".into(), |disks| disks.to_string());
        let message = if missing > 0 {
            format!("the array lacks {missing} of {disks} disks")
        } else {
            "the array is not running".into()
        };
        findings
            .add(FindingId::MdDegraded, Severity::Error)
            .says(message)
            .seen(vec![
                if array.table_only {
                    format!("/proc/mdstat: {missing} missing")
                } else {
                    format!("/sys/block/{name}/md/degraded: {missing}")
                },
                array.array_state.as_ref().map(|s| format!("array_state: {s}")).unwrap_or_default(),
                format!("disks in it: {}", context.device.slaves.join(", ")),
            ])
            .fix(if matches!(array.level.as_deref(), Some("raid0" | "linear")) {
                format!(
                    "this level has no copy: find the missing disk with `mdadm --detail /dev/{name}` \
                     and attach it again, or restore the data from a backup to a new array"
                )
            } else {
                format!(
                    "find the missing disk with `mdadm --detail /dev/{name}`; `mdadm --re-add` takes \
                     back one that was only disconnected, otherwise replace it and use `mdadm \
                     --add`; measure after the rebuild"
                )
            });
    }
    if let Some(action) = array.busy_with() {
        let done = array.sync_completed.as_deref();
        findings
            .add(FindingId::MdResyncing, Severity::Warn)
            .says(format!("the array is busy ({action}) and reads and writes all its disks"))
            .seen(vec![
                if array.table_only {
                    format!("/proc/mdstat: {action}")
                } else {
                    format!("/sys/block/{name}/md/sync_action: {action}")
                },
                done.map(|done| format!("done: {done}")).unwrap_or_default(),
            ])
            .fix(format!(
                "wait until /proc/mdstat shows no more progress line, then measure; `echo idle | \
                 sudo tee /sys/block/{name}/md/sync_action` interrupts a check"
            ));
    }
}
