//! Selects the requested devices.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use drivelab_core::config;

use crate::device::{Device, Mounts};
use crate::log::disk_of;
use crate::root::{Root, Unanswered};

/// Maximum number of devices that a message names.
const NEAR_SHOWN: usize = 5;

/// A request for devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A block device by name: `sda`, `/dev/sda1`, `/dev/mapper/home`, `home`.
    Name(String),
    /// The block device that contains a file, or that a device file represents.
    Holder {
        /// The path of the file.
        path: String,
        /// The number of the device: see [`device_number`].
        number: String,
    },
}

/// A device number as `stat` gives it, as sysfs writes it: `8:1`.
pub fn device_number(number: u64) -> String {
    format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number))
}

/// The reason why a request cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// There is no such device.
    #[error("there is no block device `{name}`; {}", nearest(.near, *.more))]
    NoSuchDevice {
        /// The requested name.
        name: String,
        /// Existing devices: the most similar one, then drives, then the others.
        near: Vec<String>,
        /// The number of further devices.
        more: usize,
    },
    /// There is no tree to search.
    #[error("cannot inspect any disk: {} is missing", base.join("sys/block").display())]
    NoTree {
        /// The expected path of the tree.
        base: PathBuf,
    },
    /// Too much of the tree does not answer.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    /// The log is that of another machine, which has no such device, or which cannot be captured.
    #[error("the kernel log is not this machine's ({reason}){}", unnamed(.name.as_deref()))]
    ForeignLog {
        /// The requested name; `None` for a capture.
        name: Option<String>,
        /// The reason why the log is taken for another machine's.
        reason: String,
    },
    /// The file is in memory, on another machine, or spread over several devices.
    #[error("`{path}` is not on a block device (file system: `{file_system}`)")]
    NoBlockDevice {
        /// The file.
        path: String,
        /// The kind of its file system; empty if unknown.
        file_system: String,
    },
}

fn unnamed(name: Option<&str>) -> String {
    match name {
        Some(name) => format!(", and it names no disk `{name}`"),
        None => ", so a capture of this machine cannot contain it".to_owned(),
    }
}

fn nearest(near: &[String], more: usize) -> String {
    match (near, more) {
        ([], _) => "there are none".into(),
        (near, 0) => format!("there are {}", near.join(", ")),
        (near, more) => format!("there are {}, and {more} more", near.join(", ")),
    }
}

/// The requested devices, each followed by its components.
pub(crate) fn chosen(
    root: &Root,
    all: &BTreeMap<String, Device>,
    mounts: &Mounts,
    wanted: &[Wanted],
) -> Result<Vec<Device>, InspectError> {
    if all.is_empty() && root.block_devices().is_none() {
        return Err(InspectError::NoTree { base: root.base().to_owned() });
    }
    let mut chosen = Vec::new();
    let mut seen = BTreeSet::new();
    for wanted in wanted {
        let mut pending = match wanted {
            Wanted::Name(name) => vec![find(all, name).ok_or_else(|| missing(all, name))?],
            Wanted::Holder { path, number } => holders(root, all, mounts, path, number)?,
        };
        // The last one is the next one taken.
        pending.reverse();
        while let Some(device) = pending.pop() {
            // A broken tree can have devices that are built on each other.
            if !seen.insert(device.name.clone()) {
                continue;
            }
            // Reversed, because the last one pushed is the next one taken.
            let below = device.slaves.iter().rev();
            pending.extend(below.filter_map(|name| find(all, name)));
            chosen.push(device);
        }
    }
    Ok(chosen)
}

/// The requested devices of those that a log of another machine names.
pub(crate) fn of_log(
    devices: &[Device],
    wanted: &[Wanted],
    reason: &str,
) -> Result<Vec<Device>, InspectError> {
    let mut chosen: Vec<Device> = Vec::new();
    for wanted in wanted {
        let name = match wanted {
            Wanted::Name(name) => name,
            Wanted::Holder { path, .. } => path,
        };
        let disk = disk_of(name.trim_start_matches("/dev/"));
        let path = format!("/dev/{disk}");
        let device = devices.iter().find(|device| {
            device.name == disk || device.path.as_ref().is_some_and(|own| *own == path)
        });
        let Some(device) = device else {
            let (name, reason) = (Some(name.clone()), reason.to_owned());
            return Err(InspectError::ForeignLog { name, reason });
        };
        if chosen.iter().all(|it| it.name != device.name) {
            chosen.push(device.clone());
        }
    }
    Ok(chosen)
}

