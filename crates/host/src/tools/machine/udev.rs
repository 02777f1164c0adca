//! `udevadm info -e` (`--export-db`), and `udevadm info` of one device.

use std::collections::BTreeMap;

use super::tree::Tree;
use crate::bus::usb::is_interface;
use crate::speed::Speed;
use crate::tools::drive::facts::Facts;

/// The properties of one device.
struct Values<'a> {
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Values<'a> {
    fn of(lines: &[&'a str]) -> Self {
        let mut values = BTreeMap::new();
        for line in lines {
            if let Some((key, value)) = line.strip_prefix("E: ").and_then(|it| it.split_once('=')) {
                values.entry(key.trim()).or_insert(value.trim());
            }
        }
        Self { values }
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.values.get(key).copied().filter(|text| !text.is_empty())
    }

    fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(|text| decoded(text).trim().to_owned())
    }

    fn flag(&self, key: &str) -> Option<bool> {
        self.get(key).map(|value| value == "1")
    }
}

/// The lines of one device: `P: /devices/...`, `N: sda`, `E: KEY=VALUE`.
pub(in crate::tools) fn device(lines: &[&str], tree: &mut Tree) -> Option<Facts> {
    let values = Values::of(lines);
    let path = lines.iter().find_map(|line| line.strip_prefix("P: "));
    let path = values.get("DEVPATH").or(path).map(str::trim)?;
    // Some people give the path as they typed it, with the mount point.
    let path = path.strip_prefix("/sys").unwrap_or(path);
    if !path.starts_with("/devices/") {
        return None;
    }
    let folder = format!("sys{path}");
    let name = path.rsplit('/').next()?;
    match values.get("SUBSYSTEM") {
        Some("block") if values.get("DEVTYPE") == Some("partition") => {
            partition(tree, &folder, &values);
            None
        }
        Some("block") => Some(disk(tree, path, name, &values)),
        Some("pci") => {
            function(tree, &folder, name, &values);
            None
        }
        Some("usb" | "mmc" | "virtio" | "scsi") => {
            driver(tree, &folder, &values);
            None
        }
        _ => None,
    }
}

fn driver(tree: &mut Tree, folder: &str, values: &Values<'_>) {
    if let Some(driver) = values.get("DRIVER") {
        tree.link(&format!("{folder}/driver"), &format!("/sys/bus/any/drivers/{driver}"));
    }
    // `PRODUCT=152d/578/3`: vendor, product and version of a USB device.
    let product = values.get("PRODUCT").filter(|_| values.get("DEVTYPE") == Some("usb_device"));
    let mut parts = product.into_iter().flat_map(|text| text.split('/'));
    for name in ["idVendor", "idProduct"] {
        let number = parts.next().and_then(|part| u16::from_str_radix(part, 16).ok());
        tree.set_some(&format!("{folder}/{name}"), number.map(|number| format!("{number:04x}")));
    }
    if values.get("DEVTYPE") == Some("usb_device") {
        descriptors(tree, folder, values);
    }
}

/// The descriptors of a USB device as far as udev keeps them: class, subclass and protocol of each
/// interface, as in `:080650:080662:`.
fn descriptors(tree: &mut Tree, folder: &str, values: &Values<'_>) {
    let kept = values.get("ID_USB_INTERFACES").into_iter().flat_map(|text| text.split(':'));
    let interfaces: Vec<u32> = kept
        .filter(|text| text.len() == 6)
        .filter_map(|text| u32::from_str_radix(text, 16).ok())
        .collect();
    if interfaces.is_empty() {
        return;
    }
    let mut bytes = vec![18, 1];
    bytes.resize(18, 0);
    for interface in interfaces {
        let [_, class, subclass, protocol] = interface.to_be_bytes();
        bytes.extend([9, 4, 0, 0, 0, class, subclass, protocol, 0]);
    }
    debug_assert!((bytes.len() - 18) % 9 == 0, "each interface has nine bytes");
    tree.set_bytes(&format!("{folder}/descriptors"), bytes);
}

/// The path of the USB device through which a disk is attached.
fn usb_device(path: &str) -> Option<&str> {
    let starts = path.match_indices('/').map(|(at, _)| at);
    let mut above = starts.filter(|at| {
        let name = path[at + 1..].split('/').next().unwrap_or_default();
        is_interface(name)
    });
    above.next_back().map(|at| &path[..at])
}

fn function(tree: &mut Tree, folder: &str, address: &str, values: &Values<'_>) {
    if !crate::log::is_address(address) {
        return;
    }
    driver(tree, folder, values);
    let class = values.get("PCI_CLASS").map(|class| format!("0x{class:0>6}"));
    tree.set_some(&format!("{folder}/class"), class);
    if let Some((vendor, device)) = values.get("PCI_ID").and_then(|id| id.split_once(':')) {
        tree.set(&format!("{folder}/vendor"), &format!("0x{vendor:0>4}"));
        tree.set(&format!("{folder}/device"), &format!("0x{device:0>4}"));
    }
    tree.link(&format!("sys/bus/pci/devices/{address}"), &format!("/{folder}"));
}

