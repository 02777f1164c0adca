//! The PCI function of a disk controller: class, programming interface and what they mean.

use super::{Controller, Hop, HopKind};
use crate::log::ControllerLog;
use crate::root::Node;

pub(crate) fn controller(node: &Node<'_>) -> Controller {
    let mut controller = Controller {
        address: Some(node.name().to_owned()),
        driver: node.link_name("driver"),
        numa_node: node.number::<i32>("numa_node").and_then(|node| u32::try_from(node).ok()),
        ..Controller::default()
    };
    let vendor = node.hex("vendor");
    if let (Some(vendor), Some(device)) = (vendor, node.hex("device")) {
        controller.vendor_device = Some(format!("{vendor:04x}:{device:04x}"));
    }
    if let Some(class) = node.hex("class") {
        controller.set_class(class);
        let (mode, meaning) = meaning(class, vendor.and_then(|vendor| u16::try_from(vendor).ok()));
        controller.mode = Some(mode.to_owned());
        controller.meaning = Some(meaning);
    }
    controller
}

/// A controller that only the kernel's log names.
pub(crate) fn from_log(address: &str, log: &ControllerLog) -> Controller {
    let mut controller = Controller {
        address: Some(address.to_owned()),
        vendor_device: log.id.map(|(vendor, device)| format!("{vendor:04x}:{device:04x}")),
        driver: log.driver.clone(),
        ..Controller::default()
    };
    // The log names the class that a function had before the kernel switched it to AHCI.
    let switched = log.driver.as_deref() == Some("ahci")
        && log.class.is_some_and(|class| class >> 8 == 0x0101);
    let class =
        log.class.filter(|_| !switched).or_else(|| log.driver.as_deref().and_then(class_by_driver));
    // A class that is only inferred from the driver is not reported as read.
    if let Some(class) = log.class.filter(|_| !switched) {
        controller.set_class(class);
    }
    let mode = class.map(|class| meaning(class, log.id.map(|(vendor, _)| vendor)));
    // The AHCI driver reports the mode from the controller's own registers.
    let raid = log.mode.as_deref() == Some("RAID");
    let raid_mode = ("raid", "RAID mode: the disks pass through RAID firmware".to_owned());
    if let Some((mode, meaning)) = if raid { Some(raid_mode) } else { mode } {
        controller.mode = Some(mode.to_owned());
        controller.meaning = Some(meaning);
    }
    controller
}

pub(crate) fn hop(controller: &Controller) -> Hop {
    let mut about = controller
        .meaning
        .clone()
        .unwrap_or_else(|| "PCI function, class not in the capture".into());
    if let Some(id) = &controller.vendor_device {
        about.push_str(&format!(", {}[{id}]", vendor_name(id)));
    }
    // A driver that was not captured is not the same as none.
    about.push_str(
        &controller.driver.as_ref().map(|it| format!(", driver {it}")).unwrap_or_default(),
    );
    let name = controller.address.clone().unwrap_or_default();
    Hop { kind: HopKind::Controller, name, about }
}

/// Returns the meaning of a class code, in a word and in a sentence.
///
/// Codes: PCI Code and ID Assignment Specification 1.11, class 01h; IDE interface bits as in
/// pci.ids: bit 0 and 2 native mode of the primary and secondary channel, 1 and 3 switchable,
/// 7 bus master.
pub(crate) fn meaning(class: u32, vendor: Option<u16>) -> (&'static str, String) {
    // virtio devices have class codes of many kinds, which describe the host's choice.
    if vendor == Some(0x1af4) {
        return ("virtio", "virtio device of a virtual machine".into());
    }
    let prog_if = class & 0xff;
    let (mode, text) = match class >> 8 {
        0x0101 => return ide(prog_if),
        0x0106 if prog_if == 1 => ("ahci", "SATA, AHCI"),
        0x0106 => ("sata", "SATA with vendor-specific registers"),
        0x0104 => ("raid", "RAID mode: the disks pass through RAID firmware"),
        0x0107 => ("sas", "SAS host adapter"),
        0x0108 if prog_if == 2 => ("nvme", "NVMe"),
        0x0108 => ("nvm", "non-volatile memory"),
        0x0100 => ("scsi", "SCSI host adapter"),
        0x0105 => ("adma", "ATA with queued DMA"),
        0x0180 => ("mass-storage", "non-standard mass storage controller"),
        0x0c03 => match prog_if {
            0x30 => ("xhci", "USB 3 (xHCI)"),
            0x20 => ("ehci", "USB 2 (EHCI)"),
            _ => ("usb", "USB 1"),
        },
        0x0805 => ("sdhci", "SD card reader"),
        _ => ("other", "PCI function of another class"),
    };
    (mode, text.into())
}

