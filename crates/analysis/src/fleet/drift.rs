//! Settings that disks of one model do not share.

use std::collections::BTreeMap;

use super::gather::{Disk, DiskName, Fleet, model_or_kind};

/// The facts that identify a model or a machine's board: no settings, or the same wherever the
/// model is.
const IDENTITY: [&str; 7] = [
    "model",
    "kind",
    "capacity_bytes",
    "rpm",
    "pci_id",
    "logical_sector_bytes",
    "physical_sector_bytes",
];
/// Facts of the host of a USB disk, which is none of the disk's settings.
const USB_HOST: [&str; 3] = ["controller", "driver", "pcie"];
/// Settings that matter most, in the order in which they are listed; others follow by name.
const FIRST: [&str; 7] =
    ["link_gbps", "write_cache", "ncq", "queue_depth", "scheduler", "driver", "controller"];

/// A setting in which disks of one model and kind differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// The model.
    pub model: String,
    /// The kind: the same model behind a USB bridge is another matter.
    pub kind: String,
    /// The setting, under the name that `inspect --json` has for it.
    pub setting: String,
    /// Its values, the most common first.
    pub values: Vec<DriftedValue>,
}

/// A value of a setting, and which disks have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftedValue {
    /// The value.
    pub value: String,
    /// The disks.
    pub disks: Vec<DiskName>,
}

/// Every setting that drifted apart, by model.
pub(super) fn drifts(fleet: &Fleet) -> Vec<Drift> {
    let mut models: BTreeMap<(String, &str), Vec<&Disk>> = BTreeMap::new();
    for (_, disk) in fleet.current() {
        if let Some(model) = model_or_kind(disk.facts.get("model"), disk.facts.get("kind")) {
            let kind = disk.facts.get("kind").map_or("", String::as_str);
            models.entry((model, kind)).or_default().push(disk);
        }
    }
    models
        .into_iter()
        .flat_map(|((model, kind), disks)| {
            let mut drifts = of_peers(&disks);
            drifts.sort_by_key(|(setting, _)| rank(setting));
            let named = drifts.into_iter().map(|(setting, values)| Drift {
                model: model.clone(),
                kind: kind.to_owned(),
                setting,
                values,
            });
            named.collect::<Vec<_>>()
        })
        .collect()
}

/// Settings of which these disks have several values; one that a disk does not report is unknown,
/// and no other value.
fn of_peers(disks: &[&Disk]) -> Vec<(String, Vec<DriftedValue>)> {
    let mut settings: BTreeMap<&str, BTreeMap<&str, Vec<DiskName>>> = BTreeMap::new();
    for disk in disks {
        let facts = disk.facts.iter();
        let usb = disk.facts.get("kind").is_some_and(|kind| kind == "usb");
        let settings_of = facts.filter(|(name, _)| {
            let name = name.as_str();
            !(IDENTITY.contains(&name) || usb && USB_HOST.contains(&name))
        });
        for (setting, value) in settings_of {
            let values = settings.entry(setting).or_default();
            values.entry(value).or_default().push(disk.name.clone());
        }
    }
    let drifted = settings.into_iter().filter(|(_, values)| values.len() > 1);
    let sorted = drifted.map(|(setting, values)| {
        let values = values.into_iter();
        let mut values: Vec<DriftedValue> =
            values.map(|(value, disks)| DriftedValue { value: value.to_owned(), disks }).collect();
        // The usual value comes first.
        values.sort_by_key(|value| std::cmp::Reverse(value.disks.len()));
        (setting.to_owned(), values)
    });
    sorted.collect()
}

fn rank(setting: &str) -> (usize, String) {
    let rank = FIRST.iter().position(|first| *first == setting);
    (rank.unwrap_or(FIRST.len()), setting.to_owned())
}
