//! The decision if a device or a file may be written: a pure judgement over the facts that Linux
//! reports.

use std::io;
use std::path::{Path, PathBuf};

use drivelab_core::units::Bytes;
use drivelab_core::usage::{BlockDevice, DeviceNumber, Identity, Mounted, Opener, Usage};

use super::error::{GuardError, Use};
use super::tree;

#[derive(Debug, Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) path: &'a Path,
    pub(super) device: DeviceNumber,
    /// Block devices that may be written, by the names the user repeated.
    pub(super) allowed: &'a [PathBuf],
}

impl Wish<'_> {
    pub(super) fn in_use(self, device: &BlockDevice, by: Use) -> GuardError {
        GuardError::InUse { path: self.path.into(), device: device.node(), by }
    }

    pub(super) fn unknown(self, source: io::Error) -> GuardError {
        GuardError::Unknown { path: self.path.into(), source }
    }
}

/// Every device that writing the requested one would change, if none of them is in use.
pub(super) fn judge<'u>(
    usage: &'u Usage,
    wish: Wish<'_>,
) -> Result<Vec<&'u BlockDevice>, GuardError> {
    let device = usage.device(wish.device);
    if !wish.allowed.iter().any(|name| name == wish.path) {
        let what = device.and_then(|device| tree::described(usage, wish.path, device));
        let named = wish.allowed.to_vec();
        return Err(GuardError::BlockDevice { path: wish.path.into(), what, named });
    }
    let device =
        device.ok_or_else(|| wish.unknown(io::Error::other("sysfs lists no such block device")))?;
    let touched = tree::touched(usage, device);
    debug_assert!(touched.iter().any(|it| it.number == wish.device), "it changes itself");
    if let Some((used, by)) = user(usage, &touched) {
        return Err(wish.in_use(used, by));
    }
    if let Some(device) = touched.iter().find(|device| device.read_only) {
        return Err(GuardError::ReadOnly { path: wish.path.into(), device: device.node() });
    }
    Ok(touched)
}

/// The user of one of the devices `touched`, without processes that have one open.
fn user<'u>(usage: &'u Usage, touched: &[&'u BlockDevice]) -> Option<(&'u BlockDevice, Use)> {
    let one_of = |number: DeviceNumber| touched.iter().find(|it| it.number == number).copied();
    let mounted = usage.mounts.iter().find_map(|mount| Some((mount, mounts_one(mount, one_of)?)));
    if let Some((mount, device)) = mounted {
        return Some((device, mounted_at(mount)));
    }
    if let Some(device) = usage.swaps.iter().find_map(|swap| one_of(swap.device()?)) {
        return Some((device, Use::Swap));
    }
    touched.iter().find_map(|device| {
        let by = part_of_mounted(usage, device)
            .or_else(|| Some(Use::Holder { name: usage.holders(device).pop()? }))
            .or_else(|| {
                let name = tree::loop_on_device(usage, device, touched)?.name.clone();
                Some(Use::Loop { name })
            });
        Some((*device, by?))
    })
}

fn mounted_at(mount: &Mounted) -> Use {
    Use::Mounted { at: mount.at.clone(), seen_by: mount.seen_by.clone() }
}

/// Btrfs mounts show another number, and the device only by name; so do the logs of other
/// file systems.
fn mounts_one<T>(mount: &Mounted, one_of: impl Fn(DeviceNumber) -> Option<T>) -> Option<T> {
    let named = mount.source.iter().chain(&mount.others).filter_map(|source| source.device());
    std::iter::once(mount.device).chain(named).find_map(one_of)
}

/// The mount point of the btrfs file system that `device` is a part of, by any of its devices.
fn part_of_mounted(usage: &Usage, device: &BlockDevice) -> Option<Use> {
    let all = usage.btrfs.iter().find(|devices| devices.contains(&device.number))?;
    let mount = usage
        .mounts
        .iter()
        .find(|mount| mounts_one(mount, |number| all.contains(&number).then_some(())).is_some());
    mount.map(mounted_at)
}

/// The first of `openers` that is not this process; the first `own` times that this process has a
/// device open do not count.
pub(super) fn other_opener(openers: Vec<Opener>, own: usize) -> Option<Opener> {
    let mut spared = 0;
    openers.into_iter().find(|opener| {
        let spare = opener.process.id == std::process::id() && spared < own;
        spared += usize::from(spare);
        !spare
    })
}

/// The user of the regular file `file`: swap, a loop device, or a file system in it.
pub(super) fn judge_file(usage: &Usage, file: Identity) -> Option<Use> {
    if usage.swaps.contains(&file) {
        return Some(Use::Swap);
    }
    let loops = usage.devices.iter().find(|device| tree::behind(device) == Some(file));
    if let Some(device) = loops {
        return Some(Use::Loop { name: device.name.clone() });
    }
    // Without a loop device: EROFS since Linux 6.12, and file systems in user space.
    let mut mounts = usage.mounts.iter();
    mounts.find(|mount| mount.source == Some(file) || mount.others.contains(&file)).map(mounted_at)
}

/// Returns true if the driver of a loop device must be queried for its file, in order to judge
/// `file` of `length` bytes: the path in sysfs may refer to another file, or to none. A loop device
/// that extends beyond the end of the file is not queried, because a query requires opening it.
pub(super) fn must_ask(device: &BlockDevice, file: Identity, length: Bytes) -> bool {
    let Some(backing) = &device.backing else { return false };
    backing.identity != Some(file) && backing.reach.is_none_or(|reach| reach <= length)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
