//! The users of a disk or a file: mounts in every visible namespace, swap, processes, locks.

use std::io;

use drivelab_core::usage::{BlockDevice, DeviceNumber, Identity, Mounted, Opener, Process};

use crate::device::{mount_line, unescaped};
use crate::root::{Root, TABLE_BYTES_MAX};

/// Maximum size of a table of processes.
const USERS_BYTES_MAX: usize = 16 << 20;

/// The identity of a path. If nothing exists there, as in a capture or in a namespace without that
/// device file, the kernel's name of a device is enough.
fn identity(root: &Root, devices: &[BlockDevice], below: &str, path: &str) -> Option<Identity> {
    let name = path.strip_prefix('/')?;
    let found = root.identity(&format!("{below}{name}"));
    found.or_else(|| {
        let named = devices.iter().find(|device| device.node() == path)?;
        Some(Identity::Device(named.number))
    })
}

fn processes(root: &Root) -> Vec<u32> {
    let names = root.node("proc").map(|proc| proc.folders()).unwrap_or_default();
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

fn process(root: &Root, id: u32) -> Process {
    let name = root.node(&format!("proc/{id}")).and_then(|node| node.text("comm"));
    Process { id, name: name.unwrap_or_default() }
}

fn mount_namespace(root: &Root, folder: &str) -> Option<String> {
    root.node(&format!("{folder}/ns"))?.link_name("mnt")
}

/// The table of mounts of the process in `folder`, whose paths begin at its root.
fn mount_table(root: &Root, folder: &str) -> Option<String> {
    root.text(&format!("{folder}/mountinfo"), USERS_BYTES_MAX)
}

/// Returns the mounts of this process's namespace.
///
/// # Errors
/// They cannot be read.
pub(super) fn own_mounts(root: &Root, devices: &[BlockDevice]) -> io::Result<Vec<Mounted>> {
    let own = mount_table(root, "proc/self");
    let own = own.ok_or_else(|| io::Error::other("/proc/self/mountinfo cannot be read"))?;
    Ok(mounts_in(root, devices, "proc/self", &own))
}

/// Returns all visible mounts: those of this process's namespace first, then those of every other
/// namespace of a visible process.
///
/// # Errors
/// As [`own_mounts`].
pub(super) fn mounts(root: &Root, devices: &[BlockDevice]) -> io::Result<Vec<Mounted>> {
    let mut mounts = own_mounts(root, devices)?;
    let mut seen: Vec<String> = mount_namespace(root, "proc/self").into_iter().collect();
    for id in processes(root) {
        let folder = format!("proc/{id}");
        // Processes end during this, and without privileges some are not accessible.
        let name = mount_namespace(root, &folder).filter(|name| !seen.contains(name));
        let Some(name) = name else { continue };
        seen.push(name);
        let Some(table) = mount_table(root, &folder) else { continue };
        let seen_by = Some(process(root, id));
        let others = mounts_in(root, devices, &folder, &table).into_iter();
        mounts.extend(others.map(|mount| Mounted { seen_by: seen_by.clone(), ..mount }));
    }
    Ok(mounts)
}

/// The mounts of a table, whose paths begin at the root of the process in `folder`.
fn mounts_in(root: &Root, devices: &[BlockDevice], folder: &str, table: &str) -> Vec<Mounted> {
    let below = format!("{folder}/root/");
    let mounted = table.lines().filter_map(|line| {
        let line = mount_line(line)?;
        let values = line.mount.options.iter().filter_map(|option| option.split_once('='));
        Some(Mounted {
            device: DeviceNumber::parse(line.number.as_deref()?)?,
            seen_by: None,
            source: identity(root, devices, &below, &line.source),
            others: values
                .filter_map(|(_, value)| identity(root, devices, &below, &unescaped(value)))
                .collect(),
            at: line.mount.point,
        })
    });
    mounted.collect()
}

/// The swap areas; none on a kernel without swap.
pub(super) fn swaps(root: &Root, devices: &[BlockDevice]) -> Vec<Identity> {
    let table = root.text("proc/swaps", TABLE_BYTES_MAX).unwrap_or_default();
    let paths = table.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().next());
    paths.filter_map(|path| identity(root, devices, "", &unescaped(path))).collect()
}

