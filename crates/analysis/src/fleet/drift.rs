//! Settings that disks of one model do not share.

use std::collections::BTreeMap;

use super::gather::{Disk, DiskName, Fleet};

/// The facts that identify a model: no settings, or the same wherever the model is.
const IDENTITY: [&str; 4] = ["model", "kind", "capacity_bytes", "rpm"];
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
    let mut models: BTreeMap<(&str, &str), Vec<&Disk>> = BTreeMap::new();
    for (_, disk) in fleet.current() {
        if let Some(model) = disk.facts.get("model") {
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
                model: model.to_owned(),
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
        for (setting, value) in facts.filter(|(name, _)| !IDENTITY.contains(&name.as_str())) {
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
