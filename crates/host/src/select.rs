//! Which devices are meant.

use std::collections::{BTreeMap, BTreeSet};

use crate::device::Device;
use crate::root::Root;

/// Why nothing can be said of what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// There is no such device.
    #[error("there is no block device `{name}`; {}", nearest(.near))]
    NoSuchDevice {
        /// What was asked for.
        name: String,
        /// Devices there are, the most alike first.
        near: Vec<String>,
    },
    /// A file is in memory, on another machine, or spread over several devices.
    #[error("`{path}` is on no block device of its own (file system: `{file_system}`)")]
    NoBlockDevice {
        /// The file.
        path: String,
        /// The kind of its file system; empty where unknown.
        file_system: String,
    },
}

fn nearest(near: &[String]) -> String {
    if near.is_empty() {
        "the tree has none".into()
    } else {
        format!("there are {}", near.join(", "))
    }
}

/// The devices named (`sda`, `/dev/sda1`, `/dev/mapper/home`, `home`), each followed by what it is
/// made of.
pub(crate) fn chosen(
    all: &BTreeMap<String, Device>,
    wanted: &[String],
) -> Result<Vec<Device>, InspectError> {
    let mut chosen = Vec::new();
    let mut seen = BTreeSet::new();
    for name in wanted {
        let first = find(all, name).ok_or_else(|| missing(all, name))?;
        let mut pending = vec![first];
        while let Some(device) = pending.pop() {
            // Broken trees can have devices that are made of each other.
            if !seen.insert(device.name.clone()) {
                continue;
            }
            let below = device.slaves.iter().rev();
            pending.extend(below.filter_map(|name| find(all, name)));
            chosen.push(device);
        }
    }
    Ok(chosen)
}

/// The device, or the partition as a device, of this name.
fn find(all: &BTreeMap<String, Device>, name: &str) -> Option<Device> {
    let short = name.strip_prefix("/dev/").unwrap_or(name);
    let mapped = short.strip_prefix("mapper/").unwrap_or(short);
    let kernel = short.replace('/', "!");
    if let Some(device) = all.get(&kernel) {
        return Some(device.clone());
    }
    for disk in all.values() {
        if let Some(partition) = disk.partitions.iter().find(|part| part.name == kernel) {
            return Some(Device::of_partition(partition.clone(), disk));
        }
    }
    let named = |device: &&Device| {
        device.dm.as_ref().and_then(|dm| dm.name.as_deref()).is_some_and(|name| name == mapped)
    };
    all.values().find(named).cloned()
}

fn missing(all: &BTreeMap<String, Device>, name: &str) -> InspectError {
    let short = name.rsplit('/').next().unwrap_or(name);
    let mut near: Vec<(usize, String)> =
        all.keys().map(|known| (strsim::levenshtein(known, short), known.clone())).collect();
    near.sort();
    let near = near.into_iter().take(5).map(|(_, name)| name).collect();
    InspectError::NoSuchDevice { name: name.to_owned(), near }
}

/// The name of the block device with this number, by `sys/dev/block`.
pub(crate) fn by_number(root: &Root, number: &str) -> Option<String> {
    let whole = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (major, minor) = number.split_once(':')?;
    if !whole(major) || !whole(minor) || major == "0" {
        return None;
    }
    root.node(&format!("sys/dev/block/{number}")).map(|node| node.name().to_owned())
}

/// The name of the device that a table of mounts calls `source`.
pub(crate) fn by_source(all: &BTreeMap<String, Device>, source: &str) -> Option<String> {
    source.starts_with("/dev/").then(|| find(all, source)).flatten().map(|device| device.name)
}
