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
    mismatch(context, findings);
    if array.resync_pending && array.busy_with().is_none() {
        findings
            .add(FindingId::MdResyncing, Severity::Info)
            .says("the array must be resynchronised, and waits for its first write to begin")
            .seen(vec!["/proc/mdstat: resync=PENDING".to_owned()])
            .fix(format!(
                "`sudo mdadm --readwrite /dev/{name}` begins it (undo: `sudo mdadm --readonly \
                 /dev/{name}`); measure when it is done"
            ));
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

/// Checks for blocks that differed in the last check.
fn mismatch(context: &Context<'_>, findings: &mut Findings) {
    let Some(array) = &context.device.md else { return };
    let name = &context.device.name;
    let Some(count) = array.mismatch_count.filter(|count| *count > 0) else { return };
    // Pages that change while they are written differ in the copies, such as those of swap space
    // (md(4), "SCRUBBING AND MISMATCHES").
    let copies = matches!(array.level.as_deref(), Some("raid1" | "raid10"));
    let (severity, message) = if copies {
        (Severity::Info, "sectors differ between the copies; those of swap space are usual")
    } else {
        (Severity::Warn, "sectors do not fit the parity: a disk, or the memory, wrote other data")
    };
    findings
        .add(FindingId::MdMismatch, severity)
        .says(format!("{count} {message}"))
        .seen(vec![format!("/sys/block/{name}/md/mismatch_cnt: {count}")])
        .fix(format!(
            "look for errors of each disk (`sudo smartctl -x`) and test the memory first; `echo check \
             | sudo tee /sys/block/{name}/md/sync_action` counts again. `repair` makes them equal \
             but cannot know which copy is right: save the data first, it cannot be undone"
        ));
}