fn ide(prog_if: u32) -> (&'static str, String) {
    debug_assert!(prog_if <= 0xff, "one byte of the class code");
    let native = match prog_if & 0b101 {
        0b101 => ("ide-native", "native mode"),
        0 => ("ide-compatibility", "compatibility mode"),
        _ => ("ide-mixed", "one channel native, one in compatibility mode"),
    };
    let switchable = if prog_if & 0b1010 == 0 { "" } else { ", switchable" };
    let master = if prog_if & 0x80 == 0 { ", no bus master" } else { "" };
    (native.0, format!("IDE, {}{switchable}{master}", native.1))
}

/// The class that a driver serves, if a log names only the driver.
pub(crate) fn class_by_driver(driver: &str) -> Option<u32> {
    Some(match driver {
        "ahci" => 0x01_0601,
        "ata_piix" => 0x01_0180,
        "nvme" => 0x01_0802,
        "vmd" => 0x01_0400,
        name if name.starts_with("pata_") => 0x01_0180,
        _ => return None,
    })
}

/// Vendors of common disk controllers, from pci.ids.
fn vendor_name(id: &str) -> &'static str {
    match id.split(':').next().unwrap_or("") {
        "8086" => "Intel ",
        "1022" => "AMD ",
        "1002" => "ATI ",
        "10de" => "NVIDIA ",
        "11ab" | "1b4b" => "Marvell ",
        "105a" => "Promise ",
        "1000" => "Broadcom/LSI ",
        "9005" => "Adaptec ",
        "103c" | "1590" => "HP ",
        "197b" => "JMicron ",
        "1b21" => "ASMedia ",
        "1095" => "Silicon Image ",
        "1106" => "VIA ",
        "144d" => "Samsung ",
        "15b7" => "SanDisk/WD ",
        "1344" | "c0a9" => "Micron/Crucial ",
        "1c5c" => "SK hynix ",
        "1e0f" | "1179" => "Kioxia/Toshiba ",
        "1987" => "Phison ",
        "126f" => "Silicon Motion ",
        "2646" => "Kingston ",
        "025e" => "Solidigm ",
        "1af4" | "1b36" => "Red Hat ",
        "15ad" => "VMware ",
        "1414" => "Microsoft ",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_a_meaning() {
        let check = |class, mode, text: &str| assert_eq!(meaning(class, None), (mode, text.into()));
        check(0x01_018a, "ide-compatibility", "IDE, compatibility mode, switchable");
        check(0x01_0180, "ide-compatibility", "IDE, compatibility mode");
        check(0x01_018f, "ide-native", "IDE, native mode, switchable");
        check(0x01_0185, "ide-native", "IDE, native mode");
        check(0x01_0105, "ide-native", "IDE, native mode, no bus master");
        check(0x01_0601, "ahci", "SATA, AHCI");
        check(0x01_0802, "nvme", "NVMe");
        assert_eq!(meaning(0x01_0400, None).0, "raid");
        assert_eq!(meaning(0x01_8000, Some(0x1af4)).0, "virtio");
        assert_eq!(meaning(0x01_8000, None).0, "mass-storage");
    }

    #[test]
    fn a_class_is_split_and_joined() {
        let mut controller = Controller::default();
        controller.set_class(0x01_018a);
        assert_eq!(controller.pci_class.as_deref(), Some("0x0101"));
        assert_eq!(controller.prog_if.as_deref(), Some("0x8a"));
        assert_eq!(controller.class(), Some(0x01_018a));
    }
}