/// The device, or the partition as a device, with this name.
fn find(all: &BTreeMap<String, Device>, name: &str) -> Option<Device> {
    let short = name.strip_prefix("/dev/").unwrap_or(name);
    let mapped = short.strip_prefix("mapper/").unwrap_or(short);
    // The kernel writes `!` for a slash in a name, as in `cciss!c0d0`.
    let kernel = short.replace('/', "!");
    if let Some(device) = all.get(&kernel) {
        return Some(device.clone());
    }
    for disk in all.values() {
        if let Some(partition) = disk.partitions.iter().find(|part| part.name == kernel) {
            return Some(Device::of_partition(partition.clone(), disk));
        }
    }
    let mut devices = all.values();
    let named = devices.find(|device| {
        device.dm.as_ref().and_then(|dm| dm.name.as_deref()).is_some_and(|name| name == mapped)
    });
    named.cloned()
}

fn missing(all: &BTreeMap<String, Device>, name: &str) -> InspectError {
    let short = name.rsplit('/').next().unwrap_or(name);
    // A name is truncated: one of kilobytes is similar to none.
    let short: String = short.chars().take(64).collect();
    let meant = config::nearest(&short, all.keys().map(String::as_str));
    let mut near: Vec<&Device> = all.values().collect();
    near.sort_by_key(|device| {
        (Some(device.name.as_str()) != meant, !device.is_drive(), device.name.as_str())
    });
    let more = near.len().saturating_sub(NEAR_SHOWN);
    let near: Vec<String> =
        near.into_iter().take(NEAR_SHOWN).map(|device| device.name.clone()).collect();
    debug_assert!(near.len() <= NEAR_SHOWN && near.len() + more == all.len(), "all are counted");
    InspectError::NoSuchDevice { name: name.to_owned(), near, more }
}

/// The name of the block device with this number, from `sys/dev/block`.
fn by_number(root: &Root, number: &str) -> Option<String> {
    let (major, minor) = number.split_once(':')?;
    // Major number 0 is that of file systems without a device.
    let are_numbers = [major, minor]
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if !are_numbers || major == "0" {
        return None;
    }
    root.node(&format!("sys/dev/block/{number}")).map(|node| node.name().to_owned())
}

/// The devices that contain a file: the one with its number, otherwise that of the mount, and all
/// others of a btrfs over several.
fn holders(
    root: &Root,
    all: &BTreeMap<String, Device>,
    mounts: &Mounts,
    path: &str,
    number: &str,
) -> Result<Vec<Device>, InspectError> {
    if let Some(name) = by_number(root, number) {
        return find(all, &name).map(|it| vec![it]).ok_or_else(|| missing(all, &name));
    }
    let (source, file_system) = mounts.source_of(number, path).unwrap_or(("", ""));
    let device = if source.starts_with("/dev/") { find(all, source) } else { None };
    let Some(device) = device else {
        let (path, file_system) = (path.to_owned(), file_system.to_owned());
        return Err(InspectError::NoBlockDevice { path, file_system });
    };
    // The mount names one of them.
    let named = [source.trim_start_matches("/dev/"), &device.name];
    let of_btrfs = members(root, &named).into_iter().filter_map(|name| find(all, &name));
    let others: Vec<Device> = of_btrfs.filter(|other| other.name != device.name).collect();
    Ok(std::iter::once(device).chain(others).collect())
}

/// The names of all devices of the btrfs that one with the first of these names that is known
/// belongs to.
fn members(root: &Root, named: &[&str]) -> Vec<String> {
    let Some(systems) = root.node("sys/fs/btrfs") else { return Vec::new() };
    let systems = systems.folders().into_iter().filter_map(|name| systems.child(&name));
    let of_each: Vec<Vec<String>> =
        systems.filter_map(|system| Some(system.child("devices")?.folders())).collect();
    let mut found = named.iter().filter_map(|name| {
        of_each.iter().find(|members| members.iter().any(|member| member == name))
    });
    found.next().cloned().unwrap_or_default()
}