fn partition(tree: &mut Tree, folder: &str, values: &Values<'_>) {
    // Old versions of udev have the second name only.
    let number = values.get("PARTN").or_else(|| values.get("ID_PART_ENTRY_NUMBER"));
    tree.set(&format!("{folder}/partition"), number.unwrap_or("0"));
    number_of(tree, folder, values);
    // Both in sectors of 512 bytes, as in sysfs.
    for (name, key) in [("start", "ID_PART_ENTRY_OFFSET"), ("size", "ID_PART_ENTRY_SIZE")] {
        tree.set_some(&format!("{folder}/{name}"), values.get(key));
    }
}

fn number_of(tree: &mut Tree, folder: &str, values: &Values<'_>) {
    // The kernel log names devices by these numbers.
    if let (Some(major), Some(minor)) = (values.get("MAJOR"), values.get("MINOR")) {
        tree.set(&format!("{folder}/dev"), &format!("{major}:{minor}"));
    }
}

fn disk(tree: &mut Tree, path: &str, name: &str, values: &Values<'_>) -> Facts {
    let folder = format!("sys{path}");
    tree.add_block_device(name, path);
    number_of(tree, &folder, values);
    // `.../0:0:0:0/block/sda` and `.../nvme/nvme0/nvme0n1` are below their device.
    let (above, _) = path.rsplit_once('/').unwrap_or((path, ""));
    let device = above.strip_suffix("/block").unwrap_or(above);
    if !path.starts_with("/devices/virtual/") {
        tree.link(&format!("{folder}/device"), &format!("/sys{device}"));
    }
    if let Some(bridge) = usb_device(path) {
        descriptors(tree, &format!("sys{bridge}"), values);
    }
    if let Some(name) = values.get("DM_NAME") {
        tree.set(&format!("{folder}/dm/name"), name);
        tree.set_some(&format!("{folder}/dm/uuid"), values.get("DM_UUID"));
    }
    tree.set_some(&format!("{folder}/md/level"), values.get("MD_LEVEL"));
    if values.get("ID_CDROM").is_some() {
        tree.set(&format!("{folder}/removable"), "1");
    }
    let is_ata = values.get("ID_ATA").is_some();
    if is_ata && values.get("ID_BUS") == Some("ata") {
        // The SCSI layer reports this vendor for ATA disks; their kind is read from it.
        tree.set(&format!("sys{device}/vendor"), "ATA");
    }
    facts(name, values)
}

fn facts(name: &str, values: &Values<'_>) -> Facts {
    let own = [("ID_ATA_SATA_SIGNAL_RATE_GEN2", 3000), ("ID_ATA_SATA_SIGNAL_RATE_GEN1", 1500)];
    let own = own.iter().find(|(key, _)| values.flag(key) == Some(true));
    // There is no key for the third generation, which also has the first two.
    let exact = values.get("ID_ATA_SATA_SIGNAL_RATE_GEN2").is_none();
    Facts {
        tool: "udevadm info".to_owned(),
        node: Some(name.to_owned()),
        model: values
            .text("ID_MODEL_ENC")
            .or_else(|| values.text("ID_MODEL").map(|it| it.replace('_', " "))),
        serial: values.text("ID_SERIAL_SHORT"),
        firmware: values.text("ID_REVISION"),
        rpm: values.get("ID_ATA_ROTATION_RATE_RPM").and_then(|rpm| rpm.parse().ok()),
        link: (None, own.filter(|_| exact).map(|(_, mbps)| Speed::mbps(*mbps))),
        write_cache: values.flag("ID_ATA_WRITE_CACHE_ENABLED"),
        smart: (
            values.flag("ID_ATA_FEATURE_SET_SMART"),
            values.flag("ID_ATA_FEATURE_SET_SMART_ENABLED"),
        ),
        ..Facts::default()
    }
}

/// `WDC\x20WD10` as `WDC WD10`.
fn decoded(text: &str) -> String {
    let mut parts = text.split("\\x");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let byte = part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte.filter(u8::is_ascii) {
            Some(byte) => {
                plain.push(char::from(byte));
                plain.push_str(&part[2..]);
            }
            None => plain.push_str(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Item;

    #[test]
    fn interfaces_of_a_bridge_are_its_descriptors() {
        let path = "/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0";
        assert_eq!(usb_device(path), Some("/devices/pci0000:00/0000:00:14.0/usb2/2-1"));
        assert_eq!(usb_device("/devices/pci0000:00/0000:00:17.0/ata1/host0"), None);
        let mut tree = Tree::default();
        let block = format!("P: {path}/block/sdb");
        device(&[&block, "E: SUBSYSTEM=block", "E: ID_USB_INTERFACES=:080650:080662:"], &mut tree);
        let file = "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/descriptors";
        let Some(Item::File(bytes)) = tree.recording.items.get(file) else { panic!("{tree:?}") };
        assert!(bytes.ends_with(&[9, 4, 0, 0, 0, 0x08, 0x06, 0x62, 0]), "{bytes:x?}");
    }

    #[test]
    fn escapes_are_signs() {
        assert_eq!(decoded("WDC\\x20WD10\\x20"), "WDC WD10 ");
        assert_eq!(decoded("plain\\x"), "plain");
        assert_eq!(decoded("\\xff\\xzz"), "ffzz");
    }
}
