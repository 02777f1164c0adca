//! `hwinfo --disk`, and the disks and PCI functions in the output of `hwinfo`.

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
    let linked = value(lines, "Device Files").filter(|_| is_pci).and_then(model_in);
    let model = quoted(lines, "Model").filter(|model| !is_pci && model != "Disk");
    Some(Facts {
        tool: "hwinfo".to_owned(),
        node: value(lines, "Device File").and_then(node_of).or(Some(name)),
        model: model.or(linked),
        serial: quoted(lines, "Serial ID"),
        firmware: quoted(lines, "Revision").filter(|_| !is_pci),
        ..Facts::default()
    })
}

/// Reads the block of a PCI function, `43: PCI 200.0: 0108 Non-Volatile memory controller (NVM
/// Express)`; returns false for any other.
pub(in crate::tools) fn function(lines: &[&str], tree: &mut Tree) -> bool {
    let path = value(lines, "SysFS ID").filter(|path| path.starts_with("/devices/"));
    let Some(path) = path else { return false };
    let address = path.rsplit('/').next().unwrap_or_default();
    if !crate::log::is_address(address) {
        return false;
    }
    let folder = format!("sys{path}");
    let class = value(lines, "Module Alias").and_then(class_in);
    tree.set_some(&format!("{folder}/class"), class.map(|class| format!("0x{class:06x}")));
    for (key, name) in [("Vendor", "vendor"), ("Device", "device")] {
        let number = value(lines, key).and_then(|text| text.strip_prefix("pci "));
        let number = number.and_then(|text| text.split_whitespace().next());
        tree.set_some(&format!("{folder}/{name}"), number);
    }
    add_driver(tree, path, quoted(lines, "Driver").as_deref());
    debug_assert!(folder.ends_with(address), "a function is known by its address");
    tree.link(&format!("sys/bus/pci/devices/{address}"), &format!("/{folder}"));
    class.is_some()
}

/// The class in `"pci:v00008086d0000F1A8sv00008086sd0000390Dbc01sc08i02"`.
fn class_in(alias: &str) -> Option<u32> {
    let (_, rest) = alias.trim_matches('"').strip_prefix("pci:v")?.split_once("bc")?;
    let (base, rest) = rest.split_once("sc")?;
    let (sub, interface) = rest.split_once('i')?;
    let numbers = [base, sub, interface].map(|part| u8::from_str_radix(part, 16).ok());
    let [Some(base), Some(sub), Some(interface)] = numbers else { return None };
    Some(u32::from(base) << 16 | u32::from(sub) << 8 | u32::from(interface))
}

/// The model in a name of udev's: `/dev/disk/by-id/nvme-MODEL_SERIAL`.
fn model_in(links: &str) -> Option<String> {
    let own = links.split(", ").filter_map(|link| link.strip_prefix("/dev/disk/by-id/nvme-"));
    let with_model = own.filter(|name| !name.starts_with("eui.") && !name.starts_with("nvme."));
    // New versions of udev have a second one, with the number of the namespace at its end.
    let (model, _) = with_model.min_by_key(|name| name.len())?.rsplit_once('_')?;
    Some(model.replace('_', " "))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_its_class_in_the_name_of_its_module() {
        let alias = "\"pci:v0000144Dd0000A808sv0000144Dsd0000A801bc01sc08i02\"";
        assert_eq!(class_in(alias), Some(0x01_0802));
        assert_eq!(class_in("\"usb:v1D6Bp0002d0510dc09\""), None);
        let mut tree = Tree::default();
        let lines = [
            "43: PCI 200.0: 0108 Non-Volatile memory controller (NVM Express)",
            "  SysFS ID: /devices/pci0000:00/0000:00:01.2/0000:02:00.0",
            "  Vendor: pci 0x144d \"Samsung\"",
            "  Device: pci 0xa808 ",
            "  Driver: \"nvme\"",
            &format!("  Module Alias: {alias}"),
        ];
        assert!(function(&lines, &mut tree));
        let folder = "sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0";
        for name in ["class", "vendor", "device", "driver"] {
            assert!(tree.recording.items.contains_key(&format!("{folder}/{name}")), "{name}");
        }
    }

    #[test]
    fn the_model_of_an_nvme_drive_is_in_its_links() {
        let links = "/dev/nvme0n1, /dev/disk/by-id/nvme-eui.0025385b71b00000, \
                     /dev/disk/by-id/nvme-Samsung_SSD_970_EVO_1TB_S5H9_1, \
                     /dev/disk/by-id/nvme-Samsung_SSD_970_EVO_1TB_S5H9";
        assert_eq!(model_in(links).as_deref(), Some("Samsung SSD 970 EVO 1TB"));
        assert_eq!(model_in("/dev/nvme0n1"), None);
    }
}
