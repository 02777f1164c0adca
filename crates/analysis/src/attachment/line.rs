//! The attachment of one run's target, in a line.

use drivelab_core::record::{Attached, RunRecord};

use super::facts;

/// Facts that decide a benchmark, in the order in which they are printed.
const TOLD: [(&str, &str); 8] = [
    ("controller", "controller"),
    ("link_gbps", "link"),
    ("queue_depth", "queue depth"),
    ("ncq", "NCQ"),
    ("scheduler", "scheduler"),
    ("nr_requests", "nr_requests"),
    ("write_cache", "cache"),
    ("tier", "tier"),
];

/// `vda (virtio): controller virtio, queue depth 128, ...; found wrong: readahead-extreme`.
pub fn line(record: &RunRecord) -> Option<String> {
    let attached = record.attached.as_ref()?;
    if let Some(why) = &attached.unseen {
        return Some(format!("unknown: {why}"));
    }
    let seen = facts(record);
    let told = TOLD.iter().filter_map(|(name, label)| {
        let unit = if *name == "link_gbps" { " Gb/s" } else { "" };
        Some(format!("{label} {}{unit}", seen.get(*name)?))
    });
    let told: Vec<String> = told.chain(seen.get("file_system").cloned()).collect();
    let wrong = seen.get("findings").filter(|findings| *findings != "none");
    let wrong = wrong.map(|ids| format!("; findings: {ids}")).unwrap_or_default();
    Some(format!("{}: {}{wrong}", names(attached), told.join(", ")))
}

/// The devices from the top down.
fn names(attached: &Attached) -> String {
    let names = attached.devices.iter().map(|device| format!("{} ({})", device.name, device.kind));
    names.collect::<Vec<_>>().join(", ")
}
