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
    if same > 0 {
        return None;
    }
    let release = root.text("proc/sys/kernel/osrelease", TABLE_BYTES_MAX);
    match (&log.release, release.as_deref().map(str::trim)) {
        (Some(logged), Some(own)) if logged == own => None,
        (Some(logged), Some(own)) => {
            Some(format!("the log is of a kernel {logged}, and this machine runs {own}"))
        }
        _ => Some("nothing in the log shows that it is this machine's".to_owned()),
    }
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