pub(super) fn btrfs(root: &Root) -> Vec<Vec<DeviceNumber>> {
    let Some(systems) = root.node("sys/fs/btrfs") else { return Vec::new() };
    let devices = systems.folders().into_iter().filter_map(|name| systems.child(&name));
    let devices = devices.filter_map(|system| system.child("devices"));
    let numbers = devices.map(|folder| -> Vec<DeviceNumber> {
        let nodes = folder.folders().into_iter().filter_map(|name| folder.child(&name));
        nodes.filter_map(|node| DeviceNumber::parse(&node.text("dev")?)).collect()
    });
    numbers.collect()
}

pub(super) fn openers(root: &Root, wanted: &[DeviceNumber]) -> Vec<Opener> {
    let mut openers = Vec::new();
    for id in processes(root) {
        let folder = format!("proc/{id}/fd");
        // Without privileges this fails for processes of other users.
        let names = root.node(&folder).map(|node| node.folders()).unwrap_or_default();
        let found = names.iter().filter_map(|name| root.identity(&format!("{folder}/{name}")));
        let numbers = found.filter_map(Identity::device).filter(|number| wanted.contains(number));
        openers.extend(numbers.map(|device| Opener { device, process: process(root, id) }));
    }
    openers
}

/// The running process that holds a `flock(2)` lock on `file`: the kernel releases the files of a
/// killed process's ring some milliseconds after its end.
pub(super) fn lock_holder(root: &Root, file: Identity) -> Option<Process> {
    let table = root.text("proc/locks", TABLE_BYTES_MAX)?;
    let id = table.lines().find_map(|line| lock(line, file))?;
    let stat = root.node(&format!("proc/{id}"))?.lines("stat")?;
    // The state is after the name, which may contain anything.
    let (_, state) = stat.rsplit_once(") ")?;
    (!state.starts_with(['Z', 'X'])).then(|| process(root, id))
}

/// The process in a line of `/proc/locks` (`man 5 proc_locks`), if the line is about this file.
fn lock(line: &str, file: Identity) -> Option<u32> {
    let Identity::File { device, inode } = file else { return None };
    let mut words = line.split_ascii_whitespace().skip(1);
    // `->` at this position marks a waiting process.
    // POSIX locks and leases do not protect a file against another drivelab.
    if words.next()? != "FLOCK" {
        return None;
    }
    // Between the type and the process: advisory or not, read or write.
    let process = words.nth(2)?.parse().ok()?;
    // `%02x:%02x:%lu` in the kernel (`fs/locks.c`).
    let file_id = format!("{:02x}:{:02x}:{inode}", device.major, device.minor);
    // 0 is a process that this namespace of processes does not show.
    (words.next()? == file_id && process != 0).then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_table_of_locks_are_read() {
        let file = Identity::File { device: DeviceNumber { major: 0xfe, minor: 1 }, inode: 4711 };
        let check = |line: &str, expected| assert_eq!(lock(line, file), expected, "{line}");
        check("1: FLOCK  ADVISORY  WRITE 708 fe:01:4711 0 EOF", Some(708));
        check("1: FLOCK  ADVISORY  WRITE 708 fe:02:4711 0 EOF", None);
        check("1: FLOCK  ADVISORY  WRITE 708 fe:01:471 0 EOF", None);
        check("1: -> FLOCK  ADVISORY  WRITE 709 fe:01:4711 0 EOF", None);
        check("2: POSIX  ADVISORY  WRITE 708 fe:01:4711 0 EOF", None);
        check("1: FLOCK  ADVISORY  WRITE 0 fe:01:4711 0 EOF", None);
        check("nonsense", None);
    }
}
