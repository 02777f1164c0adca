//! `hwinfo --disk`, and the disks in the output of `hwinfo`.

use super::tree::Tree;
use crate::tools::drive::facts::{Facts, count, node_of, pair};

/// Reads the block of one disk: `27: IDE 00.0: 10600 Disk` and the lines below it.
pub(in crate::tools) fn disk(lines: &[&str], tree: &mut Tree) -> Option<Facts> {
    let name = value(lines, "SysFS ID")?.rsplit('/').next()?.to_owned();
    let path = value(lines, "SysFS Device Link").filter(|path| path.starts_with("/devices/"));
    if let Some(path) = path {
        add_path(tree, &name, path);
        let driver = value(lines, "Driver").and_then(|text| text.split('"').nth(1));
        add_driver(tree, path, driver);
    }
    let block = tree.block(&name);
    // `Size: 250069680 sectors a 512 bytes`
    let size = value(lines, "Size").and_then(|text| {
        let bytes = text.split_once("sectors a ").and_then(|(_, rest)| count(rest))?;
        count(text)?.checked_mul(bytes)
    });
    tree.set_some(&format!("{block}/size"), size.map(|bytes| bytes / 512));
    // An NVMe drive has the words of the PCI database as its model.
    let is_pci = value(lines, "Vendor").is_some_and(|text| text.starts_with("pci "));
    Some(Facts {
        tool: "hwinfo".to_owned(),
        node: value(lines, "Device File").and_then(node_of).or(Some(name)),
        model: quoted(lines, "Model").filter(|model| !is_pci && model != "Disk"),
        serial: quoted(lines, "Serial ID"),
        firmware: quoted(lines, "Revision").filter(|_| !is_pci),
        ..Facts::default()
    })
}

/// The value of a line `Key: value`.
fn value<'a>(lines: &[&'a str], wanted: &str) -> Option<&'a str> {
    let mut pairs = lines.iter().filter_map(|line| pair(line));
    pairs.find(|(key, _)| *key == wanted).map(|(_, value)| value)
}

/// The first text in quotes in such a value.
fn quoted(lines: &[&str], key: &str) -> Option<String> {
    let text = value(lines, key)?.split('"').nth(1)?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Puts the disk below its device.
fn add_path(tree: &mut Tree, name: &str, path: &str) {
    // The link leads to the device, not to the block device below it.
    let last = path.rsplit('/').next().unwrap_or_default();
    // The controller of an NVMe drive has the namespace below it; any other device, `block`.
    let below = if last.starts_with("nvme") { name.to_owned() } else { format!("block/{name}") };
    tree.add_block_device(name, &format!("{path}/{below}"));
    tree.link(&format!("sys{path}/{below}/device"), &format!("/sys{path}"));
}

/// The driver of the nearest PCI function.
fn add_driver(tree: &mut Tree, path: &str, driver: Option<&str>) {
    let Some(driver) = driver else { return };
    let mut parts: Vec<&str> = path.split('/').collect();
    while let Some(part) = parts.last() {
        if crate::log::is_address(part) {
            let folder = parts.join("/");
            tree.link(&format!("sys{folder}/driver"), &format!("/sys/bus/pci/drivers/{driver}"));
            return;
        }
        parts.pop();
    }
}
