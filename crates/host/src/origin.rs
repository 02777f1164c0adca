//! Decides whether a kernel log is that of the machine whose `/sys` is read.

use crate::log::KernelLog;
use crate::root::{Root, TABLE_BYTES_MAX};

/// Returns the reason why the log is that of another machine, or cannot be assigned to this one;
/// `None` if it is this machine's.
pub(crate) fn foreign(root: &Root, log: &KernelLog) -> Option<String> {
    let (same, other) = controllers(root, log);
    if let Some(address) = other {
        return Some(format!("this machine has no such controller as {address} in the log"));
    }
    if same > 0 || same_command_line(root, log) {
        return None;
    }
    let release = root.text("proc/sys/kernel/osrelease", TABLE_BYTES_MAX);
    match (&log.release, release.as_deref().map(str::trim)) {
        (Some(logged), Some(own)) if logged != own => {
            Some(format!("the log is of a kernel {logged}, and this machine runs {own}"))
        }
        _ => Some("nothing in the log shows that it is this machine's".to_owned()),
    }
}

/// Returns whether the kernel was started with the same command line, if that names a file system
/// by its number, which no other machine has. Many machines run the same kernel release.
fn same_command_line(root: &Root, log: &KernelLog) -> bool {
    let own = root.text("proc/cmdline", TABLE_BYTES_MAX);
    let logged = log.command_line.as_deref().filter(|line| line.contains("UUID="));
    logged.is_some_and(|logged| own.is_some_and(|own| own.trim() == logged))
}

/// Returns the number of PCI functions that log and tree have in common, and one that differs.
fn controllers<'l>(root: &Root, log: &'l KernelLog) -> (usize, Option<&'l str>) {
    let mut same = 0;
    for (address, logged) in &log.controllers {
        let Some((vendor, device)) = logged.id else { continue };
        let node = root.node(&format!("sys/bus/pci/devices/{address}"));
        let own = node.and_then(|node| node.hex("vendor").zip(node.hex("device")));
        if own != Some((u32::from(vendor), u32::from(device))) {
            return (same, Some(address));
        }
        debug_assert!(same < log.controllers.len(), "each function is counted once");
        same += 1;
    }
    (same, None)
}
