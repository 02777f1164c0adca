//! The block devices that share sectors with a given one.

use std::path::Path;

use drivelab_core::usage::{BlockDevice, DeviceNumber, Identity, Usage};

pub(super) fn behind(device: &BlockDevice) -> Option<Identity> {
    device.backing.as_ref()?.identity
}

/// Everything whose sectors writing `device` would change: itself, its partitions, the disk that it
/// is a part of, and for a loop device the device behind it.
pub(super) fn touched<'u>(usage: &'u Usage, device: &'u BlockDevice) -> Vec<&'u BlockDevice> {
    let mut found: Vec<&BlockDevice> = Vec::new();
    let mut next = Some(device);
    // A loop device on a loop device on a disk is the deepest real stack; eight end a circle.
    for _ in 0..8 {
        let Some(device) = next.take() else { break };
        found.extend(usage.partitions(device.number));
        let whole = usage.whole(device);
        next = behind(whole.unwrap_or(device)).and_then(|file| usage.device(file.device()?));
        found.extend(whole);
        found.insert(0, device);
    }
    found
}

/// A loop device on `device`, or on the same file as it; none of `except`.
pub(super) fn loop_on_device<'u>(
    usage: &'u Usage,
    device: &BlockDevice,
    except: &[&BlockDevice],
) -> Option<&'u BlockDevice> {
    let own = behind(device);
    usage.devices.iter().filter(|other| !except.contains(other)).find(|other| {
        let file = behind(other);
        file.is_some() && (file == Some(Identity::Device(device.number)) || file == own)
    })
}

/// The device called `path`, with its kind if the name does not show it: `/dev/sda1, a partition of
/// /dev/sda`.
pub(super) fn described(usage: &Usage, path: &Path, device: &BlockDevice) -> Option<String> {
    let named = (path != Path::new(&device.node())).then(|| device.node());
    let parts: Vec<String> = named.into_iter().chain(stands_for(usage, device)).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The kind of a device that is not a disk: `a partition of /dev/sda`.
fn stands_for(usage: &Usage, device: &BlockDevice) -> Option<String> {
    let whole = usage.whole(device);
    let memory = whole.unwrap_or(device);
    let what = match &memory.backing {
        Some(backing) => Some(format!("a loop device on {}", backing.path.display())),
        None => memory.name.starts_with("zram").then(|| "compressed memory (zram)".into()),
    };
    match (whole, what) {
        (Some(whole), Some(what)) => Some(format!("a partition of {}, {what}", whole.node())),
        (Some(whole), None) => Some(format!("a partition of {}", whole.node())),
        (None, what) => what,
    }
}

#[derive(Debug)]
pub(crate) struct Disk {
    /// Its number; for a partition that of the whole disk.
    pub(crate) number: DeviceNumber,
    /// Its real nature, if it is not a physical disk.
    pub(crate) stand_in: Option<String>,
    pub(crate) write_back: bool,
    /// True if its queue can be polled; absent if it has no queue.
    pub(crate) polled: Option<bool>,
}

/// The disk that is the block device `number`, or that contains the files of a file system with
/// that number. `path` has no links, and decides if the file system shows another number.
pub(super) fn disk_under(
    usage: &Usage,
    number: DeviceNumber,
    path: &Path,
    is_device: bool,
) -> Option<Disk> {
    let device = usage.device(number).or_else(|| usage.device(mounted_above(usage, path)?))?;
    let disk = usage.whole(device).unwrap_or(device);
    let is_none = disk.backing.is_some() || disk.name.starts_with("zram");
    let stand_in = is_none.then(|| stands_for(usage, device)).flatten();
    Some(Disk {
        number: disk.number,
        stand_in: stand_in.map(|it| if is_device { it } else { format!("a file on {it}") }),
        write_back: disk.write_back,
        polled: disk.polled,
    })
}

/// The device of the file system that contains `path`, by the table of mounts.
fn mounted_above(usage: &Usage, path: &Path) -> Option<DeviceNumber> {
    let ours = usage.mounts.iter().filter(|mount| mount.seen_by.is_none());
    // If several mounts cover one another, the last one hides the others.
    let mount = ours.filter(|mount| path.starts_with(&mount.at)).max_by_key(|it| it.at.len())?;
    mount.source?.device()
}
